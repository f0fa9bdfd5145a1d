# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""GPUStack over HTTP: authentication, retries, paging, typed errors. Decides nothing about what is asked.

The server describes its API under /openapi.json; what it does beyond that was read in its source, release 2.1.1.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import ipaddress
import json
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit

from ansible.module_utils.urls import Request, make_context

from .errors import (
    Conflict,
    Forbidden,
    GPUStackError,
    Invalid,
    NotFound,
    NotGPUStack,
    ServerError,
    Unauthorized,
    Unreachable,
    UnsupportedVersion,
    Untrusted,
)
from .masking import mask_url, redact
from .releases import LOCALHOST_TRUST_BELOW, SUPPORTED_BELOW, SUPPORTED_FROM, Version, version_text

# GPUStack sets no limit (seen with 2.1.1), so that a listing is one request and one state of things.
PAGE_SIZE = 10_000
RETRY_DELAYS_SECONDS = (1.0, 2.0, 4.0)
RETRIED_STATUS = frozenset({502, 503, 504})
# What is in front of GPUStack refuses for now, before GPUStack has seen the request.
TOO_MANY_REQUESTS = 429
LONGEST_RETRY_AFTER_SECONDS = 60.0

_ERRORS: dict[int, type[GPUStackError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    422: Invalid,
}

# One entry of FastAPI's list of what is wrong with a body; the rest of an entry repeats the body, secrets included.
_VALIDATION_ENTRY = re.compile(r"'loc': \((?P<where>[^)]*)\), 'msg': (?P<quote>['\"])(?P<what>.*?)(?P=quote), 'input'")


@dataclass(frozen=True)
class Connection:
    """Where a server is and who asks. Either `api_key`, or `username` and `password`."""

    server_url: str
    username: str | None = None
    password: str | None = None
    api_key: str | None = None
    validate_certs: bool = True
    ca_path: str | None = None
    timeout_seconds: float = 30.0


class Client:
    """A connection to one server. `connect()` first: it proves address, version and credentials."""

    def __init__(self, connection: Connection, sleep: Callable[[float], None] = time.sleep) -> None:
        """Raise Invalid when the connection's parts do not make sense together."""
        self._connection = connection
        self._base = _checked_url(connection.server_url)
        self._authorization = _authorization(connection)
        self._secrets = {value for value in (connection.password, connection.api_key) if value}
        self._sleep = sleep
        self._request = Request(
            http_agent="gpuops.gpustack",
            timeout=connection.timeout_seconds,
            context=_tls_context(connection),
            follow_redirects="none",
            use_netrc=False,
        )
        self.server_version: Version = (0, 0, 0)
        self.server_time: datetime | None = None
        self.warnings: list[str] = []

    @property
    def server_url(self) -> str:
        return self._base

    def connect(self, *, ask_who: bool = True) -> None:
        """Check address, version and credentials; raises the error that says which of them is wrong.

        Without `ask_who` it is the first request after this that tells wrong credentials.
        """
        self.server_version = self._supported_version()
        if ask_who:
            self.get("/v2/users/me")
        if self.server_version < LOCALHOST_TRUST_BELOW and _is_loopback(self._base):
            self._check_credentials_on_loopback()

    def version(self) -> str:
        """The server's version as it says it, `v2.1.1`; needs no credentials."""
        answer = self._json(self._send("GET", "/version", authorized=False))
        version = answer.get("version") if isinstance(answer, dict) else None
        if not isinstance(version, str):
            raise NotGPUStack(
                f"{self._base}/version was answered without a version; this is not GPUStack. "
                "Set server_url to the address GPUStack's web page is opened with."
            )
        return version

    def get(self, path: str, **query: Any) -> Any:
        return self._json(self._send("GET", _with_query(path, query)))

    def get_text(self, path: str, **query: Any) -> str:
        return self._send("GET", _with_query(path, query)).decode("utf-8", errors="replace")

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._json(self._send("POST", path, body))

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._json(self._send("PUT", path, body))

    def delete(self, path: str, **query: Any) -> None:
        self._send("DELETE", _with_query(path, query))

    def is_password(self, username: str, password: str) -> bool:
        """Whether a user can log in with this password. A log-in changes nothing on the server."""
        form = {"username": username, "password": password}
        try:
            self._send("POST", "/auth/login", urlencode(form), authorized=False)
        except Unauthorized:
            return False
        return True

    def is_api_key(self, value: str) -> bool:
        """Whether the server takes this API key; before 2.2.0 it takes any from 127.0.0.1."""
        if not _can_be_sent(value):
            return False
        try:
            self._send("GET", "/v2/users/me", authorization=f"Bearer {value}")
        except Unauthorized:
            return False
        except Forbidden:
            pass  # known, though it may not do this
        return True

    def listing(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Every item of a listing, over all its pages, each once.

        A server that allows only small pages is asked from the beginning again when the listing changed meanwhile,
        since an item may have moved to a page that was read already.
        """
        seen: set[Any] = set()
        page, total = 1, None
        while True:
            answer = self.get(path, page=page, perPage=PAGE_SIZE, **query)
            if not isinstance(answer, dict) or "items" not in answer:
                raise NotGPUStack(f"{self._base}{path} was answered without a list. Is server_url GPUStack's address?")
            for item in answer["items"]:
                if item["id"] not in seen:
                    seen.add(item["id"])
                    yield item
            changed = total not in (None, answer["pagination"]["total"])
            total = answer["pagination"]["total"]
            if changed and page > 1:
                page = 1
            elif page >= answer["pagination"]["totalPage"]:
                return
            else:
                page += 1

    def _supported_version(self) -> Version:
        text = self.version()
        match = re.match(r"v?(\d+)\.(\d+)\.(\d+)", text)
        version = (int(match[1]), int(match[2]), int(match[3])) if match else (0, 0, 0)
        if not SUPPORTED_FROM <= version < SUPPORTED_BELOW:
            raise UnsupportedVersion(
                f"{self._base} runs GPUStack {text}; this collection knows {version_text(SUPPORTED_FROM)} and later, "
                f"before {version_text(SUPPORTED_BELOW)}. Use such a server, or a release of the collection that knows "
                "this one."
            )
        return version

    def _check_credentials_on_loopback(self) -> None:
        """A server before 2.2.0 lets 127.0.0.1 in as administrator, so only a real log-in tells a wrong password.

        The log-in changes nothing on the server.
        """
        if self._connection.api_key is None:
            form = {"username": self._connection.username, "password": self._connection.password}
            self._send("POST", "/auth/login", urlencode(form), authorized=False)
            return
        try:
            self._send("GET", "/v2/users/me", authorized=False)
        except Unauthorized:
            return
        self.warnings.append(
            f"GPUStack {version_text(self.server_version)} takes every client on 127.0.0.1 for the administrator, so "
            "nothing tells whether api_key is right. Use username and password, or the server's own address, or start "
            "the server with --force-auth-localhost."
        )

    def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | str | None = None,
        authorized: bool = True,
        authorization: str | None = None,
    ) -> bytes:
        """Send until there is an answer worth having; writes are sent again only when they certainly did not arrive."""
        given = (authorization or self._authorization) if authorized else None
        for delay in (*RETRY_DELAYS_SECONDS, None):
            try:
                return self._send_once(method, path, body, given)
            except _Failure as failure:
                again = failure.never_sent or (method == "GET" and failure.passing)
                if delay is None or not again:
                    raise failure.error from failure.__cause__
                delay = max(delay, failure.retry_after_seconds)
            self._sleep(delay)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _send_once(
        self, method: str, path: str, body: Mapping[str, Any] | str | None, authorization: str | None
    ) -> bytes:
        headers = {"Accept": "application/json"}
        if authorization is not None:
            headers["Authorization"] = authorization
        data: bytes | None = None
        if isinstance(body, str):
            data = body.encode()
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        elif body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        # A log-in leaves a cookie, which GPUStack would believe more than an API key.
        self._request.cookies.clear()
        try:
            with self._request.open(method, self._base + path, data=data, headers=headers) as answer:
                content: bytes = answer.read()
                self._note_time(answer.headers)
                return content
        except HTTPError as error:
            self._note_time(error.headers)
            raise _Failure(
                self._refused(method, path, error),
                passing=error.code in RETRIED_STATUS,
                never_sent=error.code == TOO_MANY_REQUESTS,
                retry_after_seconds=_retry_after(error.headers),
            ) from error
        except (URLError, http.client.HTTPException, OSError) as error:
            raise self._unreachable(error) from error

    def _note_time(self, headers: Any) -> None:
        with contextlib.suppress(TypeError, ValueError):  # no Date, or none that can be read
            self.server_time = parsedate_to_datetime(headers["Date"])

    def _refused(self, method: str, path: str, error: HTTPError) -> GPUStackError:
        status = error.code
        message = redact(_server_message(error.read()), self._secrets)
        shown = f"{method} {path.split('?')[0]}"
        if 300 <= status < 400:
            target = mask_url(error.headers.get("Location") or "another address")
            return NotGPUStack(f"{self._base} redirects {shown} to {target}. Set server_url to where it leads.", status)
        if status == 401:
            return Unauthorized(
                f"GPUStack at {self._base} refuses the credentials, {self._who()} ({message}). {self._check()}",
                status,
            )
        if status == 403:
            return Forbidden(
                f"GPUStack refuses {shown} ({message}) to {self._who()}. This needs an administrator.", status
            )
        if status >= 500:
            return ServerError(
                f"GPUStack at {self._base} failed at {shown} with status {status}: {message}. "
                "See the server's log (docker logs of its container).",
                status,
            )
        return _ERRORS.get(status, GPUStackError)(f"GPUStack refuses {shown} with status {status}: {message}", status)

    def _who(self) -> str:
        if self._connection.api_key is not None:
            return "the API key"
        return f"the password of user {self._connection.username!r}"

    def _check(self) -> str:
        if self._connection.api_key is not None:
            return "Check on the page of API keys that it exists on this server and has not expired."
        return "Check them with a log-in to the web page of this server."

    def _unreachable(self, error: Exception) -> _Failure:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            return _Failure(
                Untrusted(
                    f"The TLS certificate of {self._base} is not trusted: {reason.verify_message}. Name the "
                    "certificate of the authority that signed it: in ca_path or, for a whole run, in the variable "
                    "SSL_CERT_FILE of the environment. Or use the name that the certificate is for."
                )
            )
        if isinstance(reason, ssl.SSLError):
            return _Failure(
                Unreachable(f"What answers at {self._base} speaks no TLS ({reason.reason}). Should it be http://?")
            )
        if isinstance(reason, (TimeoutError, socket.timeout)):
            what = f"gave no answer within {self._connection.timeout_seconds:g} seconds"
        else:
            what = f"can't be reached: {redact(str(reason) or type(reason).__name__, self._secrets)}"
        return _Failure(
            Unreachable(
                f"GPUStack at {self._base} {what}. Check server_url, that the server runs, and the network between "
                "the host this task runs on and it."
            ),
            passing=True,
            never_sent=isinstance(reason, ConnectionRefusedError),
        )

    def _json(self, content: bytes) -> Any:
        if not content:
            return None
        try:
            return json.loads(content)
        except ValueError as error:
            raise NotGPUStack(
                f"{self._base} answered with something that is not JSON. Set server_url to GPUStack's address, "
                "without a path that belongs to a web page."
            ) from error


class _Failure(Exception):
    """One failed attempt: the error to report, and whether another attempt makes sense."""

    def __init__(
        self, error: GPUStackError, passing: bool = False, never_sent: bool = False, retry_after_seconds: float = 0.0
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.passing = passing
        self.never_sent = never_sent
        self.retry_after_seconds = retry_after_seconds


def _retry_after(headers: Any) -> float:
    """The seconds that a refusal asks to wait; a date there, or nothing, counts as none."""
    text = str((headers or {}).get("Retry-After") or "")
    return min(float(text), LONGEST_RETRY_AFTER_SECONDS) if text.isdecimal() else 0.0


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        _port = parts.port  # raises where it is none
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Invalid(
            f"server_url is {mask_url(url)!r}; wanted is http(s)://host[:port], for example https://gpustack.example.com."
        )
    if "@" in parts.netloc:
        raise Invalid(f"server_url holds user or password ({mask_url(url)}). Give them as username and password.")
    return url.rstrip("/")


def _tls_context(connection: Connection) -> ssl.SSLContext:
    """One context for all requests: making one reads every certificate of the system."""
    if urlsplit(connection.server_url).scheme != "https":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # is not used, but keeps Ansible from making one a request
    try:
        context: ssl.SSLContext = make_context(cafile=connection.ca_path, validate_certs=connection.validate_certs)
    except (OSError, ssl.SSLError) as error:
        raise Invalid(
            f"ca_path {connection.ca_path} can't be used ({error}). It is a file with certificates in PEM form on the "
            "host the task runs on; copy it there first."
        ) from error
    return context


def _authorization(connection: Connection) -> str:
    if connection.api_key:
        if not _can_be_sent(connection.api_key):
            raise Invalid(
                "api_key holds a blank, a line end or a letter that is not ASCII; GPUStack's keys are letters, digits "
                "and '_'. What was read from a file usually needs | trim."
            )
        return f"Bearer {connection.api_key}"
    if connection.username and connection.password:
        pair = f"{connection.username}:{connection.password}".encode()
        return "Basic " + base64.b64encode(pair).decode()
    raise Invalid("No credentials: give api_key, or username and password (or their environment variables).")


def _can_be_sent(api_key: str) -> bool:
    """Whether it can stand in an HTTP header as one word."""
    return re.fullmatch(r"[!-~]+", api_key) is not None


def _is_loopback(url: str) -> bool:
    """Whether the server is reached over the loopback interface; Debian gives a host's own name such an address."""
    try:
        found = socket.getaddrinfo(urlsplit(url).hostname, None)
    except OSError:
        return False
    return any(ipaddress.ip_address(str(address[4][0]).partition("%")[0]).is_loopback for address in found)


def _with_query(path: str, query: Mapping[str, Any]) -> str:
    given = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in query.items()
        if value is not None
    }
    return f"{path}?{urlencode(given)}" if given else path


def _server_message(content: bytes) -> str:
    """The sentence in an error answer.

    GPUStack writes `{code, reason, message}`, FastAPI `{detail}`. Some errors of GPUStack 2.1.1 turn to OpenAI's form
    `{error: {message}}` for good as soon as an inference request has failed that way once.
    """
    text = content.decode("utf-8", errors="replace")
    try:
        answer = json.loads(text)
    except ValueError:
        return text[:200].strip() or "no explanation"
    if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
        answer = answer["error"]
    message = answer.get("message") or answer.get("detail") if isinstance(answer, dict) else answer
    entries = list(_VALIDATION_ENTRY.finditer(str(message)))
    if entries:
        return "; ".join(f"{_place(entry['where'])}: {entry['what']}" for entry in entries)
    return str(message or "no explanation").strip().rstrip(".")


def _place(where: str) -> str:
    """`'body', 'env', 'A'` → `env.A`."""
    return ".".join(part for part in re.findall(r"[^\s',]+", where) if part != "body") or "body"
