# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""In which order workers take their turns: a canary first, and never two at once that one route needs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Union

Size = Union[int, str]


def batches(hosts: Sequence[str], sizes: Sequence[Size], routes: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Hosts by batch, in their order as far as may be.

    `sizes` as Ansible's `serial` takes them, numbers or percentages of all hosts, the last one again until all have had
    their turn. `routes` by host: two hosts with a route in common are never in one batch, so a batch may be smaller.
    Raises ValueError for a size that is neither.
    """
    wanted = [_size(size, len(hosts)) for size in sizes or (1,)]
    left = list(hosts)
    planned: list[list[str]] = []
    while left:
        most = wanted[min(len(planned), len(wanted) - 1)]
        batch: list[str] = []
        taken: set[str] = set()
        for host in left:
            own = set(routes.get(host, ()))
            if len(batch) < most and not own & taken:
                batch.append(host)
                taken |= own
        left = [host for host in left if host not in batch]
        planned.append(batch)
    return planned


def _size(size: Size, hosts: int) -> int:
    text = str(size).strip()
    share = text.endswith("%")
    if not text.rstrip("%").isdigit() or not int(text.rstrip("%")):
        raise ValueError(f"{size!r} is no batch size. Write a number of hosts, or a percentage such as 25%.")
    return max(1, hosts * int(text[:-1]) // 100) if share else int(text)
