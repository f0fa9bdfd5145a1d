# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import socket
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from fake_gpustack import API_KEY, PASSWORD, FakeGPUStack, Recorded, Refusal

from ansible_collections.gpuops.gpustack.plugins.module_utils.client import Client, Connection
from ansible_collections.gpuops.gpustack.plugins.module_utils.errors import (
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
)


def client_of(fake: FakeGPUStack, **changes: Any) -> Client:
    options = {"server_url": fake.url, "username": "admin", "password": PASSWORD, **changes}
    return Client(Connection(**options), sleep=fake.advance)


def test_connect_proves_address_version_and_credentials_with_three_requests(fake: FakeGPUStack) -> None:
    client = client_of(fake)
    client.connect()
    assert [(r.method, r.path) for r in fake.requests] == [
        ("GET", "/version"),
        ("GET", "/v2/users/me"),
        ("POST", "/auth/login"),
    ]
    assert client.server_version == (2, 1, 1)
    assert client.server_time == datetime(2026, 3, 1, 9, 30, tzinfo=timezone.utc)


def test_wrong_password_is_an_error_though_the_server_trusts_this_machine(fake: FakeGPUStack) -> None:
    with pytest.raises(
        Unauthorized, match=r"refuses the credentials, the password of user 'admin' \(Incorrect username or password"
    ):
        client_of(fake, password="wrong").connect()


def test_name_of_this_machine_counts_as_this_machine(fake: FakeGPUStack) -> None:
    with pytest.raises(Unauthorized):
        client_of(fake, server_url=fake.url.replace("127.0.0.1", "localhost"), password="wrong").connect()


def test_server_that_does_not_trust_localhost_needs_no_log_in(fake: FakeGPUStack) -> None:
    fake.version, fake.trusts_localhost = "v2.3.0", False
    client_of(fake).connect()
    assert fake.counts() == {"GET": 2}
    with pytest.raises(Unauthorized, match="refuses the credentials"):
        client_of(fake, password="wrong").connect()


def test_api_key_is_sent_as_bearer(fake: FakeGPUStack) -> None:
    fake.trusts_localhost = False
    client = client_of(fake, username=None, password=None, api_key=API_KEY)
    client.connect()
    assert fake.requests[1].headers["authorization"] == f"Bearer {API_KEY}"
    assert client.warnings == []


def test_api_key_that_can_not_be_checked_is_warned_about(fake: FakeGPUStack) -> None:
    client = client_of(fake, username=None, password=None, api_key="wrong")
    client.connect()
    assert len(client.warnings) == 1
    assert "nothing tells whether api_key is right" in client.warnings[0]


@pytest.mark.parametrize("version", ["v2.1.0", "v2.4.0", "0.7.1", "dev"])
def test_unknown_version_is_refused(fake: FakeGPUStack, version: str) -> None:
    fake.version = version
    with pytest.raises(UnsupportedVersion, match=rf"runs GPUStack {version}; this collection knows 2\.1\.1 and later"):
        client_of(fake).connect()


@pytest.mark.parametrize("version", ["v2.1.1", "2.2.0", "v2.3.9"])
def test_known_version_is_accepted(fake: FakeGPUStack, version: str) -> None:
    fake.version = version
    client_of(fake).connect()


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, Invalid),
        (401, Unauthorized),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (418, GPUStackError),
        (422, Invalid),
        (500, ServerError),
    ],
)
def test_status_becomes_a_typed_error(fake: FakeGPUStack, status: int, error: type[GPUStackError]) -> None:
    fake.faults = [status]
    with pytest.raises(error, match="injected fault") as caught:
        client_of(fake).post("/v2/models", {})
    assert type(caught.value) is error
    assert caught.value.status == status


def test_body_that_fastapi_refuses_is_explained_without_the_body(fake: FakeGPUStack) -> None:
    fake.add_cluster("racks")
    body = {"name": "m", "source": "local_path", "env": {"HF_TOKEN": "hf_secret", "A": 1}}
    with pytest.raises(Invalid) as caught:
        client_of(fake).post("/v2/models", body)
    assert str(caught.value) == (
        "GPUStack refuses POST /v2/models with status 422: body: Value error, local_path must be provided; "
        "env.A: Input should be a valid string"
    )


