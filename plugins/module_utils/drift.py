# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Declared, configured, running: where they differ, since when, and by whom. Pure.

Three things are held against each other. What is declared in git, as the module `models` takes it. What is configured
in GPUStack, as `model_info` returns it. And what runs, as `engine_info` reads it from the hosts. Who is behind a
difference follows from the marker that every write of this collection leaves in a model's environment (see
`engine_configuration`): it names the time of the write, and tells whether the model is still what was written then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from . import containers, engine_arguments
from .engine_configuration import ENGINE_FIELDS, created_at, declared_name, marker_of, without_marker
from .engine_verification import differences
from .ensure import compare
from .errors import Invalid
from .masking import mask_fields, mask_parameters, mask_url
from .model_spec import KIND, instances_wanted, without_scheduled_replicas
from .realisation import Member, Realisation, cards_of, check_names, realise

GIT = "git"
GPUSTACK = "GPUStack's page or API"
UNFINISHED_RUN = "a run that did not finish"
UNKNOWN = "unknown"

# Code → what it says; {…} are fields of the finding.
FINDINGS = {
    "missing": "is declared, and GPUStack does not have it",
    "renamed": "is called {other} in GPUStack",
    "not_managed": "was made by hand: never written by this collection",
    "edited": "was edited in GPUStack",
    "not_applied": "was declared otherwise, and not applied",
    "differs": "is configured otherwise than declared",
    "old_instance": "runs an older configuration than GPUStack has",
    "engine_differs": "runs with other parameters than GPUStack has",
    "instance_missing": "lacks instances",
    "instance_not_running": "does not run",
    "engine_missing": "has no engine on its hosts",
    "not_routed": "gets no requests: the route does not lead to it",
    "surplus": "is a replica that is no longer declared",
    "undeclared": "was written by this collection, and is no longer declared",
    "foreign": "is not declared, and was made by hand",
    "labels_differ": "has other labels than declared",
    "maintenance_differs": "is in maintenance otherwise than declared",
    "worker_missing": "is declared, and not registered",
}

Shown = Mapping[str, Any]  # a model or worker as the _info modules return it
Engines = Mapping[str, Mapping[str, Any]]  # results of engine_info by host


@dataclass(frozen=True)
class Setting:
    """A flag, variable or field with its three values; None where it is not set, or not known."""

    name: str
    declared: Any = None
    configured: Any = None
    running: Any = None


@dataclass(frozen=True)
class Finding:
    """One difference. `since` and `until` are the earliest and latest time it can have come up; None: not known."""

    code: str
    subject: str
    who: str = UNKNOWN
    since: str | None = None
    until: str | None = None
    other: str | None = None
    settings: tuple[Setting, ...] = ()

    @property
    def message(self) -> str:
        return f"{self.subject} {FINDINGS[self.code].format(other=self.other)}"

    def data(self) -> dict[str, Any]:
        return {**asdict(self), "settings": [asdict(setting) for setting in self.settings], "message": self.message}


def drift(
    declarations: Sequence[Mapping[str, Any]],
    models: Iterable[Shown],
    engines: Engines,
    workers: Iterable[Shown] = (),
    declared_workers: Sequence[Mapping[str, Any]] = (),
    ignored: Iterable[str] = (),
) -> dict[str, Any]:
    """``{"drifted", "models": [{"name", "declared", "members", "instances", "findings"}], "workers": [...]}``.

    ``ignored`` are codes of FINDINGS that are told, and do not count as drift. Raises Invalid when the declarations
    make no sense.
    """
    unknown = sorted(set(ignored) - FINDINGS.keys())
    if unknown:
        raise Invalid(f"Unknown kinds of drift to ignore: {', '.join(unknown)}. There are: {', '.join(FINDINGS)}.")
    server = {str(model["name"]): model for model in models}
    realisations = [_realised(declaration, server) for declaration in declarations]
    check_names(realisations)
    renamed = _renamed(realisations, server)
    rows = [_declared_row(realisation, server, engines, renamed) for realisation in realisations]
    known = {member.name for realisation in realisations for member in realisation.members} | set(renamed.values())
    rows += [
        _undeclared_row(server[name], {realisation.name for realisation in realisations})
        for name in sorted(server.keys() - known)
    ]
    found = list(_worker_rows(declared_workers, workers))
    counted = {finding["code"] for row in (*rows, *found) for finding in row["findings"]} - set(ignored)
    return {"drifted": bool(counted), "models": rows, "workers": found}


