# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Continuous batching: who runs, who waits, how long a step takes. No clock and no I/O in here.

One step gives every running request that is past its prompt one token, and works through waiting prompts with what is
left of max_num_batched_tokens. A decode step grows by a sixteenth with every further request, so many requests together
get more tokens per second than one, and each of them fewer. A request that finds no free KV block sends the youngest
one back to the queue, as vLLM does.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Pace:
    """How fast the engine is."""

    tokens_per_second: float = 30.0
    prefill_tokens_per_second: float = 4000.0


@dataclass(eq=False)
class Sequence:
    """One request. ``computed`` counts the tokens whose KV entries exist, ``generated`` those that were answered."""

    prompt_tokens: int
    max_tokens: int
    computed: int = 0
    generated: int = 0

    @property
    def pending(self) -> int:
        """Tokens without KV entries yet: the prompt at first (again after a preemption), later the newest token."""
        return self.prompt_tokens + self.generated - self.computed

    @property
    def decoding(self) -> bool:
        return self.generated > 0 and self.pending == 1

    @property
    def finished(self) -> bool:
        return self.generated >= self.max_tokens


@dataclass(frozen=True)
class Step:
    """What one step did: its duration, the prompt tokens it worked through, the requests that got a token."""

    seconds: float
    prefilled: int
    advanced: list[Sequence]


@dataclass
class Scheduler:
    """The engine's queue and its KV cache."""

    blocks: int
    block_size: int
    max_num_seqs: int
    max_num_batched_tokens: int
    pace: Pace
    waiting: deque[Sequence] = field(default_factory=deque)
    running: list[Sequence] = field(default_factory=list)
    preemptions: int = 0

    @property
    def busy(self) -> bool:
        return bool(self.running or self.waiting)

    @property
    def used_blocks(self) -> int:
        return sum(self._blocks_of(sequence.computed) for sequence in self.running)

    @property
    def usage(self) -> float:
        """Share of the KV cache in use, 0 to 1."""
        return self.used_blocks / self.blocks if self.blocks else 0.0

    def add(self, sequence: Sequence) -> None:
        """Queues a request."""
        self.waiting.append(sequence)

    def abort(self, sequence: Sequence) -> None:
        """Forgets a request, wherever it is."""
        if sequence in self.running:
            self.running.remove(sequence)
        elif sequence in self.waiting:
            self.waiting.remove(sequence)

    def step(self) -> Step:
        """Runs one step; finished requests leave."""
        advanced: list[Sequence] = []
        for sequence in list(self.running):
            if sequence in self.running and sequence.decoding and self._reserve(sequence, 1):
                advanced.append(sequence)
        advanced = [sequence for sequence in advanced if sequence in self.running]
        budget = self.max_num_batched_tokens - len(advanced)
        prefilled = 0
        for sequence in self._prompts(advanced):
            chunk = min(budget, sequence.pending)
            if chunk <= 0 or not self._admit(sequence, chunk):
                break
            budget -= chunk
            prefilled += chunk
            if sequence.pending == 0:
                advanced.append(sequence)
        for sequence in advanced:
            sequence.generated += 1
        self.running = [sequence for sequence in self.running if not sequence.finished]
        batch = max(0, len(advanced) - 1)
        seconds = (1 + batch / 16) / self.pace.tokens_per_second + prefilled / self.pace.prefill_tokens_per_second
        return Step(seconds, prefilled, advanced)

    def _prompts(self, advanced: list[Sequence]) -> list[Sequence]:
        """Requests with prompt left to work through: those already running first, then the queue in order."""
        started = [sequence for sequence in self.running if sequence not in advanced and not sequence.decoding]
        return [*started, *self.waiting]

    def _admit(self, sequence: Sequence, chunk: int) -> bool:
        """Makes room for a chunk of prompt; only a request that already runs may push a younger one out."""
        if sequence in self.running:
            return self._reserve(sequence, chunk)
        if len(self.running) >= self.max_num_seqs or not self._free_for(sequence, chunk):
            return False
        self.waiting.remove(sequence)
        self.running.append(sequence)
        return self._reserve(sequence, chunk)

    def _reserve(self, sequence: Sequence, tokens: int) -> bool:
        """Takes KV blocks for more tokens, from the youngest request when there are none; False when that was this
        one."""
        while not self._free_for(sequence, tokens):
            victim = self.running.pop()
            victim.computed = 0
            self.preemptions += 1
            self.waiting.appendleft(victim)
            if victim is sequence:
                return False
        sequence.computed += tokens
        return True

    def _free_for(self, sequence: Sequence, tokens: int) -> bool:
        more = self._blocks_of(sequence.computed + tokens) - self._blocks_of(sequence.computed)
        return self.used_blocks + more <= self.blocks

    def _blocks_of(self, tokens: int) -> int:
        return -(-tokens // self.block_size)
