# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in for vLLM and Ray: what an operator sees of them, on cards that are not there.

``vllm serve`` takes vLLM's flags, refuses what vLLM refuses in vLLM's words, prints its start-up lines with figures
from the model's config.json and the cards' profile, and serves its HTTP API at a believable pace; the answers' text
means nothing. ``ray start`` forms the cluster it waits for. The memory model here is deliberately not the planner's:
they check each other.

Environment of the stand-in: BENCH_START_SECONDS (5), BENCH_TOKENS_PER_SECOND of one request alone (30),
BENCH_PREFILL_TOKENS_PER_SECOND (4000), BENCH_ANSWER_TOKENS until an answer ends by itself (64),
BENCH_PP_CRASH_AFTER_REQUESTS (1) and BENCH_PP_CRASH_SECONDS (1), BENCH_LONGEST_PROMPT_TOKENS (none): what a longer
prompt's activations take is not there, and the engine dies of it, as one does that was given too much of the card.
"""

VLLM_VERSION = "0.17.1"
RAY_VERSION = "2.54.0"