def test_error_in_the_form_of_openai_is_understood(fake: FakeGPUStack) -> None:
    fake.openai_errors = True
    with pytest.raises(NotFound, match=r"GPUStack refuses GET /v2/models/7 with status 404: Model not found$"):
        client_of(fake).get("/v2/models/7")


@pytest.mark.parametrize("faults", [["cut"], [502], [503, 504], ["cut", "cut", 502]])
def test_reading_is_tried_again_with_longer_and_longer_pauses(fake: FakeGPUStack, faults: list[Any]) -> None:
    fake.faults = list(faults)
    assert client_of(fake).get("/v2/users/me")["username"] == "admin"
    assert len(fake.requests) == len(faults) + 1
    assert (fake.now - datetime(2026, 3, 1, 9, 30, tzinfo=timezone.utc)).total_seconds() == [0, 1, 3, 7][len(faults)]


def test_reading_gives_up_after_four_attempts(fake: FakeGPUStack) -> None:
    fake.faults = [503] * 9
    with pytest.raises(ServerError, match="status 503"):
        client_of(fake).get("/v2/users/me")
    assert len(fake.requests) == 4


@pytest.mark.parametrize("fault", ["cut", 503])
def test_write_that_may_have_arrived_is_not_sent_again(fake: FakeGPUStack, fault: Any) -> None:
    fake.faults = [fault]
    with pytest.raises(GPUStackError):
        client_of(fake).put("/v2/models/1", {})
    assert len(fake.requests) == 1


def test_write_that_was_refused_before_it_was_sent_is_tried_again() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        pauses: list[float] = []
        client = Client(Connection(url, username="admin", password="x"), sleep=pauses.append)
        with pytest.raises(Unreachable, match=rf"GPUStack at {url} can't be reached: .*refused.*Check server_url"):
            client.post("/v2/models", {})
    assert pauses == [1.0, 2.0, 4.0]


def test_https_where_http_is_spoken_is_said_so(fake: FakeGPUStack) -> None:
    client = Client(Connection(fake.url.replace("http://", "https://"), api_key="k"), sleep=lambda seconds: None)
    with pytest.raises(Unreachable, match=r"speaks no TLS \(\w+\)\. Should it be http://\?"):
        client.version()


def test_server_that_does_not_answer_is_told_with_the_time_waited() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        client = Client(Connection(url, api_key="k", timeout_seconds=0.05), sleep=lambda seconds: None)
        with pytest.raises(Unreachable, match=r"gave no answer within 0.05 seconds"):
            client.version()


def test_listing_goes_over_all_pages(fake: FakeGPUStack) -> None:
    fake.page_size_limit = 2
    for number in range(5):
        fake.add_cluster(f"c{number}")
    assert [item["name"] for item in client_of(fake).listing("/v2/clusters")] == ["c0", "c1", "c2", "c3", "c4"]
    assert [r.query["page"] for r in fake.requests] == ["1", "2", "3"]


def test_item_that_moves_to_the_next_page_meanwhile_comes_once(fake: FakeGPUStack) -> None:
    fake.page_size_limit = 2
    for number in range(3):
        fake.add_cluster(f"c{number}")
    listing = client_of(fake).listing("/v2/clusters")
    names = [next(listing)["name"], next(listing)["name"]]
    fake.clusters = {0: {**fake.clusters[1], "id": 99, "name": "new"}, **fake.clusters}
    names += [item["name"] for item in listing]
    assert sorted(names) == ["c0", "c1", "c2", "new"]


def test_item_that_moves_to_a_page_that_was_read_is_not_lost(fake: FakeGPUStack) -> None:
    fake.page_size_limit = 2
    for number in range(4):
        fake.add_cluster(f"c{number}")
    listing = client_of(fake).listing("/v2/clusters")
    names = [next(listing)["name"], next(listing)["name"]]
    del fake.clusters[1]
    names += [item["name"] for item in listing]
    assert names == ["c0", "c1", "c3", "c2"]


