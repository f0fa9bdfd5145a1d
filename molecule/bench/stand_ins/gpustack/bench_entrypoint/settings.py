# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of ``gpustack start`` that the entrypoint itself must know, with GPUStack's own precedence."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

NAMES = ("server_url", "database_url", "database_port", "data_dir", "gateway_mode")
DEFAULTS = {"data_dir": "/var/lib/gpustack", "database_port": 5432, "gateway_mode": "auto"}


@dataclass(frozen=True)
class Settings:
    """``arguments`` are the command line without --config-file; ``config`` is what that file held."""

    arguments: list[str]
    config: dict[str, Any]
    values: dict[str, Any]

    @property
    def is_worker(self) -> bool:
        return bool(self.values["server_url"])


def read(command_line: Sequence[str], environment: Mapping[str, str]) -> Settings:
    """Command line before environment (GPUSTACK_…) before --config-file before defaults."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config-file", default=environment.get("GPUSTACK_CONFIG_FILE"))
    config_file, rest = parser.parse_known_args(list(command_line))
    config: dict[str, Any] = {}
    if config_file.config_file:
        config = yaml.safe_load(Path(config_file.config_file).read_text(encoding="utf-8")) or {}

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in NAMES:
        flags = [f"--{name.replace('_', '-')}"] + (["-s"] if name == "server_url" else [])
        parser.add_argument(*flags, dest=name)
    given = vars(parser.parse_known_args(rest)[0])
    values = {
        name: given[name] or environment.get(f"GPUSTACK_{name.upper()}") or config.get(name) or DEFAULTS.get(name)
        for name in NAMES
    }
    return Settings(rest, config, values)
