# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A role as what it would do: for hosts of which there is none here, so that nothing is run.

Conditions, loops, defaults and the role's own variables are evaluated by Ansible's templar, so that an expression that
does not hold together fails here as it would on a host. It runs in a process of its own, because Ansible's loader of
collections takes over the imports of the process that it is in.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.template import Templar

from ansible_collections.gpuops.gpustack.plugins import module_utils

try:
    from ansible.template import trust_as_template
except ImportError:  # before ansible-core 2.19 every text is a template

    def trust_as_template(value: str) -> str:
        return value


INCLUDES = {f"ansible.builtin.{verb}_tasks" for verb in ("include", "import")}
KEYWORDS = {
    "name", "when", "loop", "loop_control", "register", "notify", "vars", "no_log", "changed_when", "failed_when",
    "check_mode", "diff", "throttle", "listen", "run_once",
}  # fmt: skip


def rendered(path: Path, variables: dict[str, Any]) -> list[tuple[str, Any]]:
    """(module, arguments) of every task that would run, in their order.

    ``path`` is a file of a role's tasks or handlers; includes are followed. The role's defaults and variables count
    below ``variables``, among which are facts, what earlier tasks have registered, and ``ansible_check_mode``.
    """
    return _process().submit(_told, path, variables).result()


def _told(path: Path, variables: dict[str, Any]) -> list[tuple[str, Any]]:
    """Ansible's errors do not pass from one process to another."""
    try:
        return _rendered(path, variables)
    except AnsibleError as error:
        raise ValueError(str(error)) from None


@lru_cache(maxsize=1)
def _process() -> ProcessPoolExecutor:
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), init_plugin_loader, ([str(_collections())],))
    pool.submit(_end_with_parent)
    return pool


def _end_with_parent() -> None:
    """A forked test, as all of ansible-test's are, ends without a word to the process that it has started."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end() -> None:
        wait([parent.sentinel])
        os._exit(0)

    threading.Thread(target=end, daemon=True).start()


def _collections() -> Path:
    """Where this collection is imported from."""
    return Path(module_utils.__path__[0]).parents[4]


def _rendered(path: Path, variables: dict[str, Any]) -> list[tuple[str, Any]]:
    role = path.parents[1]
    known: dict[str, Any] = {}
    for place in ("defaults", "vars"):
        file = role / place / "main.yml"
        known.update(_trusted(yaml.safe_load(file.read_text())) if file.exists() else {})
    return _tasks(path, {**known, **variables})


def _tasks(path: Path, variables: dict[str, Any]) -> list[tuple[str, Any]]:
    return [action for task in yaml.safe_load(path.read_text()) for action in _task(task, path, variables)]


def _task(task: dict[str, Any], path: Path, variables: dict[str, Any]) -> list[tuple[str, Any]]:
    own = {**variables, **_trusted(task.get("vars", {}))}
    if "block" in task:
        inner = [*task["block"], *task.get("always", [])]
        return [action for one in inner for action in _task(one, path, own)] if _holds(task, own) else []
    (module,) = set(task) - KEYWORDS
    actions = []
    for item in _value(task["loop"], own) if "loop" in task else [None]:
        here = {**own, "item": item}
        if not _holds(task, here):
            continue
        if module in INCLUDES:
            actions += _tasks(path.parent / _value(task[module], here), here)
        else:
            actions.append((module, _value(task.get(module), here)))
    return actions


def _holds(task: dict[str, Any], variables: dict[str, Any]) -> bool:
    conditions = task.get("when", [])
    conditions = conditions if isinstance(conditions, list) else [conditions]
    return all(_value(f"{{{{ {condition} }}}}", variables) for condition in conditions)


def _value(value: Any, variables: dict[str, Any]) -> Any:
    return Templar(DataLoader(), variables=variables).template(_trusted(value))


def _trusted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _trusted(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_trusted(item) for item in value]
    return trust_as_template(value) if isinstance(value, str) else value
