# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filter ``gpuops.gpustack.verification``: what runs, held against the plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.verification import verify


def verification(
    plans: Mapping[str, Any],
    models: Any,
    workers: Any,
    engines: Mapping[str, Any],
    answers: Any = (),
    question: str = "",
) -> dict[str, Any]:
    """See ``verification.yml`` for shapes."""
    try:
        given = {
            str(result[result["ansible_loop_var"]]): _answer(result, question) for result in answers if "json" in result
        }
        return verify(plans, models, workers, engines, given)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise AnsibleFilterError(
            f"verification: {type(error).__name__} {error}. Wanted are plans by model name, the results of model_info, "
            "worker_info and engine_info (by host), and the results of the task that asks each model."
        ) from error


def _answer(result: Mapping[str, Any], question: str) -> dict[str, Any]:
    """One result of ``ansible.builtin.uri`` in a loop over models."""
    completion = result["json"]
    choice = completion["choices"][0]
    return {
        "question": question,
        "answer": (choice["message"]["content"] or "").strip(),
        "cut": choice.get("finish_reason") == "length",
        "tokens": completion["usage"]["completion_tokens"],
        "seconds": float(result["elapsed"]),
    }


class FilterModule:
    """The collection's filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"verification": verification}
