# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a module's ``main()`` as Ansible would and returns what it answered."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any, Callable

try:
    from ansible.module_utils.testing import patch_module_args
except ImportError:  # ansible-core 2.18
    from unittest.mock import patch

    def patch_module_args(arguments: dict[str, Any]) -> contextlib.AbstractContextManager:
        """What 2.19 and newer bring: the arguments as AnsibleModule reads them."""
        return patch(
            "ansible.module_utils.basic._ANSIBLE_ARGS", json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode()
        )


def run_module(main: Callable[[], None], arguments: dict[str, Any], **internal: Any) -> dict[str, Any]:
    """The module's answer; ``internal`` are Ansible's own settings, such as ``check_mode=True`` or ``diff=True``."""
    internals = {f"_ansible_{name}": value for name, value in internal.items()}
    output = io.StringIO()
    with (
        patch_module_args({**arguments, **internals}),
        contextlib.redirect_stdout(output),
        contextlib.suppress(SystemExit),
    ):
        main()
    return json.loads(output.getvalue().splitlines()[-1])


def fake_command(directory: Path, name: str, script: str) -> Path:
    """An executable shell script of this name, which a test puts first in PATH."""
    directory.mkdir(parents=True, exist_ok=True)
    command = directory / name
    command.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    command.chmod(0o755)
    return command
