# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils import doctor


def diagnose(log: Any) -> list[dict[str, Any]]:
    """What a log means, as ``doctor.diagnose`` says. Takes a text or a list of lines."""
    if isinstance(log, list) and all(isinstance(line, str) for line in log):
        log = "\n".join(log)
    if not isinstance(log, str):
        raise AnsibleFilterError(
            f"diagnose: a {type(log).__name__} was given, the text of a log or a list of its lines is wanted."
        )
    return doctor.diagnose(log)


def likely_cause(log: Any) -> str:
    """The first cause that a log shows and its remedy in one sentence, empty where nothing in it is known."""
    for found in diagnose(log):
        return f"Likely cause: {found['means']} {found['remedy']}"
    return ""


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"diagnose": diagnose, "likely_cause": likely_cause}
