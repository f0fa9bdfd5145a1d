# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils import preflight


def preflight_text(
    problems: Sequence[Mapping[str, Any]], hosts: Collection[str], consequence: str = "nothing was changed"
) -> str:
    """The problems as a block of text, as ``preflight.text_of`` says."""
    try:
        return preflight.text_of(problems, hosts, consequence)
    except (TypeError, KeyError) as error:
        raise AnsibleFilterError(
            f"preflight_text: {error}. The result of preflight_problems and the list of all hosts are wanted."
        ) from None


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"preflight_text": preflight_text}
