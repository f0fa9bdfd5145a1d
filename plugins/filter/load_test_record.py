# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filter ``gpuops.gpustack.load_test_record``: all that a load test found out, and the verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.record import record
from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.verdict import LimitError


def load_test_record(
    subject: Any, stages: Any, results: Any, watch: Any, gpus: Any, limits: Any, time: Any, last_passed: Any = None
) -> dict[str, Any]:
    """See ``load_test_record.yml`` for shapes and errors."""
    try:
        return record(subject, _asked(stages, results), watch, gpus, limits, str(time), last_passed or None)
    except LimitError as error:
        raise AnsibleFilterError(str(error)) from error


def _asked(stages: Any, results: Any) -> list[dict[str, Any]]:
    """Each stage with what its task returned; those after one that broke the test off were not run."""
    rows = []
    for number, stage in enumerate(stages):
        result = results[number] if number < len(results) else {}
        found = {"figures": result.get("figures"), "generator": result.get("generator"), "error": None}
        if number < len(results) and not found["figures"]:
            found["error"] = result["msg"]
        rows.append({"stage": stage, "limits": stage["limits"], **found})
    return rows


class FilterModule:
    """The collection's filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"load_test_record": load_test_record}