@pytest.mark.parametrize("method", ["get", "put"])
def test_request_that_comes_too_soon_is_sent_again_when_the_refusal_says(fake: FakeGPUStack, method: str) -> None:
    fake.add_cluster("c0")
    fake.faults, fake.retry_after = [429], "9"
    waited: list[float] = []
    client = Client(Connection(fake.url, username="admin", password=PASSWORD), sleep=waited.append)
    arguments = [{"name": "c0", "description": "new"}] if method == "put" else []
    assert getattr(client, method)("/v2/clusters/1", *arguments)["name"] == "c0"
    assert waited == [9.0]


@pytest.mark.parametrize(("told", "seconds"), [("86400", 60.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 1.0), (None, 1.0)])
def test_wait_that_a_refusal_asks_for_has_a_limit(fake: FakeGPUStack, told: str | None, seconds: float) -> None:
    fake.faults, fake.retry_after = [429], told
    waited: list[float] = []
    Client(Connection(fake.url, username="admin", password=PASSWORD), sleep=waited.append).version()
    assert waited == [seconds]


def test_empty_listing_is_one_request(fake: FakeGPUStack) -> None:
    assert list(client_of(fake).listing("/v2/models", search="x", cluster_id=None)) == []
    assert [r.query for r in fake.requests] == [{"search": "x", "page": "1", "perPage": "10000"}]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("gpustack.example.com", "server_url is 'gpustack.example.com'; wanted is http"),
        ("ftp://host", "wanted is http"),
        ("http://[::1", r"server_url is 'http://\[::1'; wanted is http"),
        ("http://host:port", "wanted is http"),
        ("http://admin:secret@host", r"server_url holds user or password \(http://host\)"),
    ],
)
def test_address_that_makes_no_sense_is_refused_without_its_secrets(url: str, message: str) -> None:
    with pytest.raises(Invalid, match=message) as caught:
        Client(Connection(url, api_key="k"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["gpustack_1_2\n", "gpustack 1", "schlüssel"])
def test_api_key_that_no_header_can_hold_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(Invalid, match="api_key holds a blank, a line end or a letter") as caught:
        Client(Connection("http://host", api_key=key))
    assert key.strip() not in str(caught.value)


def test_missing_credentials_are_refused() -> None:
    with pytest.raises(Invalid, match="give api_key, or username and password"):
        Client(Connection("http://host", username="admin"))


def test_certificate_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"ca_path .*ca.pem can't be used"):
        Client(Connection("https://host", api_key="k", ca_path=str(tmp_path / "ca.pem")))


def test_something_else_that_answers_is_recognised(fake: FakeGPUStack) -> None:
    fake.logs["m"] = "plain text"
    fake.add_model("m", source="local_path", local_path="/m")
    client = client_of(fake)
    with pytest.raises(NotGPUStack, match="not JSON"):
        client.get("/v2/model-instances/4/logs", tail=1)
    with pytest.raises(NotGPUStack, match="answered without a list"):
        list(client.listing("/version"))


def test_redirect_is_not_followed_but_told(fake: FakeGPUStack) -> None:
    fake.faults = [301]
    with pytest.raises(NotGPUStack, match=r"redirects POST /v2/models to another address. Set server_url"):
        client_of(fake).post("/v2/models", {})


def test_secret_that_the_server_repeats_is_masked(fake: FakeGPUStack, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_fake: FakeGPUStack, _request: Recorded) -> None:
        raise Refusal(400, "BadRequest", f"can't log in to http://u:p@host with {PASSWORD}")

    monkeypatch.setattr(FakeGPUStack, "answer", refuse)
    with pytest.raises(Invalid, match=r"can't log in to http://host with \*{8}$"):
        client_of(fake).post("/v2/models", {})


def test_session_of_a_log_in_is_not_kept(fake: FakeGPUStack) -> None:
    fake.trusts_localhost = False
    client = client_of(fake)
    client.connect()
    assert client.is_password("admin", PASSWORD) is True
    assert client.is_password("admin", "wrong") is False
    assert (client.is_api_key(API_KEY), client.is_api_key("gpustack_1_2")) == (True, False)
    assert [request.path for request in fake.requests if "cookie" in request.headers] == []