# Models


def _realised(declaration: Mapping[str, Any], server: Mapping[str, Shown]) -> Realisation:
    """The members as they would be applied: those that are there keep their cards."""
    present = {
        name: frozenset().union(*map(cards_of, model["instances"]))
        for name, model in server.items()
        if model["instances"]
    }
    return realise(declaration, present)


def _declared_row(
    realisation: Realisation, server: Mapping[str, Shown], engines: Engines, renamed: Mapping[str, str]
) -> dict[str, Any]:
    findings: list[Finding] = []
    instances: list[Shown] = []
    for member in realisation.members:
        model = server.get(member.name)
        if model is None and member.name in renamed:
            findings.append(_renaming(member, server[renamed[member.name]]))
            model = server[renamed[member.name]]
        elif model is None:
            findings.append(Finding("missing", member.name))
        else:
            findings += _configuration(realisation, member, model, engines)
            findings += _running(member, model, engines)
        instances += model["instances"] if model else []
    return {
        "name": realisation.name,
        "declared": True,
        "members": [member.name for member in realisation.members],
        "instances": [_instance(instance) for instance in instances],
        "findings": [finding.data() for finding in findings],
    }


def _undeclared_row(model: Shown, declared: set[str]) -> dict[str, Any]:
    marker, owner = marker_of(model), declared_name(model)
    if marker is None or owner is None:
        finding = Finding("foreign", model["name"], GPUSTACK, _time(model.get("created_at")))
    elif owner in declared:
        finding = Finding("surplus", model["name"], GIT, str(marker.written_at.isoformat()), other=owner)
    else:
        finding = Finding("undeclared", model["name"], GIT, marker.written_at.isoformat())
    return {
        "name": model["name"],
        "declared": False,
        "members": [model["name"]],
        "instances": [_instance(instance) for instance in model["instances"]],
        "findings": [finding.data()],
    }


def _instance(instance: Shown) -> dict[str, Any]:
    return {name: instance.get(name) for name in ("name", "state", "created_at", "worker_name", "stale")}


def _renamed(realisations: Iterable[Realisation], server: Mapping[str, Shown]) -> dict[str, str]:
    """Declared models that the server lacks → undeclared ones that are the same under another name."""
    members = {member.name: member for realisation in realisations for member in realisation.members}
    spare = {name: model for name, model in sorted(server.items()) if name not in members}
    found: dict[str, str] = {}
    for name, member in members.items():
        if name in server:
            continue
        same = [other for other, model in spare.items() if _is_same(member, model) and other not in found.values()]
        if same:
            found[name] = same[0]
    return found


def _is_same(member: Member, model: Shown) -> bool:
    """Instances keep the name under which they were made; without any, the same configuration has to do."""
    if marker_of(model) is None:
        return False
    if any(_made_for(instance, member.name) for instance in model["instances"]):
        return True
    return not _difference(member, model).keys() - {"name"}


def _made_for(instance: Shown, name: str) -> bool:
    return str(instance["name"]).rpartition("-")[0] == name


def _renaming(member: Member, model: Shown) -> Finding:
    in_gpustack = any(_made_for(instance, member.name) for instance in model["instances"])
    marker = marker_of(model)
    return Finding(
        "renamed",
        member.name,
        GPUSTACK if in_gpustack else UNKNOWN,
        since=marker.written_at.isoformat() if marker else None,
        until=_time(model.get("updated_at")) if in_gpustack else None,
        other=model["name"],
    )


# Declared against configured


