# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Calls the collection's API modules against a fake GPUStack, on the fake's clock."""

from __future__ import annotations

import importlib
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

from fake_gpustack import PASSWORD, FakeGPUStack
from module_runner import run_module

from ansible_collections.gpuops.gpustack.plugins.module_utils import client


def call(name: str, fake: FakeGPUStack, /, *, check: bool = False, **options: Any) -> dict[str, Any]:
    """The module's answer in diff mode. `fake.requests` holds only what this call sent; waiting takes no real time."""
    module: ModuleType = importlib.import_module(f"ansible_collections.gpuops.gpustack.plugins.modules.{name}")
    fake.requests.clear()
    connection = {"server_url": fake.url, "username": "admin", "password": PASSWORD}
    with (
        mock.patch.object(module, "time", clock_of(fake), create=True),
        mock.patch.object(client, "RETRY_DELAYS_SECONDS", (0.0, 0.0, 0.0)),
    ):
        return run_module(module.main, {**connection, **options}, check_mode=check, diff=True)


def clock_of(fake: FakeGPUStack) -> SimpleNamespace:
    """Stands in for the module `time`: sleeping moves the fake's clock."""
    return SimpleNamespace(
        sleep=fake.advance, monotonic=lambda: fake.now.timestamp(), time=lambda: fake.now.timestamp()
    )
