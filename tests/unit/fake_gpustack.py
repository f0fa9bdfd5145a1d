# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A stand-in for a GPUStack 2.1.1 server on a real local port: answers by URL and remembers every request.

It behaves as the real one where the modules depend on it: what a PUT keeps and wipes, what is dropped without a word,
when instances come and go, what an error looks like, whom it trusts. Its clock is its own (`advance`), and an instance
takes one step of its life each time the instances are listed.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PASSWORD = "correct horse"
API_KEY = "gpustack_0011223344556677_00112233445566778899aabbccddeeff"

MODEL_DEFAULTS: dict[str, Any] = {
    "huggingface_repo_id": None,
    "huggingface_filename": None,
    "model_scope_model_id": None,
    "model_scope_file_path": None,
    "local_path": None,
    "description": None,
    "meta": {},
    "replicas": 1,
    "ready_replicas": 0,
    "categories": [],
    "placement_strategy": "spread",
    "cpu_offloading": None,
    "distributed_inference_across_workers": None,
    "worker_selector": {},
    "gpu_selector": None,
    "backend": None,
    "backend_version": None,
    "backend_parameters": None,
    "image_name": None,
    "run_command": None,
    "env": None,
    "restart_on_error": True,
    "distributable": False,
    "extended_kv_cache": None,
    "speculative_config": None,
    "generic_proxy": False,
    "cluster_id": None,
    "access_policy": "authed",
}
NESTED_DEFAULTS: dict[str, dict[str, Any]] = {
    "extended_kv_cache": {"enabled": False, "ram_ratio": 1.2, "ram_size": None, "chunk_size": None},
    "gpu_selector": {"gpu_ids": None, "gpus_per_replica": None},
    "speculative_config": {
        "enabled": False,
        "algorithm": None,
        "draft_model": None,
        "num_draft_tokens": None,
        "ngram_min_match_length": None,
        "ngram_max_match_length": None,
    },
}
ROUTE_FIELDS = ("name", "description", "categories", "generic_proxy")
SOURCE_IDS = {"huggingface": "huggingface_repo_id", "model_scope": "model_scope_model_id", "local_path": "local_path"}

# One step of an instance's life: the fields that change.
Step = dict[str, Any]
ON_WORKER: Step = {"worker_id": 1, "worker_name": "gpu-worker-a", "worker_ip": "192.0.2.11", "gpu_indexes": [0, 1]}
COMES_UP: list[Step] = [
    {"state": "pending"},
    {"state": "downloading", "download_progress": 40.0, **ON_WORKER},
    {"state": "starting", "download_progress": 100.0},
    {"state": "running", "restart_count": 0, "state_message": ""},
]
CRASHES: list[Step] = [
    {"state": "starting", **ON_WORKER},
    {"state": "error", "state_message": "Inference server exited or unhealthy."},
    {"state": "scheduled", "restart_count": 1, "state_message": ""},
]
FINDS_NO_PLACE: list[Step] = [
    {"state": "analyzing", "state_message": "Evaluating resource requirements"},
    {"state": "pending", "state_message": "No suitable workers.\nDetails:\nThe model needs 4 GPUs, there are 2."},
]


