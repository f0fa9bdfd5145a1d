# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""TLS, credentials, and what of them can be seen."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
import os
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from api_server import PASSWORD, PROJECT, ApiServer
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from fault_proxy import FaultProxy

Call = Callable[..., dict[str, Any]]


def certificate(
    name: str, issuer: tuple[x509.Name, ec.EllipticCurvePrivateKey] | None = None
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """A certificate for 127.0.0.1, signed by the issuer, or an authority that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0] if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
    )
    return builder.sign(issuer[1] if issuer else key, hashes.SHA256()), key


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """The file with a private authority's certificate, and a server's side of TLS that it vouches for."""
    directory = tmp_path_factory.mktemp("tls")
    root, root_key = certificate("Private Authority")
    leaf, leaf_key = certificate("gpustack", (root.subject, root_key))
    (directory / "ca.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))
    private = leaf_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (directory / "server.pem").write_bytes(private + leaf.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "server.pem")
    return directory / "ca.pem", context


@pytest.fixture
def tls(server: ApiServer, authority: tuple[Path, ssl.SSLContext]) -> Iterator[FaultProxy]:
    with FaultProxy(server.url, authority[1]) as proxy:
        yield proxy


def test_server_of_a_private_authority_is_trusted_by_ca_path(
    tls: FaultProxy, authority: tuple[Path, ssl.SSLContext], call: Call
) -> None:
    assert call("user_info", server_url=tls.url, ca_path=str(authority[0]))["users"][0]["name"] == "admin"


def test_server_that_nobody_vouches_for_gets_no_credentials(tls: FaultProxy, call: Call) -> None:
    answer = call("user_info", server_url=tls.url)
    assert (answer["error"], answer["status"]) == ("Untrusted", None)
    assert "is not trusted: unable to get local issuer certificate. Name the certificate of" in answer["msg"]
    assert tls.passed == []


def test_wrong_password_is_told_from_an_unreachable_server(call: Call) -> None:
    answer = call("user_info", password="Wrong_Horse1")
    assert (answer["error"], answer["status"]) == ("Unauthorized", 401)


SECRETS = {
    "admin_password": PASSWORD,
    "user_password": "Looking_Glass1",
    "wrong_password": "lookingglass-nocapital",
    "hf_token": "hf_QwErTyUiOpAsDfGhJk",
    "registry_password": "r3g1stry-s3cr3t-0815",
    "engine_key": "sk-engine-0123456789abcdef",
    "proxy_password": "pr0xy-w0rd",
}
SECRETIVE: dict[str, Any] = {
    "name": "secretive",
    "cluster": "racks",
    "local_path": "/m",
    "replicas": 0,
    "env": {"HF_TOKEN": "{{ hf_token }}", "HTTP_PROXY": "http://user:{{ proxy_password }}@proxy:3128"},
    "backend_parameters": ["--api-token={{ engine_key }}"],
}
TASKS: list[dict[str, Any]] = [
    {"api_key": {"name": "secretive", "state": "absent"}},
    {"user": {"name": "secretive", "user_password": "{{ user_password }}"}},
    {"user": {"name": "secretive2", "user_password": "{{ wrong_password }}"}, "ignore_errors": True},
    {"cluster": {"name": "secretive", "worker_config": {"huggingface_token": "{{ hf_token }}"}}},
    {"cluster": {"name": "secretive", "worker_config": {"huggingface_token": "{{ hf_token }}", "debug": True}}},
    {
        "backend_version": {
            "name": "1-secretive-custom",
            "image_name": "x",
            "env": {"REGISTRY_PASSWORD": "{{ registry_password }}"},
        }
    },
    {"backend_version_info": {}},
    {"model": {**SECRETIVE, "wait": False}},
    {"model_info": {}},
    {"models": {"models": [{**SECRETIVE, "description": "In one call"}]}},
    {
        "models": {
            "models": [
                {**SECRETIVE, "env": {"HF_TOKEN": "{{ engine_key }}"}},
                {**SECRETIVE, "name": "secretive2", "backend_parameters": ["--api-token={{ engine_key }}", "--port=1"]},
            ],
        },
        "ignore_errors": True,
    },
    {"models": {"models": [SECRETIVE, {**SECRETIVE, "replicas": "none"}]}, "ignore_errors": True},
    {"models": {"models": [SECRETIVE, SECRETIVE]}, "ignore_errors": True},
    {"model_route": {"name": "secretive-route", "targets": [{"model": "secretive"}]}},
    {"model_route": {"name": "secretive-route", "state": "absent"}},
    {"worker_info": {}},
    {"cluster_info": {}},
    {"api_key": {"name": "secretive", "path": "{{ key_path }}"}},
    {"api_key": {"name": "secretive", "path": "{{ key_path }}"}},
    {"user": {"name": "secretive", "username": "nobody", "password": "{{ wrong_password }}"}, "ignore_errors": True},
    {"model": {"name": "secretive", "state": "absent", "wait": False}},
    {"backend_version": {"name": "1-secretive-custom", "state": "absent"}},
    {"cluster": {"name": "secretive", "state": "absent"}},
    {"user": {"name": "secretive", "state": "absent"}},
]


@pytest.mark.usefixtures("cluster")
def test_secrets_are_in_no_output_however_much_ansible_tells(proxy: FaultProxy, tmp_path: Path) -> None:
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "module_defaults": {
            "group/gpuops.gpustack.gpustack": {
                "server_url": proxy.url,
                "username": "admin",
                "password": "{{ admin_password }}",
            }
        },
        "tasks": [
            {f"gpuops.gpustack.{name}" if name != "ignore_errors" else name: value for name, value in task.items()}
            for task in TASKS
        ],
    }
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    (tmp_path / "secrets.yml").write_text(json.dumps({**SECRETS, "key_path": str(tmp_path / "key")}))
    environment = {
        **os.environ,
        "ANSIBLE_LOG_PATH": str(tmp_path / "log"),
        "ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"),
    }
    command = ["ansible-playbook", "-vvv", "--diff", "-e", f"@{tmp_path}/secrets.yml", str(tmp_path / "play.yml")]
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr + (tmp_path / "log").read_text()
    assert done.returncode == 0, output[-3000:]
    assert "failed=0" in output
    secrets = {**SECRETS, "key": (tmp_path / "key").read_text().strip()}
    secrets["basic"] = base64.b64encode(f"admin:{PASSWORD}".encode()).decode()
    assert {name for name, secret in secrets.items() if secret in output} == set()