def _configuration(realisation: Realisation, member: Member, model: Shown, engines: Engines) -> Iterator[Finding]:
    change = _difference(member, model)
    marker = marker_of(model)
    written = marker.written_at.isoformat() if marker else None
    running = _running_settings(member.name, model, engines)
    of_engine = [s for name in change if name in ENGINE_FIELDS for s in _settings(name, member, model, running)]
    others = [s for name in change if name not in ENGINE_FIELDS for s in _settings(name, member, model, running)]
    if marker is None:
        yield Finding(
            "not_managed", member.name, GPUSTACK, _time(model.get("created_at")), settings=(*of_engine, *others)
        )
        return
    if of_engine and model.get("edited"):
        yield Finding(
            "edited", member.name, GPUSTACK, written, _time(model.get("updated_at")), settings=tuple(of_engine)
        )
    elif of_engine:
        yield Finding("not_applied", member.name, GIT, written, settings=tuple(of_engine))
    others += _access(realisation, member, model)
    if others:
        yield Finding("differs", member.name, UNKNOWN, written, settings=tuple(others))
    routed = {route["name"] for route in model.get("routes") or []}
    if realisation.name not in routed and member.fields.get("replicas") != 0:
        yield Finding("not_routed", member.name, UNKNOWN, written, other=realisation.name)


def _difference(member: Member, model: Shown) -> dict[str, Any]:
    """The fields that are declared and differ; secrets are compared only as far as they are shown."""
    visible = {**model, "env": without_marker(model.get("env"))}
    return compare(without_scheduled_replicas(mask_fields(member.fields), visible), visible, KIND.rules).after


def _access(realisation: Realisation, member: Member, model: Shown) -> Iterator[Setting]:
    if realisation.access_policy is None or not member.is_first:
        return
    for route in model.get("routes") or []:
        if route["name"] == realisation.name and route["access_policy"] != realisation.access_policy:
            yield Setting("access_policy", realisation.access_policy, route["access_policy"])


def _settings(field: str, member: Member, model: Shown, running: Mapping[str, Any]) -> Iterator[Setting]:
    """A differing field, taken apart where it is a list of flags or variables."""
    fields = mask_fields(member.fields)
    declared, configured = fields.get(field), model.get(field)
    if field not in ("backend_parameters", "env"):
        yield Setting(field, declared, configured)
        return
    version = str(model.get("backend_version") or "")
    parts = [_parts(field, value, version) for value in (declared, configured)]
    names = [name for name in sorted({*parts[0], *parts[1]}) if parts[0].get(name) != parts[1].get(name)]
    for name in names:
        yield Setting(name, parts[0].get(name), parts[1].get(name), running.get(name))
    if not names:  # the same, in another order or spelling
        yield Setting(field, declared, configured)


def _parts(field: str, value: Any, version: str) -> dict[str, Any]:
    if field == "env":
        return without_marker(value)
    return _flags(engine_arguments.split_items(value or []), version)


def _flags(words: Iterable[str], version: str) -> dict[str, Any]:
    return engine_arguments.read(mask_parameters(map(mask_url, words)) or [], version)


# Configured against running


def _running(member: Member, model: Shown, engines: Engines) -> Iterator[Finding]:
    marker = marker_of(model)
    written = marker.written_at.isoformat() if marker else None
    instances = {str(instance["name"]): instance for instance in model["instances"]}
    replicas = instances_wanted(model)
    if len(instances) < replicas:
        lacking = Setting("instances", member.fields.get("replicas"), replicas, len(instances))
        yield Finding("instance_missing", member.name, UNKNOWN, settings=(lacking,))
    differing = _by_instance(model, engines)
    for name, instance in sorted(instances.items()):
        settings = tuple(_three_way(setting, member, model) for setting in differing.get(name, ()))
        if instance["stale"]:
            yield Finding("old_instance", name, UNFINISHED_RUN, written, settings=settings)
        elif instance["state"] != "running":
            state = Setting("state", "running", "running", _state(instance))
            yield Finding("instance_not_running", name, UNKNOWN, _time(instance["created_at"]), settings=(state,))
        elif name not in differing and instance["worker_name"] in engines:
            yield Finding("engine_missing", name, UNKNOWN, _time(instance["created_at"]))
        elif settings:
            edit = model.get("edited")
            yield Finding(
                "engine_differs",
                name,
                GPUSTACK if edit else UNKNOWN,
                _time(instance["created_at"]),
                _time(model.get("updated_at")) if edit else None,
                settings=settings,
            )