class Refusal(Exception):
    """An error answer in GPUStack's form."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message


@dataclass(frozen=True)
class Recorded:
    method: str
    path: str
    query: dict[str, str]
    body: Any
    headers: dict[str, str]


@dataclass
class FakeGPUStack:
    """The server. Use as a context manager; `url` is where it listens."""

    version: str = "v2.1.1"
    trusts_localhost: bool = True
    openai_errors: bool = False  # the form that errors take once an inference request has failed
    page_size_limit: int = 10**6
    life: Callable[[dict[str, Any]], list[Step]] = lambda instance: COMES_UP
    evaluation: Callable[[dict[str, Any]], dict[str, Any]] = lambda spec: {"compatible": True}
    dropped_fields: frozenset[str] = frozenset()
    requests: list[Recorded] = field(default_factory=list)
    retry_after: str | None = None
    faults: list[int | str | None] = field(default_factory=list)  # for the next requests, see _Handler
    logs: dict[str, str] = field(default_factory=dict)
    clusters: dict[int, dict[str, Any]] = field(default_factory=dict)
    workers: dict[int, dict[str, Any]] = field(default_factory=dict)
    models: dict[int, dict[str, Any]] = field(default_factory=dict)
    instances: dict[int, dict[str, Any]] = field(default_factory=dict)
    routes: dict[int, dict[str, Any]] = field(default_factory=dict)
    targets: dict[int, dict[str, Any]] = field(default_factory=dict)
    users: dict[int, dict[str, Any]] = field(default_factory=dict)
    passwords: dict[str, str] = field(default_factory=lambda: {"admin": PASSWORD})
    api_keys: dict[int, dict[str, Any]] = field(default_factory=dict)
    secrets: dict[int, str] = field(default_factory=dict)  # of API keys
    backends: dict[int, dict[str, Any]] = field(default_factory=dict)
    model_files: dict[int, dict[str, Any]] = field(default_factory=dict)
    now: datetime = datetime(2026, 3, 1, 9, 30, tzinfo=timezone.utc)

    def __post_init__(self) -> None:
        self._ids = itertools.count(1)
        self._ages: dict[int, int] = {}
        self._lock = threading.Lock()
        fake = self

        class Handler(_Handler):
            server_side = fake

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    def __enter__(self) -> FakeGPUStack:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    # What tests set up and look at

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def counts(self) -> dict[str, int]:
        """Requests by method; the log-in that proves a password counts as `login`."""
        counted: dict[str, int] = {}
        for request in self.requests:
            method = "login" if request.path == "/auth/login" else request.method
            counted[method] = counted.get(method, 0) + 1
        return counted

    def writes(self) -> list[tuple[str, str]]:
        """What changes something: neither the log-in that proves a password nor the dry run does."""
        harmless = ("/auth/login", "/v2/model-evaluations")
        return [(r.method, r.path) for r in self.requests if r.method != "GET" and r.path not in harmless]

    def add_cluster(self, name: str, is_default: bool = False, **fields: Any) -> dict[str, Any]:
        row = self._row(name=name, provider="Docker", state="ready", is_default=is_default, **fields)
        row.update(description=fields.get("description"), worker_config=fields.get("worker_config"))
        return self.clusters.setdefault(row["id"], row)

    def add_worker(self, name: str, cluster: dict[str, Any], **fields: Any) -> dict[str, Any]:
        row = self._row(
            name=name,
            cluster_id=cluster["id"],
            hostname=name,
            ip="192.0.2.11",
            ifname="eth0",
            port=10150,
            labels={"os": "Linux", "arch": "amd64", "worker-name": name},
            maintenance=None,
            state="ready",
            state_message=None,
            status={"gpu_devices": [_gpu(1), _gpu(0)]},
        )
        row.update(fields)
        return self.workers.setdefault(row["id"], row)

    def add_model(self, name: str, **fields: Any) -> dict[str, Any]:
        """A model as somebody makes it in the web interface, its instances running."""
        model = self._create_model({"name": name, "enable_model_route": True, **fields})
        for instance in self.instances.values():
            if instance["model_id"] == model["id"]:
                for step in COMES_UP:
                    instance.update(step)
                self._ages[instance["id"]] = len(COMES_UP)
        return model

    def add_user(self, username: str, **fields: Any) -> dict[str, Any]:
        defaults = {"is_admin": False, "is_active": True, "full_name": None, "require_password_change": False}
        row = self._row(username=username, source="Local", **{**defaults, **fields})
        return self.users.setdefault(row["id"], row)

    def instances_of(self, name: str) -> list[dict[str, Any]]:
        return [instance for instance in self.instances.values() if instance["model_name"] == name]

    # The server's side

    def answer(self, request: Recorded) -> Any:
        for method, pattern, handler in _URLS:
            match = re.fullmatch(pattern, request.path)
            if match and method == request.method:
                if request.path.startswith("/v2/"):
                    self._authenticate(request)
                with self._lock:
                    return handler(self, request, *map(int, match.groups()))
        raise Refusal(404, "NotFound", "Not Found")

    def _authenticate(self, request: Recorded) -> None:
        scheme, _space, value = request.headers.get("authorization", "").partition(" ")
        known = (scheme == "Bearer" and value in {API_KEY, *self.secrets.values()}) or (
            scheme == "Basic" and base64.b64decode(value).decode() == f"admin:{PASSWORD}"
        )
        # The client of a test is always on 127.0.0.1.
        if not known and not self.trusts_localhost:
            raise Refusal(401, "Unauthorized", "Invalid authentication credentials")

    def _log_in(self, request: Recorded) -> None:
        form = parse_qs(request.body)
        if form["password"] != [self.passwords.get(form["username"][0])]:
            raise Refusal(401, "Unauthorized", "Incorrect username or password")

    def _row(self, **fields: Any) -> dict[str, Any]:
        return {"id": next(self._ids), "created_at": self._time(), "updated_at": self._time(), **fields}

    def _time(self) -> str:
        return self.now.isoformat(timespec="microseconds").replace("+00:00", "Z")

    def _page(self, request: Recorded, rows: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> dict[str, Any]:
        rows = list(rows)
        page = int(request.query.get("page", 1))
        size = min(int(request.query.get("perPage", 100)), self.page_size_limit)
        pagination = {"page": page, "perPage": size, "total": len(rows), "totalPage": -(-len(rows) // size)}
        return {"items": rows[(page - 1) * size : page * size], "pagination": pagination}

    def _named(self, request: Recorded, rows: dict[int, dict[str, Any]], field: str = "name") -> dict[str, Any]:
        name, part = request.query.get("name"), request.query.get("search", "").lower()
        found = (r for r in rows.values() if (name is None or r[field] == name) and part in r[field].lower())
        return self._page(request, found)

    @staticmethod
    def _find(rows: dict[int, dict[str, Any]], key: int, label: str) -> dict[str, Any]:
        if key not in rows:
            raise Refusal(404, "NotFound", f"{label} not found")
        return rows[key]

    # Models

    def _create_model(self, body: dict[str, Any]) -> dict[str, Any]:
        fields = self._valid_model(body)
        if any(model["name"] == body["name"] for model in self.models.values()):
            raise Refusal(409, "AlreadyExists", f"Model '{body['name']}' already exists.")
        if body.get("enable_model_route") and any(route["name"] == body["name"] for route in self.routes.values()):
            raise Refusal(409, "AlreadyExists", f"Model route '{body['name']}' already exists.")
        model = self._row(**{**MODEL_DEFAULTS, **fields})
        self.models[model["id"]] = model
        if body.get("enable_model_route"):
            route = self._row(
                name=model["name"],
                created_by_model=True,
                targets=1,
                ready_targets=0,
                access_policy=model["access_policy"],
            )
            self.routes[route["id"]] = route
            target = self._row(
                name=f"{model['name']}-deployment",
                route_id=route["id"],
                route_name=route["name"],
                model_id=model["id"],
                weight=100,
                state="active",
            )
            self.targets[target["id"]] = target
        self._control(model)
        return model

    def _valid_model(self, body: dict[str, Any]) -> dict[str, Any]:
        problems = []
        for name in ("name", "source"):
            if name not in body:
                problems.append(_problem(("body", name), "Field required", body))
        source = body.get("source")
        if source in SOURCE_IDS and not body.get(SOURCE_IDS[source]):
            problems.append(_problem(("body",), f"Value error, {SOURCE_IDS[source]} must be provided", body))
        for name, value in (body.get("env") or {}).items():
            if not isinstance(value, str):
                problems.append(_problem(("body", "env", name), "Input should be a valid string", body))
        if problems:
            raise Refusal(422, "Invalid", f"{len(problems)} validation errors:\n" + "".join(problems))
        for item in body.get("backend_parameters") or []:
            if item.startswith("--port"):
                raise Refusal(400, "BadRequest", "Setting the port using --port is not supported.")
        fields = {
            name: value
            for name, value in body.items()
            if name in {*MODEL_DEFAULTS, "name", "source"} and name not in self.dropped_fields
        }
        for name, defaults in NESTED_DEFAULTS.items():
            if fields.get(name) is not None:
                fields[name] = {**defaults, **{k: v for k, v in fields[name].items() if k in defaults}}
        # The server's own default counts as sent: a PUT without the field resets it.
        if fields.get("distributed_inference_across_workers") is None:
            fields["distributed_inference_across_workers"] = body.get("backend", "vLLM") in ("vLLM", "SGLang", "MindIE")
        return fields

    def _put_model(self, request: Recorded, key: int) -> dict[str, Any]:
        model = self._find(self.models, key, "Model")
        fields = self._valid_model(request.body)
        if fields.get("backend") != "Custom" and (model["run_command"] or model["image_name"]):
            fields.update(run_command=None, image_name=None)
        model.update(fields, updated_at=self._time())
        self._control(model)
        return model

    def _delete_model(self, request: Recorded, key: int) -> None:
        self._find(self.models, key, "Model")
        del self.models[key]
        self.instances = {i: row for i, row in self.instances.items() if row["model_id"] != key}
        self.targets = {i: row for i, row in self.targets.items() if row["model_id"] != key}

    def _control(self, model: dict[str, Any]) -> None:
        """The controller: only the number of instances, never what they run."""
        present = [row for row in self.instances.values() if row["model_id"] == model["id"]]
        for _missing in range(model["replicas"] - len(present)):
            row = self._row(
                model_id=model["id"],
                model_name=model["name"],
                state="pending",
                state_message=None,
                restart_count=0,
                worker_id=None,
                worker_name=None,
                download_progress=None,
                distributed_servers=None,
                backend=model["backend"],
                backend_version=model["backend_version"],
            )
            row["name"] = f"{model['name']}-{row['id']:05d}"
            self.instances[row["id"]] = row
            self._ages[row["id"]] = 0
        for row in present[: max(0, len(present) - model["replicas"])]:
            del self.instances[row["id"]]

    def _list_instances(self, request: Recorded) -> dict[str, Any]:
        for row in self.instances.values():
            steps = self.life(row)
            if self._ages[row["id"]] < len(steps):
                row.update(steps[self._ages[row["id"]]], updated_at=self._time())
                self._ages[row["id"]] += 1
            model = self.models[row["model_id"]]
            if row["state"] == "running" and not model["backend_version"]:
                model["backend_version"] = "0.17.1"  # what was chosen is written back
            if row["state"] == "running" and not model["categories"]:
                model["categories"] = ["llm"]
        for model in self.models.values():
            model["ready_replicas"] = sum(row["state"] == "running" for row in self.instances_of(model["name"]))
        model_id = request.query.get("model_id")
        return self._page(request, [r for r in self.instances.values() if model_id in (None, str(r["model_id"]))])

    def _delete_instance(self, request: Recorded, key: int) -> None:
        row = self._find(self.instances, key, "Model instance")
        del self.instances[key]
        self._control(self.models[row["model_id"]])

    def _log(self, request: Recorded, key: int) -> str:
        row = self._find(self.instances, key, "Model instance")
        lines = self.logs.get(row["model_name"], "").splitlines()
        return "\n".join(lines[-int(request.query["tail"]) :])

    # Routes

    def _list_routes(self, request: Recorded) -> dict[str, Any]:
        answer = self._named(request, self.routes)
        # A route that was made with a model goes a moment after its last target.
        used = {target["route_id"] for target in self.targets.values()}
        self.routes = {i: r for i, r in self.routes.items() if i in used or not r["created_by_model"]}
        return answer

    def _post_route(self, request: Recorded) -> dict[str, Any]:
        if any(route["name"] == request.body["name"] for route in self.routes.values()):
            raise Refusal(409, "AlreadyExists", f"ModelRoute with name '{request.body['name']}' already exists.")
        route = self._row(
            description=None,
            categories=[],
            generic_proxy=False,
            created_by_model=False,
            ready_targets=0,
            access_policy="authed",
        )
        route.update({name: value for name, value in request.body.items() if name in ROUTE_FIELDS})
        self.routes[route["id"]] = route
        self._replace_targets(route, request.body.get("targets") or [])
        return _without_none(route)

    def _put_route(self, request: Recorded, key: int) -> dict[str, Any]:
        """What is not sent stays; a list of targets replaces all of them."""
        route = self._find(self.routes, key, "ModelRoute")
        route.update({name: value for name, value in request.body.items() if name in ROUTE_FIELDS})
        if request.body.get("targets") is not None:
            self._replace_targets(route, request.body["targets"])
        return _without_none(route)

    def _delete_route(self, request: Recorded, key: int) -> None:
        self._find(self.routes, key, "ModelRoute")
        del self.routes[key]
        self.targets = {i: row for i, row in self.targets.items() if row["route_id"] != key}

    def _replace_targets(self, route: dict[str, Any], items: list[dict[str, Any]]) -> None:
        for item in items:
            if item.get("provider_id") is None and item["model_id"] not in self.models:
                raise Refusal(404, "NotFound", f"Model with id '{item['model_id']}' not found.")
        kept = {item["id"] for item in items if "id" in item}
        self.targets = {i: t for i, t in self.targets.items() if t["route_id"] != route["id"] or i in kept}
        for item in items:
            if "id" in item:
                # A change makes it unavailable until GPUStack has looked again; a null is ignored.
                changes = {name: value for name, value in item.items() if value is not None}
                if any(self.targets[item["id"]].get(name) != value for name, value in changes.items()):
                    self.targets[item["id"]].update(changes, state="unavailable")
            else:
                if item.get("fallback_status_codes"):
                    self._unset_fallbacks(route["id"])
                where = {"route_id": route["id"], "route_name": route["name"], "name": f"{route['name']}-x"}
                row = self._row(**where, state="unavailable", **item)
                self.targets[row["id"]] = row
        route["targets"] = len(items)

    def _unset_fallbacks(self, route_id: int) -> None:
        for target in self.targets.values():
            if target["route_id"] == route_id:
                target["fallback_status_codes"] = None

    def _set_fallback(self, request: Recorded, key: int) -> dict[str, Any]:
        target = self._find(self.targets, key, "ModelRouteTarget")
        if request.body["fallback_status_codes"] is not None:
            self._unset_fallbacks(target["route_id"])
        target["fallback_status_codes"] = request.body["fallback_status_codes"]
        return _without_none(target)

    def _list_targets(self, request: Recorded) -> dict[str, Any]:
        """A target becomes active by the next look once its model has a running replica."""
        filters = {name: int(request.query[name]) for name in ("model_id", "route_id") if name in request.query}
        found = [t for t in self.targets.values() if all(t.get(name) == value for name, value in filters.items())]
        answer = self._page(request, [_without_none(target) for target in found])
        for target in found:
            model = self.models.get(target.get("model_id", 0))
            if model is None or model["ready_replicas"]:
                target["state"] = "active"
        return answer

    def _delete_target(self, request: Recorded, key: int) -> None:
        """A route that was made with a model is from then on one that was not."""
        target = self._find(self.targets, key, "ModelRouteTarget")
        del self.targets[key]
        self.routes[target["route_id"]]["created_by_model"] = False

    def _access(self, request: Recorded, key: int) -> dict[str, Any]:
        return {"items": self._find(self.routes, key, "Model").get("users", [])}

    def _set_access(self, request: Recorded, key: int) -> dict[str, Any]:
        route = self._find(self.routes, key, "Model")
        ids = [user["id"] for user in request.body["users"]]
        users = [{"id": i, "username": self._find(self.users, i, "User")["username"]} for i in ids]
        route.update(access_policy=request.body["access_policy"], users=users)
        return {"items": users}

    # The dry run

    def _evaluate(self, request: Recorded) -> dict[str, Any]:
        return {"results": [self.evaluation(spec) for spec in request.body["model_specs"]]}

    # Users and their keys

    def _post_user(self, request: Recorded) -> dict[str, Any]:
        """2.1 does not keep that the password must be changed."""
        if any(user["username"] == request.body["username"] for user in self.users.values()):
            raise Refusal(409, "AlreadyExists", f"User {request.body['username']} already exists")
        known = {name: request.body[name] for name in ("full_name", "is_admin", "is_active") if name in request.body}
        self.passwords[request.body["username"]] = request.body["password"]
        return self.add_user(request.body["username"], **known)

    def _put_user(self, request: Recorded, key: int) -> dict[str, Any]:
        """What is not sent is reset."""
        user = self._find(self.users, key, "User")
        if request.body.get("password"):
            self.passwords[user["username"]] = request.body["password"]
        defaults = {"full_name": None, "is_admin": False, "is_active": True, "require_password_change": False}
        user.update({name: request.body.get(name, value) for name, value in defaults.items()})
        return user

    def _delete_user(self, request: Recorded, key: int) -> None:
        del self.passwords[self._find(self.users, key, "User")["username"]]
        del self.users[key]

    def _post_key(self, request: Recorded) -> dict[str, Any]:
        if any(row["name"] == request.body["name"] for row in self.api_keys.values()):
            raise Refusal(409, "AlreadyExists", f"Api key {request.body['name']} already exists")
        fields = {name: request.body.get(name) for name in ("name", "description", "allowed_model_names")}
        row = self._row(**fields, expires_at=None)
        self.api_keys[row["id"]] = row
        self.secrets[row["id"]] = f"gpustack_{row['id']:016x}_00112233445566778899aabbccddeeff"
        return {**row, "value": self.secrets[row["id"]]}

    def _put_key(self, request: Recorded, key: int) -> dict[str, Any]:
        row = self._find(self.api_keys, key, "Api key")
        row.update({k: v for k, v in request.body.items() if k in ("description", "allowed_model_names")})
        return row

    def _delete_key(self, request: Recorded, key: int) -> None:
        self._find(self.api_keys, key, "Api key")
        del self.api_keys[key], self.secrets[key]

    # Inference backends and files

    def add_backend(self, name: str, versions: dict[str, Any] | None = None) -> dict[str, Any]:
        row = self._row(
            backend_name=name,
            version_configs=versions or {},
            default_version=None,
            description=None,
            is_built_in=True,
            backend_source="built_in",
            enabled=True,
        )
        return self.backends.setdefault(row["id"], row)

    def _backend_by_name(self, request: Recorded) -> dict[str, Any]:
        name = request.path.rpartition("/")[2]
        for backend in self.backends.values():
            if backend["backend_name"] == name:
                return backend
        raise Refusal(400, "BadRequest", f"Inference backend {name} not found")

    def _put_backend(self, request: Recorded, key: int) -> dict[str, Any]:
        """All versions are replaced; what is not sent is reset."""
        backend = self._find(self.backends, key, "Inference backend")
        versions: dict[str, Any] = request.body["version_configs"]
        for model in self.models.values():
            if model["replicas"] and model["backend_version"] in backend["version_configs"].keys() - versions.keys():
                raise Refusal(400, "BadRequest", f"version is currently being used by {model['name']}")
        backend["version_configs"] = {
            name: {"image_name": None, "run_command": None, "entrypoint": None, "built_in_frameworks": None, **config}
            for name, config in versions.items()
        }
        backend.update({name: request.body.get(name) for name in ("description", "backend_source")})
        return backend

    def _post_file(self, request: Recorded) -> dict[str, Any]:
        row = self._row(state="downloading", state_message=None, download_progress=0, local_dir=None)
        row.update(request.body)
        return self.model_files.setdefault(row["id"], row)

    def _get_file(self, request: Recorded, key: int) -> dict[str, Any]:
        """Half of it more is there with each look, unless it failed."""
        row = self._find(self.model_files, key, "Model file")
        if row["state"] == "downloading" and request.method == "GET":
            row["download_progress"] += 50
            row["state"] = "ready" if row["download_progress"] >= 100 else "downloading"
        return row

    def _put_file(self, request: Recorded, key: int) -> dict[str, Any]:
        row = self._find(self.model_files, key, "Model file")
        row.update(request.body)
        return row

    def _reset_file(self, request: Recorded, key: int) -> dict[str, Any]:
        row = self._find(self.model_files, key, "Model file")
        row.update(state="downloading", download_progress=0, state_message="")
        return row

    def _delete_file(self, request: Recorded, key: int) -> None:
        self._find(self.model_files, key, "Model file")
        del self.model_files[key]

    def _list_files(self, request: Recorded) -> dict[str, Any]:
        only = request.query.get("worker_id")
        return self._page(request, [r for r in self.model_files.values() if only in (None, str(r["worker_id"]))])

    # Clusters and workers

    def _post_cluster(self, request: Recorded) -> dict[str, Any]:
        if any(cluster["name"] == request.body["name"] for cluster in self.clusters.values()):
            raise Refusal(409, "AlreadyExists", f"cluster {request.body['name']} already exists")
        known = ("name", "description", "worker_config")
        return _without_none(self.add_cluster(**{k: v for k, v in request.body.items() if k in known}))

    def _put_cluster(self, request: Recorded, key: int) -> dict[str, Any]:
        cluster = self._find(self.clusters, key, "cluster")
        known = ("name", "description", "worker_config")
        cluster.update({k: v for k, v in request.body.items() if k in known})
        return _without_none(cluster)

    def _list_clusters(self, request: Recorded) -> dict[str, Any]:
        answer = self._named(request, self.clusters)
        for row in answer["items"]:
            row["workers"] = sum(worker["cluster_id"] == row["id"] for worker in self.workers.values())
        return {**answer, "items": [_without_none(row) for row in answer["items"]]}

    def _delete_cluster(self, request: Recorded, key: int) -> None:
        cluster = self._find(self.clusters, key, "cluster")
        if any(worker["cluster_id"] == key for worker in self.workers.values()):
            raise Refusal(409, "Conflict", f"cluster {cluster['name']}(id: {key}) has workers, cannot be deleted")
        del self.clusters[key]

    def _set_default(self, request: Recorded, key: int) -> None:
        for cluster in self.clusters.values():
            cluster["is_default"] = cluster["id"] == key

    def _registration(self, request: Recorded, key: int) -> dict[str, Any]:
        self._find(self.clusters, key, "cluster")
        return {
            "token": f"gpustack_{key:016x}_registration",
            "server_url": self.url,
            "image": "gpustack/gpustack:v2.1.1",
            "env": {"GPUSTACK_TOKEN": f"gpustack_{key:016x}_registration"},
            "args": [],
        }

    def _put_worker(self, request: Recorded, key: int) -> dict[str, Any]:
        """What is not sent is wiped."""
        worker = self._find(self.workers, key, "worker")
        worker["name"] = request.body["name"]
        worker["labels"] = request.body.get("labels", {})
        worker["maintenance"] = request.body.get("maintenance")
        if worker["maintenance"] is not None:
            worker["state"] = "maintenance" if worker["maintenance"]["enabled"] else "ready"
        return worker

    def _delete_worker(self, request: Recorded, key: int) -> None:
        self._find(self.workers, key, "worker")
        del self.workers[key]


_URLS: list[tuple[str, str, Callable[..., Any]]] = [
    ("GET", r"/version", lambda fake, request: {"version": fake.version, "git_commit": "11accdf"}),
    ("POST", r"/auth/login", FakeGPUStack._log_in),
    ("GET", r"/v2/users/me", lambda fake, request: {"username": "admin", "is_admin": True}),
    ("GET", r"/v2/models", lambda fake, request: fake._named(request, fake.models)),
    ("POST", r"/v2/models", lambda fake, request: fake._create_model(request.body)),
    ("GET", r"/v2/models/(\d+)", lambda fake, request, key: fake._find(fake.models, key, "Model")),
    ("PUT", r"/v2/models/(\d+)", FakeGPUStack._put_model),
    ("DELETE", r"/v2/models/(\d+)", FakeGPUStack._delete_model),
    ("GET", r"/v2/model-instances", FakeGPUStack._list_instances),
    ("DELETE", r"/v2/model-instances/(\d+)", FakeGPUStack._delete_instance),
    ("GET", r"/v2/model-instances/(\d+)/logs", FakeGPUStack._log),
    ("GET", r"/v2/model-routes", FakeGPUStack._list_routes),
    ("POST", r"/v2/model-routes", FakeGPUStack._post_route),
    ("GET", r"/v2/model-routes/(\d+)", lambda fake, request, key: _without_none(fake._find(fake.routes, key, "Route"))),
    ("PUT", r"/v2/model-routes/(\d+)", FakeGPUStack._put_route),
    ("DELETE", r"/v2/model-routes/(\d+)", FakeGPUStack._delete_route),
    ("GET", r"/v2/model-routes/(\d+)/access", FakeGPUStack._access),
    ("POST", r"/v2/model-routes/(\d+)/access", FakeGPUStack._set_access),
    ("GET", r"/v2/model-route-targets", FakeGPUStack._list_targets),
    ("DELETE", r"/v2/model-route-targets/(\d+)", FakeGPUStack._delete_target),
    ("POST", r"/v2/model-route-targets/(\d+)/set-fallback", FakeGPUStack._set_fallback),
    ("GET", r"/v2/users", lambda fake, request: fake._named(request, fake.users, "username")),
    ("POST", r"/v2/model-evaluations", FakeGPUStack._evaluate),
    ("POST", r"/v2/users", FakeGPUStack._post_user),
    ("GET", r"/v2/users/(\d+)", lambda fake, request, key: fake._find(fake.users, key, "User")),
    ("PUT", r"/v2/users/(\d+)", FakeGPUStack._put_user),
    ("DELETE", r"/v2/users/(\d+)", FakeGPUStack._delete_user),
    ("GET", r"/v2/api-keys", lambda fake, request: fake._named(request, fake.api_keys)),
    ("POST", r"/v2/api-keys", FakeGPUStack._post_key),
    ("PUT", r"/v2/api-keys/(\d+)", FakeGPUStack._put_key),
    ("DELETE", r"/v2/api-keys/(\d+)", FakeGPUStack._delete_key),
    ("GET", r"/v2/inference-backends", lambda fake, request: fake._page(request, fake.backends.values())),
    ("GET", r"/v2/inference-backends/(\d+)", lambda fake, request, key: fake._find(fake.backends, key, "Backend")),
    ("GET", r"/v2/inference-backends/backend_name/.*", FakeGPUStack._backend_by_name),
    ("PUT", r"/v2/inference-backends/(\d+)", FakeGPUStack._put_backend),
    ("GET", r"/v2/model-files", FakeGPUStack._list_files),
    ("POST", r"/v2/model-files", FakeGPUStack._post_file),
    ("GET", r"/v2/model-files/(\d+)", FakeGPUStack._get_file),
    ("PUT", r"/v2/model-files/(\d+)", FakeGPUStack._put_file),
    ("POST", r"/v2/model-files/(\d+)/reset", FakeGPUStack._reset_file),
    ("DELETE", r"/v2/model-files/(\d+)", FakeGPUStack._delete_file),
    ("GET", r"/v2/clusters", FakeGPUStack._list_clusters),
    ("POST", r"/v2/clusters", FakeGPUStack._post_cluster),
    ("GET", r"/v2/clusters/(\d+)", lambda fake, request, key: _without_none(fake._find(fake.clusters, key, "cluster"))),
    ("PUT", r"/v2/clusters/(\d+)", FakeGPUStack._put_cluster),
    ("DELETE", r"/v2/clusters/(\d+)", FakeGPUStack._delete_cluster),
    ("POST", r"/v2/clusters/(\d+)/set-default", FakeGPUStack._set_default),
    ("GET", r"/v2/clusters/(\d+)/registration-token", FakeGPUStack._registration),
    ("GET", r"/v2/workers", lambda fake, request: fake._named(request, fake.workers)),
    ("GET", r"/v2/workers/(\d+)", lambda fake, request, key: fake._find(fake.workers, key, "worker")),
    ("PUT", r"/v2/workers/(\d+)", FakeGPUStack._put_worker),
    ("DELETE", r"/v2/workers/(\d+)", FakeGPUStack._delete_worker),
]


class _Handler(BaseHTTPRequestHandler):
    """Faults: a number is the status to answer with; `cut` ends the connection before it is done, `lost` after."""

    server_side: FakeGPUStack
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body of an answer in one packet

    def _handle(self) -> None:
        fake = self.server_side
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        parts = urlsplit(self.path)
        request = Recorded(
            method=self.command,
            path=parts.path,
            query={name: values[0] for name, values in parse_qs(parts.query).items()},
            body=json.loads(content) if self.headers.get("Content-Type") == "application/json" else content,
            headers={name.lower(): value for name, value in self.headers.items()},
        )
        fake.requests.append(request)
        fault = fake.faults.pop(0) if fake.faults else None
        if fault == "cut":
            self.close_connection = True
            return
        try:
            if isinstance(fault, int):
                raise Refusal(fault, "Fault", "injected fault")
            answer = fake.answer(request)
            if fault == "lost":
                self.close_connection = True
                return
            self._send(200, answer)
        except Refusal as refusal:
            error = {"code": refusal.status, "reason": refusal.reason, "message": refusal.message}
            if fake.openai_errors:
                error = {"error": {"message": refusal.message, "code": refusal.status, "type": refusal.reason}}
            self._send(refusal.status, error)

    do_GET = do_POST = do_PUT = do_DELETE = _handle

    def _send(self, status: int, answer: Any) -> None:
        text = isinstance(answer, str)
        content = (answer if text else json.dumps(answer)).encode()
        self.send_response_only(status)
        self.send_header("Date", format_datetime(self.server_side.now, usegmt=True))
        if self.server_side.retry_after and status == 429:
            self.send_header("Retry-After", self.server_side.retry_after)
        if self.path == "/auth/login":
            self.send_header("Set-Cookie", "gpustack_session=somebody; Path=/")
        self.send_header("Content-Type", "text/plain" if text else "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_args: Any) -> None:
        """Keep the test's output clean."""


def _gpu(index: int) -> dict[str, Any]:
    return {
        "index": index,
        "name": "Tesla V100-PCIE-32GB",
        "vendor": "nvidia",
        "type": "cuda",
        "arch_family": "Volta",
        "compute_capability": "7.0",
        "driver_version": None,
        "runtime_version": "12.9",
        "uuid": "",
        "memory": {"total": 32 * 2**30, "used": 3 * 2**20, "allocated": None},
    }


def _problem(where: tuple[str, ...], what: str, body: Any) -> str:
    return f"  {{'type': 'value_error', 'loc': {where!r}, 'msg': {what!r}, 'input': {body!r}}}\n"


def _without_none(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}
