# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.masking import (
    mask_change,
    mask_fields,
    mask_mapping,
    mask_parameters,
    mask_url,
    redact,
    secrets_of,
)
from ansible_collections.gpuops.gpustack.plugins.module_utils.planning.mask import is_secret_name, masked, shown


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "huggingface_token", "OPENAI_API_KEY", "APIKEY", "AWS_SECRET_ACCESS_KEY", "--api-key", "DB_PASSWORD"],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "VLLM_MAX_TOKENS",
        "--max-num-batched-tokens",
        "--tokenizer",
        "KEYBOARD",
        "MONKEY",
        "PASSWORDLESS",
        "NCCL_DEBUG",
        "--long-prefill-token-threshold",
        "--dbo-decode-token-threshold",
        "--return-tokens-as-token-ids",
    ],
)
def test_names_that_only_look_like_it(name: str) -> None:
    assert not is_secret_name(name)


def test_mapping_keeps_what_is_unset_visible() -> None:
    values = {"HF_TOKEN": "x", "A_KEY": "", "B_KEY": None, "C": "x"}
    assert mask_mapping(values) == {"HF_TOKEN": "********", "A_KEY": "", "B_KEY": None, "C": "x"}
    assert mask_mapping(None) is None


def test_commands_and_parameters_without_the_password_of_a_url() -> None:
    fields = {
        "run_command": "serve {{model_path}} --api-key sk-0123456789 --proxy http://kim:s3cr3t-pw@proxy:3128",
        "entrypoint": "env 'HF_TOKEN' vllm",
        "backend_parameters": ["--proxy=http://kim:other-pw@proxy:3128"],
        "env": {"HTTPS_PROXY": "http://kim:third-pw@proxy:3128"},
    }
    assert mask_fields(fields) == {
        "run_command": "serve {{model_path}} --api-key ******** --proxy http://********@proxy:3128",
        "entrypoint": "env 'HF_TOKEN' vllm",
        "backend_parameters": ["--proxy=http://********@proxy:3128"],
        "env": {"HTTPS_PROXY": "http://********@proxy:3128"},
    }
    passwords = {"s3cr3t-pw", "other-pw", "third-pw"}
    assert secrets_of(fields) == {"sk-0123456789", *passwords, *(f"kim:{password}" for password in passwords)}


def test_command_of_which_only_the_secret_changed_is_seen_to_change() -> None:
    before, after = mask_change({"run_command": "serve --api-key=a"}, {"run_command": "serve --api-key=b"})
    assert (before, after) == (
        {"run_command": "serve --api-key=********"},
        {"run_command": "serve --api-key=******** (changed)"},
    )


def test_parameters_in_every_spelling() -> None:
    given = ["--api-key=abc", "--hf-token abc", "--api-key", "abc", "--api-key", "--enforce-eager", "--a=b=c", "x"]
    assert mask_parameters(given) == [
        "--api-key=********",
        "--hf-token ********",
        "--api-key",
        "********",
        "--api-key",
        "--enforce-eager",
        "--a=b=c",
        "x",
    ]


def test_secrets_of_a_model_are_those_long_enough_to_look_for() -> None:
    model = {
        "env": {"HF_TOKEN": "hf_abcdefgh", "SHORT_KEY": "1", "PLAIN": "not a secret"},
        "backend_parameters": ["--api-key=sk-abcdefgh", "--hf-token hf_ijklmnop", "--api-key", "sk-qrstuvwx", "--x=y"],
    }
    assert secrets_of(model) == {"hf_abcdefgh", "sk-abcdefgh", "hf_ijklmnop", "sk-qrstuvwx"}


def test_changed_secret_is_marked_and_a_kept_one_not() -> None:
    before = {"env": {"A_KEY": "1", "B_KEY": "1"}, "backend_parameters": ["--api-key=1"]}
    after = {"env": {"A_KEY": "2", "B_KEY": "1", "C_KEY": "1"}, "backend_parameters": ["--api-key=2"]}
    shown_before, shown_after = mask_change(before, after)
    assert shown_before == {
        "env": {"A_KEY": "********", "B_KEY": "********"},
        "backend_parameters": ["--api-key=********"],
    }
    assert shown_after == {
        "env": {"A_KEY": "******** (changed)", "B_KEY": "********", "C_KEY": "********"},
        "backend_parameters": ["--api-key=********", "******** (changed)"],
    }


def test_text_is_redacted_longest_secret_first() -> None:
    text = "GET http://user:pw@host/x?y with secret-long and secret"
    assert redact(text, {"secret", "secret-long", "x"}) == "GET http://host/x?y with ******** and ********"


def test_url_without_user_stays() -> None:
    assert mask_url("see https://host:8443/a@b") == "see https://host:8443/a@b"


@pytest.mark.parametrize("name", ["DB_PASSPHRASE", "OPENAI_APIKEY", "MY_SECRET_VALUE"])
def test_planner_and_modules_agree_on_what_is_a_secret(name: str) -> None:
    assert shown(name, "hunter2-hunter2") == "********"
    assert mask_mapping({name: "hunter2-hunter2"}) == {name: "********"}
    assert masked(f"--{name.lower()} hunter2-hunter2") == f"--{name.lower()} ********"


def test_flag_that_counts_tokens_does_not_swallow_the_secret_behind_it() -> None:
    text = "--return-tokens-as-token-ids --hf-token hunter2-hunter2"
    assert masked(text) == "--return-tokens-as-token-ids --hf-token ********"


def test_user_and_password_in_an_address_are_masked_and_their_change_is_seen() -> None:
    old = {"env": {"HTTP_PROXY": "http://user:word@proxy:3128", "LEVEL": "1"}}
    new = {"env": {"HTTP_PROXY": "http://user:other@proxy:3128", "LEVEL": "2"}}
    assert mask_change(old, new) == (
        {"env": {"HTTP_PROXY": "http://********@proxy:3128", "LEVEL": "1"}},
        {"env": {"HTTP_PROXY": "http://********@proxy:3128 (changed)", "LEVEL": "2"}},
    )


def test_roles_of_a_model_have_secrets_of_their_own() -> None:
    role = {"name": "prefill", "env": {"HF_TOKEN": "hf_of_prefill"}, "backend_parameters": ["--api-key=sk-prefill"]}
    model = {"name": "split", "roles": [role, {"name": "decode", "env": None}]}
    masked = {"name": "prefill", "env": {"HF_TOKEN": "********"}, "backend_parameters": ["--api-key=********"]}
    assert mask_fields(model) == {"name": "split", "roles": [masked, {"name": "decode", "env": None}]}
    assert secrets_of(model) == {"hf_of_prefill", "sk-prefill"}
