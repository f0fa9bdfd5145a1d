# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Docker's ``daemon.json``: parse, merge, and say what makes a change count. Text and dictionaries only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Callable

# Lists in which both sides' items are wanted; every other list is replaced as a whole.
UNITED_LISTS = frozenset(
    {"allow-nondistributable-artifacts", "cdi-spec-dirs", "insecure-registries", "registry-mirrors"}
)
# Lists of name=value items, of which each name may have one value only.
KEYED_LISTS = frozenset({"exec-opts", "labels", "storage-opts"})

# What dockerd takes over on SIGHUP (moby daemon/reload.go, daemon/reload_unix.go; the same since 20.10).
# Of "features", only what is read at every use: containerd-snapshotter and cdi are read once, at start.
RELOADABLE = frozenset(
    {
        "allow-nondistributable-artifacts",
        "debug",
        "default-cgroupns-mode",
        "default-ipc-mode",
        "default-runtime",
        "default-shm-size",
        "features.buildkit",
        "insecure-registries",
        "labels",
        "live-restore",
        "max-concurrent-downloads",
        "max-concurrent-uploads",
        "max-download-attempts",
        "network-diagnostic-port",
        "registry-mirrors",
        "runtimes",
        "shutdown-timeout",
    }
)
# A reload looks only at keys that are set, so a removed key keeps its old value until the restart, except these.
RELOADABLE_WHEN_REMOVED = frozenset(
    {
        "features.buildkit",
        "max-concurrent-downloads",
        "max-concurrent-uploads",
        "max-download-attempts",
        "network-diagnostic-port",
    }
)


class DaemonJsonError(ValueError):
    """The text is no configuration of the Docker engine; the message says where and why."""


def parse(text: str) -> dict[str, Any]:
    """The configuration in the text; an empty text is an empty configuration.

    Raises DaemonJsonError with line and column for text that is not a JSON object.
    """
    text = text.lstrip("\ufeff")
    if not text.strip():
        return {}
    try:
        configuration = json.loads(text)
    except json.JSONDecodeError as error:
        raise DaemonJsonError(f"invalid JSON at line {error.lineno}, column {error.colno}: {error.msg}") from error
    if not isinstance(configuration, dict):
        raise DaemonJsonError(f"line 1 starts a JSON {_json_type(configuration)}, not an object")
    return configuration


def render(configuration: Mapping[str, Any]) -> str:
    """The text of the file."""
    return json.dumps(configuration, indent=4, ensure_ascii=False) + "\n"


def merge(current: Mapping[str, Any], settings: Mapping[str, Any], absent: Iterable[str] = ()) -> dict[str, Any]:
    """``current`` without the ``absent`` keys and with ``settings`` laid over it; both stay untouched.

    Dictionaries merge key by key; lists as UNITED_LISTS and KEYED_LISTS say. A key that is in ``absent`` and in
    ``settings`` is replaced instead of merged. Keys of ``absent`` may be dotted paths (``features.cdi``).
    """
    merged = dict(current)
    for path in absent:
        merged = _without(merged, path)
    return _overlay(merged, settings)


def changed_keys(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The keys whose values differ, sorted; those inside ``features`` as ``features.<name>``."""
    flat_before, flat_after = _flat(before), _flat(after)
    return sorted(
        key for key in {*flat_before, *flat_after} if flat_before.get(key, _MISSING) != flat_after.get(key, _MISSING)
    )


def how_to_apply(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """What makes the running engine take the change over: ``none``, ``reload`` (SIGHUP) or ``restart``."""
    changed = changed_keys(before, after)
    if not changed:
        return "none"
    present = _flat(after)
    reloadable = all(key in (RELOADABLE if key in present else RELOADABLE_WHEN_REMOVED) for key in changed)
    return "reload" if reloadable else "restart"


def url_passwords(value: Any) -> set[str]:
    """The passwords in the URLs of a configuration, at any depth: those of ``proxies``, mostly."""
    if isinstance(value, str):
        return set(_URL_PASSWORD.findall(value))
    if isinstance(value, Mapping):
        value = list(value.values())
    return {password for item in value for password in url_passwords(item)} if isinstance(value, list) else set()


_MISSING: Any = object()
_URL_PASSWORD = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")


def _json_type(value: Any) -> str:
    return {list: "array", str: "string", bool: "boolean", type(None): "null"}.get(type(value), "number")


def _without(configuration: Mapping[str, Any], path: str) -> dict[str, Any]:
    if path in configuration:
        return {key: value for key, value in configuration.items() if key != path}
    result = dict(configuration)
    for key, value in configuration.items():
        if path.startswith(key + ".") and isinstance(value, Mapping):
            result[key] = _without(value, path[len(key) + 1 :])
    return result


def _overlay(current: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(current)
    for key, wanted in settings.items():
        present = result.get(key)
        if isinstance(present, Mapping) and isinstance(wanted, Mapping):
            result[key] = _overlay(present, wanted)
        elif isinstance(present, list) and isinstance(wanted, list):
            result[key] = _merge_lists(key, present, wanted)
        else:
            result[key] = wanted
    return result


def _merge_lists(key: str, present: list[Any], wanted: list[Any]) -> list[Any]:
    identity = _list_identity(key)
    if identity is None:
        return wanted
    items = {identity(item): item for item in present}
    items.update({identity(item): item for item in wanted})
    return list(items.values())


def _list_identity(key: str) -> Callable[[Any], str] | None:
    """What makes two items of the list the same one; None where the list is replaced as a whole."""
    if key in KEYED_LISTS:
        return lambda item: str(item).partition("=")[0]
    if key in UNITED_LISTS:
        return str
    return None


def _flat(configuration: Mapping[str, Any]) -> dict[str, Any]:
    features = configuration.get("features")
    flat = {key: value for key, value in configuration.items() if key != "features"}
    if isinstance(features, Mapping):
        flat.update({f"features.{name}": value for name, value in features.items()})
    elif "features" in configuration:
        flat["features"] = features
    return flat
