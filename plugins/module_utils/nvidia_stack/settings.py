# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wanted of the stack, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from . import versions
from .cards import AUTO, OPEN, PROPRIETARY

CUDA_CHOICES = ("toolkit", "libraries", "none")


def _scalar(value: Any) -> Any:
    """YAML takes 12.9 for a number."""
    return value if isinstance(value, bool) else str(value)


def refuse_unknown(data: Iterable[str], known: Iterable[str]) -> None:
    """Raises ValueError with the names that are no settings, and those that are."""
    names = list(known)
    unknown = sorted(set(data) - set(names))
    if unknown:
        raise ValueError(f"unknown settings {', '.join(unknown)}: wanted are {', '.join(names)}")


@dataclass(frozen=True)
class Settings:
    """The role's variables of the same names; an empty ``nccl_version`` leaves NCCL out."""

    driver_version: str
    cuda_version: str
    nccl_version: str
    container_toolkit_version: str
    cuda_repository_url: str
    container_toolkit_repository_url: str
    kernel_modules: str = AUTO
    cuda: str = "libraries"
    dcgm: bool = False
    dcgm_version: str = ""
    secure_boot_key_enrolled: bool = False
    interrupt_gpu_processes: bool = False

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Settings:
        """The settings in a dictionary. Raises ValueError with what was found and what is wanted."""
        refuse_unknown(data, (one.name for one in fields(cls)))
        try:
            settings = cls(**{name: _scalar(value) for name, value in data.items()})
        except TypeError as error:
            raise ValueError(f"settings are missing: {error}") from None
        settings._check()
        return settings

    @property
    def branch(self) -> int:
        """The driver's branch."""
        return versions.branch(self.driver_version)

    def _check(self) -> None:
        versions.branch(self.driver_version)
        if self.nccl_version:
            versions.nccl_code(self.nccl_version)
        for name, value, choices in (
            ("kernel_modules", self.kernel_modules, (AUTO, PROPRIETARY, OPEN)),
            ("cuda", self.cuda, CUDA_CHOICES),
        ):
            if value not in choices:
                raise ValueError(f"{name} is {value!r}: wanted is one of {', '.join(choices)}")
        if not all(part.isdigit() for part in self.cuda_version.split(".")) or "." not in self.cuda_version:
            raise ValueError(f"the CUDA version {self.cuda_version!r} is none: wanted is one such as 12.9 or 12.9.1")
