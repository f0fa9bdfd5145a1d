# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Callback ``gpuops.gpustack.outcome``: the outcome of a run in one sentence."""

from __future__ import annotations

DOCUMENTATION = r"""
name: outcome
type: aggregate
short_description: Says in one sentence what a run has changed
version_added: 1.0.0
description:
  - Prints one sentence behind the recap, so that nobody has to add up its columns.
requirements:
  - enabled in C(ansible.cfg), as C(callbacks_enabled = gpuops.gpustack.outcome)
author:
  - gpuops contributors (@gpuops)
"""

from pathlib import PurePath
from typing import Any

from ansible import context
from ansible.plugins.callback import CallbackBase

# The collection's playbooks that never change a fleet, so that nothing follows from their having changed nothing.
ONLY_LOOK = frozenset({"adopt", "all_reduce", "check_inventory", "doctor", "drift", "plan", "preflight"})


def sentence(totals: dict[str, dict[str, int]], check_mode: bool, playbook: str) -> str:
    """The outcome of a run.

    ``totals`` maps each host to its figures of the recap: ``changed``, ``failures``, ``unreachable``; ``playbook`` is
    the path of what was run.
    """
    failed = sorted(host for host, figures in totals.items() if figures["failures"] or figures["unreachable"])
    changes = sum(figures["changed"] for figures in totals.values())
    hosts = sum(1 for figures in totals.values() if figures["changed"])
    would = "would change" if check_mode else "changed"
    extent = f"{changes} {'thing' if changes == 1 else 'things'} on {hosts} {'host' if hosts == 1 else 'hosts'}"
    if failed:
        before = f"before that, {extent} {would}" if changes else f"nothing {would} before that"
        return f"Failed on {', '.join(failed)}; {before}."
    if not changes and PurePath(playbook).stem in ONLY_LOOK:
        return "Nothing changed: this playbook only looks."
    if not changes:
        return f"Nothing {would}: everything is as declared."
    return f"Done: {extent} {would}."


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "gpuops.gpustack.outcome"
    CALLBACK_NEEDS_ENABLED = True

    _playbook = ""

    def v2_playbook_on_start(self, playbook: Any) -> None:
        self._playbook = playbook._file_name

    def v2_playbook_on_stats(self, stats: Any) -> None:
        totals = {host: stats.summarize(host) for host in stats.processed}
        if totals:
            self._display.display(sentence(totals, bool(context.CLIARGS.get("check")), self._playbook) + "\n")