def _state(instance: Shown) -> str:
    message = str(instance.get("state_message") or "").strip().splitlines()
    return f"{instance['state']}: {message[0]}" if message else str(instance["state"])


def _by_instance(model: Shown, engines: Engines) -> dict[str, list[Setting]]:
    """What runs otherwise than configured, for every instance that has an engine on some host."""
    configured = {
        "backend_version": model.get("backend_version"),
        "backend_parameters": model.get("backend_parameters"),
        "env": without_marker(model.get("env")),
    }
    found: dict[str, list[Setting]] = {
        name: [] for name in _engine_containers(engines) if any(i["name"] == name for i in model["instances"])
    }
    for difference in differences(configured, engines, str(model["name"]), int(model.get("replicas") or 0)):
        settings = found.get(difference["instance"] or "")
        setting = Setting(difference["name"], None, difference["planned"], difference["running"])
        if settings is not None and setting not in settings:
            settings.append(setting)
    return found


def _engine_containers(engines: Engines) -> dict[str, Mapping[str, Any]]:
    """The container that answers, by instance."""
    return {
        instance: container
        for info in engines.values()
        for instance, content in (info.get("instances") or {}).items()
        for container in content["containers"]
        if container["role"] == containers.ROLE_ENGINE
    }


def _three_way(setting: Setting, member: Member, model: Shown) -> Setting:
    """The declared value beside the configured and the running one, where the field is declared."""
    fields, version = mask_fields(member.fields), str(model.get("backend_version") or "")
    declared = {
        **_parts("backend_parameters", fields.get("backend_parameters"), version),
        **_parts("env", fields.get("env"), version),
    }
    return Setting(setting.name, declared.get(setting.name), setting.configured, setting.running)


def _running_settings(name: str, model: Shown, engines: Engines) -> dict[str, Any]:
    """Flags and variables of the first engine of a model."""
    names = {instance["name"] for instance in model["instances"]}
    for instance, container in sorted(_engine_containers(engines).items()):
        if instance in names:
            flags = _flags(container["command"], str(model.get("backend_version") or ""))
            return {**container["env"], **flags}
    return {}


# Workers


def _worker_rows(declared: Sequence[Mapping[str, Any]], workers: Iterable[Shown]) -> Iterator[dict[str, Any]]:
    registered = {str(worker["name"]): worker for worker in workers}
    for entry in declared:
        worker = registered.get(str(entry["name"]))
        findings = [Finding("worker_missing", str(entry["name"]))] if worker is None else []
        findings += [] if worker is None else _worker_findings(entry, worker)
        yield {"name": str(entry["name"]), "findings": [finding.data() for finding in findings]}


def _worker_findings(entry: Mapping[str, Any], worker: Shown) -> Iterator[Finding]:
    present = worker.get("labels") or {}
    texts = {name: None if value is None else str(value) for name, value in (entry.get("labels") or {}).items()}
    labels = [
        Setting(name, value, present.get(name)) for name, value in sorted(texts.items()) if present.get(name) != value
    ]
    if labels:
        yield Finding("labels_differ", worker["name"], UNKNOWN, settings=tuple(labels))
    wanted, found = entry.get("maintenance"), worker["maintenance"]["enabled"]
    if wanted is not None and bool(wanted) != bool(found):
        yield Finding(
            "maintenance_differs", worker["name"], UNKNOWN, settings=(Setting("maintenance", bool(wanted), found),)
        )


def _time(text: Any) -> str | None:
    """A time of GPUStack's to the second."""
    return None if not text else created_at({"created_at": text}).replace(microsecond=0).isoformat()
