# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command line of ``vllm serve``, version by version, as data.

``known_flags(version)`` answers "which flags does this vLLM take, and with what kind of value?". It is pure data and
imports nothing but the standard library, so that an engine stand-in can use this file on its own.

Source: ``vllm/engine/arg_utils.py``, ``vllm/entrypoints/openai/cli_args.py`` and the config classes behind them, read
from the source distributions of the versions in ``VERSIONS``, which are known exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

BOOLEAN = "boolean"  # --flag and --no-flag, no value (argparse.BooleanOptionalAction)
SWITCH = "switch"  # --flag only, no value (store_true)
VALUE = "value"  # exactly one value
OPTIONAL = "optional"  # zero or one value (nargs="?")
LIST = "list"  # one or more values (nargs="+")

VERSIONS = (
    "0.8.5", "0.9.2", "0.10.1.1", "0.10.2", "0.11.2", "0.12.0", "0.13.0", "0.14.1", "0.16.0", "0.17.1", "0.18.1",
    "0.19.1", "0.20.2", "0.22.1", "0.25.1", "0.28.0", "0.31.0", "0.33.0",
)  # fmt: skip


@dataclass(frozen=True)
class Flag:
    """One flag: its long name, its short names, how many values it takes and what a value looks like.

    ``kind`` is ``boolean``, ``switch``, ``value``, ``optional`` or ``list``; ``type`` is ``bool``, ``int``,
    ``size`` (an integer that may be written 64k or 64K), ``float``, ``json`` or ``str``.
    """

    name: str
    shorts: tuple[str, ...]
    kind: str
    type: str

    @property
    def takes_value(self) -> bool:
        """Whether a value must follow the flag."""
        return self.kind in (VALUE, LIST)

    @property
    def negation(self) -> str:
        """The ``--no-`` form of a boolean flag, the empty string for every other kind."""
        return "--no-" + self.name[2:] if self.kind == BOOLEAN else ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """The long name, the ``--no-`` form and the short forms."""
        return (self.name, *((self.negation,) if self.negation else ()), *self.shorts)


