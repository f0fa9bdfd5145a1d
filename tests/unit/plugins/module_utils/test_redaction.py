# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import base64
import random
import secrets
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.gpustack.plugins.module_utils.redaction import (
    looks_like_a_key,
    pseudonymise,
    pseudonyms,
    redact_text,
)

HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("HF_TOKEN=hunter2x", "hunter2x"),
        ("token: abcd1234", "abcd1234"),
        ('{"password": "correct horse"}', "correct horse"),
        ("{'api_key': 'abcd'}", "abcd"),
        ("--api-key=sesame --port=1", "sesame"),
        ("--hf-token sesame", "sesame"),
        ("postgresql://gpustack:hunter2@db:5432/x", "hunter2"),
        ("Authorization: Bearer abc.def-123", "abc.def-123"),
        ("curl -H 'authorization: basic dXNlcjpwYXNz'", "dXNlcjpwYXNz"),
        ("sent bearer q1w2e3r4t5", "q1w2e3r4t5"),
        ("Cookie: gpustack_session=abcdef", "abcdef"),
        ('{"auths": {"registry.example.org": {"auth": "dXNlcjpwYXNz"}}}', "dXNlcjpwYXNz"),
        ("key gpustack_0123456789abcdef_0123456789abcdef0123456789abcdef used", "0123456789abcdef"),
        ("hf_AbCdEfGhIjKlMnOpQrSt", "hf_AbCd"),
        ("sk-proj-aaaabbbbccccdddd", "aaaabbbb"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig", "eyJhbGciOiJIUzI1NiJ9"),
        (f"leaked {HEX} here", HEX),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\naC1rZXk=\n-----END OPENSSH PRIVATE KEY-----", "b3BlbnNz"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEcut", "MIIEcut"),
        ("mail to jane.doe@example.org", "jane.doe"),
        ("usb: password=hunter2x", "hunter2x"),
        ("kernel: usb: note: token=hunter2x", "hunter2x"),
        ('message="password=hunter2x"', "hunter2x"),
        ("line='login: secret=hunter2x, again'", "hunter2x"),
    ],
)
def test_secret_is_gone(text: str, secret: str) -> None:
    assert secret not in redact_text(text)
    assert redact_text(text) != ""


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens=16 token_count: 12 num_tokens=4096",
        "HF_TOKEN=None token: null",
        "Loading /var/lib/models/Qwen2.5-14B-Instruct/model-00001-of-00008.safetensors",
        "qwen2.5-14b-instruct-x1Y2z-run-0 gpu-worker-a-172-30-0-11",
        "GPU-5c0f9e1a-7d42-4b3e-9a61-3b8e2f0d1c01",
        "172.30.0.2:5000/gpustack/gpustack@sha256:" + "a1" * 32,
        "--distributed-executor-backend=ray --tensor-parallel-size=4 VLLM_ALLOW_LONG_MAX_MODEL_LEN=1",
        "VLLM_ALLOW_LONG_MAX_MODEL_LEN_AND_MANY_OTHER_THINGS_2",
        "(EngineCore_DP0 pid=214) ERROR 03-18 09:20:01 [torch_tensor_accelerator_channel.py:643] AttributeError",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text) == text


def test_given_secrets_are_gone_wherever_they_are() -> None:
    assert redact_text("the word is swordfish.", ["swordfish"]) == "the word is ********."


def test_nearly_all_random_keys_look_like_keys() -> None:
    draw = random.Random(7)
    alphabets = [string.ascii_letters + string.digits, string.ascii_lowercase + string.digits, "0123456789abcdef"]
    for alphabet in alphabets:
        keys = ["".join(draw.choices(alphabet, k=32)) for _ in range(1000)]
        assert sum(map(looks_like_a_key, keys)) > 970
    encoded = [base64.b64encode(draw.randbytes(32)).decode() for _ in range(1000)]
    assert sum(map(looks_like_a_key, encoded)) > 990
    assert looks_like_a_key("A" + secrets.token_hex(64))


@given(st.text())
def test_no_text_makes_it_raise_and_twice_is_once(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once


def test_hosts_and_addresses_get_one_name_wherever_they_are() -> None:
    texts = ["gpu-worker-a (172.30.0.11) lost 172.30.0.10", "gpu-worker-a-2 via 172.30.0.11:10150 and 127.0.0.1"]
    names = pseudonyms(["gpu-worker-a"], texts)
    assert pseudonymise(texts[0], names) == "host-1 (ip-1) lost ip-2"
    assert pseudonymise(texts[1], names) == "gpu-worker-a-2 via ip-1:10150 and 127.0.0.1"