# One word per flag: name[/-short…][@first version][<first version without it]. A flag whose kind changed has two words.
_WORDS = {
    (BOOLEAN, "bool"): """
allow-credentials@0.10.1.1 allow-deprecated-quantization@0.14.1 async-scheduling@0.10.1.1 calculate-kv-scales<0.28.0
cohere-is-reasoning-model@0.28.0 cudagraph-metrics@0.13.0 data-parallel-external-lb/-dpe@0.11.2
data-parallel-hybrid-lb@0.10.1.1<0.11.2 data-parallel-hybrid-lb/-dph@0.11.2 dcp-q-replicate@0.31.0
disable-cascade-attn@0.9.2 disable-chunked-mm-input disable-custom-all-reduce disable-fastapi-docs@0.10.1.1
disable-frontend-multiprocessing@0.10.1.1<0.19.1 disable-hybrid-kv-cache-manager@0.9.2
disable-log-requests@0.10.1.1<0.17.1 disable-mm-preprocessor-cache@0.9.2<0.10.1.1
disable-nccl-for-dp-synchronization@0.11.2 disable-sliding-window@0.9.2 disable-uvicorn-access-log@0.10.1.1
enable-auto-tool-choice@0.10.1.1 enable-batch-sharded-sampling@0.31.0 enable-bf16x3-router-gemm@0.28.0<0.31.0
enable-chunked-prefill enable-cumem-allocator@0.22.1 enable-dbo@0.11.2 enable-elastic-ep@0.17.1
enable-ep-weight-filter@0.18.1 enable-eplb@0.9.2 enable-expert-parallel<0.14.1 enable-expert-parallel/-ep@0.14.1
enable-fault-tolerance@0.28.0 enable-flash-late-interaction@0.20.2 enable-flashinfer-autotune@0.16.0
enable-force-include-usage@0.10.1.1 enable-hc-sp@0.33.0 enable-layerwise-nvtx-tracing@0.13.0 enable-log-deltas@0.14.1
enable-log-outputs@0.10.1.1 enable-log-requests@0.10.1.1 enable-logging-iteration-details@0.14.1 enable-lora
enable-lora-bias<0.11.2 enable-mamba-cache-stochastic-rounding@0.20.2 enable-mamba-shared-prefix-checkpoint@0.31.0
enable-mfu-metrics@0.14.1 enable-mixed-moe-lora-format@0.22.1 enable-mm-embeds@0.11.2 enable-moe-shared-loras@0.28.0
enable-multimodal-encoder-data-parallel@0.9.2<0.10.2 enable-nccl-comm-suspend@0.31.0 enable-offline-docs@0.14.1
enable-per-request-metrics@0.25.1 enable-prefix-caching enable-prompt-adapter<0.10.1.1 enable-prompt-embeds@0.9.2
enable-prompt-tokens-details@0.10.1.1 enable-reasoning@0.9.2<0.10.1.1 enable-request-id-headers@0.10.1.1
enable-return-routed-experts@0.14.1 enable-scale-out@0.31.0 enable-server-load-tracking@0.10.1.1
enable-shm-tensor-arena@0.33.0 enable-sleep-mode@0.9.2 enable-ssl-refresh@0.10.1.1
enable-tokenizer-info-endpoint@0.10.1.1 enable-tower-connector-lora@0.14.1 enable-trace-replay@0.31.0
enforce-eager@0.9.2 eplb-log-balancedness@0.9.2<0.12.0 exclude-tools-when-tool-choice-none@0.10.1.1
fail-on-environ-validation@0.17.1 fully-sharded-loras guided-decoding-disable-additional-properties@0.9.2<0.11.2
guided-decoding-disable-any-whitespace@0.9.2<0.11.2 guided-decoding-disable-fallback@0.9.2<0.11.2
interleave-mm-strings@0.10.1.1 jit-monitor-verbose@0.25.1 kv-cache-metrics@0.12.0 kv-sharing-fast-prefill@0.10.1.1
language-model-only@0.17.1 log-error-stack@0.10.2 long-prefill-token-threshold-adaptive@0.31.0
mm-device-do-normalize@0.28.0 mm-encoder-only@0.16.0 monokernel@0.33.0 multi-step-stream-outputs<0.10.1.1
numa-bind@0.20.2 ray-workers-use-nsight return-sampling-mask@0.28.0 return-tokens-as-token-ids@0.10.1.1
scheduler-reserve-full-isl@0.19.1 skip-mm-profiling@0.10.1.1 skip-tokenizer-init@0.9.2
sleep-mode-offload-cudagraph@0.33.0 specialize-active-lora@0.16.0 swa-bounded-replay@0.31.0 tokens-only@0.11.2
trust-remote-code@0.9.2 trust-request-chat-template@0.11.2 trust-request-mm-kwargs@0.31.0 use-fp64-gumbel@0.22.1
use-gpu-for-pooling-score@0.17.1<0.18.1 use-replayssm@0.28.0 use-tqdm-on-load
""",
    (SWITCH, "bool"): """
aggregate-engine-logging@0.11.2 allow-credentials<0.10.1.1 data-parallel-multi-port-external-lb/-dpm@0.22.1
disable-async-output-proc<0.11.2 disable-cascade-attn<0.9.2 disable-fastapi-docs<0.10.1.1
disable-frontend-multiprocessing<0.10.1.1 disable-log-requests<0.10.1.1 disable-log-stats
disable-mm-preprocessor-cache<0.9.2 disable-mm-preprocessor-cache@0.10.1.1<0.13.0 disable-sliding-window<0.9.2
disable-uvicorn-access-log<0.10.1.1 enable-auto-tool-choice<0.10.1.1 enable-force-include-usage@0.9.2<0.10.1.1
enable-multimodal-encoder-data-parallel@0.10.2<0.13.0 enable-prompt-adapter@0.10.1.1<0.10.2
enable-prompt-tokens-details<0.10.1.1 enable-reasoning<0.9.2 enable-request-id-headers<0.10.1.1
enable-server-load-tracking<0.10.1.1 enable-sleep-mode<0.9.2 enable-ssl-refresh<0.10.1.1 enforce-eager<0.9.2
expand-tools-even-if-tool-choice-none@0.9.2<0.10.1.1 grpc@0.18.1 headless@0.9.2 return-tokens-as-token-ids<0.10.1.1
skip-tokenizer-init<0.9.2 trust-remote-code<0.9.2 use-v2-block-manager<0.10.1.1
""",
    (VALUE, "int"): """
api-server-count/-asc@0.9.2 block-size cp-kv-cache-interleave-size@0.12.0 cpu-distributed-timeout-seconds@0.22.1
data-parallel-rank/-dpn@0.9.2 data-parallel-rpc-port/-dpp@0.9.2 data-parallel-size/-dp
data-parallel-size-local/-dpl@0.9.2 data-parallel-start-rank/-dpr@0.9.2 data-parallel-supervisor-port@0.22.1
dbo-decode-token-threshold@0.11.2 dbo-prefill-token-threshold@0.11.2 dcp-kv-cache-interleave-size@0.11.2
decode-context-parallel-size/-dcp@0.10.2 distributed-timeout-seconds@0.18.1
dp-supervisor-probe-failure-threshold@0.22.1 dp-sync-interval@0.31.0 elastic-ep-max-dp-size@0.31.0
eplb-step-interval@0.9.2<0.12.0 eplb-window-size@0.9.2<0.12.0 grpc-port@0.33.0 h11-max-header-count@0.10.1.1
h11-max-incomplete-event-size@0.10.1.1 long-prefill-token-threshold lora-extra-vocab-size<0.12.0
mamba-block-size@0.11.2 mamba-cache-philox-rounds@0.20.2 master-port@0.11.2 max-cpu-loras
max-cudagraph-capture-size@0.11.2 max-log-len max-logprobs max-long-partial-prefills<0.28.0 max-lora-cls-labels@0.31.0
max-lora-rank max-loras max-num-active-seqs@0.31.0 max-num-partial-prefills<0.28.0 max-num-queued-reqs@0.31.0
max-num-queued-tokens@0.31.0 max-num-seqs max-parallel-loading-workers max-prompt-adapter-token<0.10.1.1
max-prompt-adapters<0.10.1.1 max-seq-len-to-capture<0.11.2 mm-shm-cache-max-object-size-mb@0.11.2 nnodes/-n@0.11.2
node-rank/-r@0.11.2 num-gpu-blocks-override num-lookahead-slots<0.12.0 num-redundant-experts@0.9.2<0.12.0
num-scheduler-steps<0.10.1.1 offload-group-size@0.17.1 offload-num-in-group@0.17.1 offload-prefetch-step@0.17.1
optimization-level@0.12.0 pipeline-parallel-size/-pp port prefill-context-parallel-size/-pcp@0.12.0
prefill-schedule-interval@0.25.1 prefix-cache-retention-interval@0.31.0 prefix-match-unit@0.28.0
renderer-num-workers@0.19.1 replayssm-buffer-len@0.28.0 safetensors-prefetch-block-size@0.22.1
safetensors-prefetch-num-threads@0.22.1 seed shutdown-timeout@0.18.1 spec-tokens@0.22.1 sse-keep-alive-interval@0.31.0
ssl-cert-reqs stream-interval@0.11.2 tensor-parallel-size/-tp tokenizer-pool-size<0.10.1.1 ubatch-size@0.14.1
""",
    (VALUE, "size"): """
kv-cache-memory-bytes@0.10.2 max-model-len max-num-batched-tokens max-num-scheduled-tokens@0.28.0
""",
    (VALUE, "float"): """
cpu-offload-gb device-memory-utilization@0.31.0 dp-supervisor-probe-interval-s@0.22.1
dp-supervisor-probe-timeout-s@0.22.1 gpu-memory-utilization kv-cache-metrics-sample@0.12.0 kv-offloading-size@0.11.2
mm-encoder-fp8-scale-save-margin@0.22.1 mm-ipc-gpu-memory-gb@0.25.1 mm-processor-cache-gb@0.10.1.1 rope-theta<0.11.2
scheduler-delay-factor<0.11.2 swap-space<0.18.1 video-pruning-rate@0.11.2 watermark@0.25.1
""",
    (VALUE, "json"): """
additional-config allowed-headers allowed-methods allowed-origins attention-config/-ac@0.13.0 aux-output-config@0.31.0
compilation-config/-O<0.12.0 compilation-config/-cc@0.12.0 custom-histogram-buckets@0.33.0
default-chat-template-kwargs@0.14.1 default-mm-loras@0.10.1.1 diffusion-config/-dc@0.25.1 ec-manager-config@0.28.0
ec-transfer-config@0.11.2 engram-config@0.31.0 eplb-config@0.10.2 fault-tolerance-config@0.28.0 hf-overrides
ir-op-priority@0.20.2 kernel-config@0.16.0 kv-events-config@0.9.2 kv-transfer-config limit-mm-per-prompt
media-io-kwargs@0.9.2 mm-processor-kwargs model-class-overrides@0.25.1 model-loader-extra-config
override-generation-config override-neuron-config<0.10.2 override-pooler-config<0.12.0 pooler-config@0.11.2
profiler-config@0.13.0 quantization-config@0.22.1 reasoning-config@0.19.1 reasoning-effort-map@0.33.0
rope-scaling<0.11.2 speculative-config<0.19.1 speculative-config/-sc@0.19.1 structured-outputs-config@0.11.2
tokenizer-pool-extra-config<0.10.1.1 watchdog-config@0.33.0 watermark-config@0.31.0 weight-transfer-config@0.16.0
""",
    (VALUE, "str"): """
all2all-backend@0.11.2 allowed-local-media-path anthropic-disabled-thinking-effort@0.31.0 api-key<0.10.1.1
attention-backend@0.13.0 chat-template chat-template-content-format code-revision cohere-format@0.28.0
collect-detailed-traces<0.9.2 config config-format convert@0.10.1.1 data-parallel-address/-dpa@0.9.2
data-parallel-backend/-dpb@0.9.2 dcp-comm-backend@0.18.1 device<0.10.1.1 device-ids@0.25.1
disable-access-log-for-endpoints@0.16.0 distributed-executor-backend download-dir dtype
expert-placement-strategy@0.11.2 fingerprint-mode@0.22.1 fingerprint-value@0.22.1 gdn-prefill-backend@0.18.1
generation-config guided-decoding-backend<0.11.2 hf-config-path hf-token@0.22.1 host ignore-patterns<0.9.2
io-processor-plugin@0.10.2 jit-monitor-mode@0.25.1 kda-decode-backend@0.31.0 kda-prefill-backend@0.28.0 kv-cache-dtype
kv-offloading-backend@0.11.2 linear-backend@0.22.1 load-format log-config-file@0.9.2 log-level@0.31.0
logging-config@0.31.0 logits-processor-pattern<0.17.1 logprobs-mode@0.10.1.1 long-lora-scaling-factors<0.10.1.1
lora-dtype mamba-backend@0.20.2 mamba-cache-dtype@0.10.1.1 mamba-cache-mode@0.16.0 mamba-ssm-cache-dtype@0.10.1.1
mamba-ssu-algorithm@0.28.0 master-addr@0.11.2 middleware mm-encoder-attn-backend@0.11.2 mm-encoder-attn-dtype@0.22.1
mm-encoder-fp8-scale-path@0.22.1 mm-encoder-fp8-scale-save-path@0.22.1 mm-encoder-tp-mode@0.10.2
mm-hasher-algorithm@0.28.0 mm-processor-cache-type@0.11.2 mm-processor-device@0.28.0 mm-tensor-ipc@0.19.1 model
model-impl moe-backend@0.17.1 offload-backend@0.17.1 otlp-traces-endpoint override-attention-dtype@0.9.2<0.28.0
per-request-spec-decode-metrics@0.31.0 performance-mode@0.17.1 preemption-mode<0.11.2 prefix-caching-hash-algo
pt-load-map-location@0.9.2 qlora-adapter-name-or-path<0.10.1.1 quantization/-q reasoning-parser
reasoning-parser-plugin@0.11.2 response-role revision root-path runner@0.10.1.1 safetensors-load-strategy@0.10.2
scheduler-cls scheduling-policy show-hidden-metrics-for-version sleep-mode-backend@0.33.0
sparse-indexer-topk-backend@0.31.0 spec-method@0.22.1 spec-model@0.22.1 ssl-ca-certs ssl-certfile ssl-ciphers@0.16.0
ssl-keyfile task<0.13.0 tokenizer tokenizer-mode tokenizer-pool-type<0.10.1.1 tokenizer-revision tool-call-parser
tool-parser-plugin tool-server@0.10.1.1 tool-strict-level@0.31.0 uds@0.10.1.1 uvicorn-log-level
video-pruning-method@0.28.0 worker-cls worker-extension-cls
""",
    (LIST, "int"): """
cuda-graph-sizes@0.9.2<0.13.0 cudagraph-capture-sizes@0.11.2 numa-bind-nodes@0.20.2
""",
    (LIST, "str"): """
allowed-media-domains@0.11.2 api-key@0.10.1.1 collect-detailed-traces@0.9.2 cpu-offload-params@0.17.1
ignore-patterns@0.9.2 kv-cache-dtype-skip-layers@0.19.1 logits-processors@0.10.1.1 lora-modules
lora-target-modules@0.19.1 numa-bind-cpus@0.20.2 offload-params@0.17.1 prompt-adapters<0.10.1.1 served-model-name
sleep-preserve-parameter-names@0.31.0
""",
    (OPTIONAL, "str"): """
hf-token<0.22.1
""",
}

_Release = tuple[int, ...]


def _release(version: str) -> _Release:
    """``0.17.1-v100-custom`` as ``(0, 17, 1)``."""
    match = re.match(r"v?(\d+(?:\.\d+)*)", version)
    return tuple(int(part) for part in match.group(1).split(".")) if match else ()


_RELEASES = tuple(_release(version) for version in VERSIONS)


def _neighbours(release: _Release) -> tuple[_Release, ...]:
    """The version itself when it is known exactly, else the known ones before and after it."""
    if release in _RELEASES:
        return (release,)
    before = [known for known in _RELEASES if known < release][-1:]
    after = [known for known in _RELEASES if known > release][:1]
    return (*before, *after)


def _flags(releases: tuple[_Release, ...]) -> Iterator[Flag]:
    for (kind, type_), words in _WORDS.items():
        for word in words.split():
            names, _below, before = word.partition("<")
            names, _at, since = names.partition("@")
            first, end = _release(since), _release(before)
            if any(first <= release and not (end and release >= end) for release in releases):
                name, *shorts = names.split("/")
                yield Flag("--" + name, tuple(shorts), kind, type_)


@lru_cache(maxsize=64)
def known_flags(vllm_version: str) -> dict[str, Flag]:
    """Every spelling that ``vllm serve`` of this version takes, mapped to its flag.

    The keys are the long names, the ``--no-`` forms of boolean flags and the short forms. A version between two of
    ``VERSIONS`` gets the flags of both, a newer one those of the newest.
    """
    return {spelling: flag for flag in _flags(_neighbours(_release(vllm_version))) for spelling in flag.spellings}
