# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An inventory as Ansible reads it, to what is said about it."""

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils import inventory
from ansible_collections.gpuops.gpustack.plugins.module_utils.preflight import problems_of

SPECIFICATIONS = {
    "server": {"argument_specs": {"main": {"options": {"gpustack_server_url": {"required": True}}}}},
    "worker": {
        "argument_specs": {
            "main": {
                "options": {
                    "gpustack_worker_ip": {"required": True},
                    "gpustack_worker_image": {"default": "image"},
                    "gpustack_worker_registry": {"default": ""},
                }
            },
            "other": {},
        }
    },
}
TEXTS = [
    "name: '{{ gpustack_server_url }}/{{ gpustack_worker_ip }}'",
    "- gpustack_worker_image\n- gpustack_worker_registry",
]
INTERFACE = inventory.interface_of(
    [*TEXTS, "set_fact: {gpustack_worker_declared: {}, _gpustack_private: 1}"], SPECIFICATIONS
)


def found(changes=None, groups=None, hosts=("a", "b")):
    """What is said about two workers with these variables beside the required ones."""
    groups = groups if groups is not None else {"gpustack_workers": list(hosts), "all": list(hosts)}
    variables = {
        host: {
            "gpustack_server_url": "http://10.0.0.1",
            "gpustack_worker_ip": "10.0.0.2",
            **(changes or {}).get(host, {}),
        }
        for host in (*hosts, "localhost")
    }
    facts = inventory.facts(groups, variables, INTERFACE)
    problems = problems_of({"hosts": {}, "inventory": facts}, needs=["inventory"])
    return [(problem["code"], problem["hosts"], problem["found"], problem["wanted"]) for problem in problems]


def test_an_inventory_with_nothing_wrong():
    assert found({"a": {"gpustack_worker_image": "x", "other_prefix": 1, "gpustack_worker_declared": {}}}) == []


def test_a_misspelt_variable_is_named_with_the_nearest_one():
    assert found({"a": {"gpustack_worker_imgae": "x"}}) == [
        ("variable_misspelt", ["a"], "nobody reads gpustack_worker_imgae", "did you mean gpustack_worker_image?")
    ]


def test_a_variable_that_all_hosts_have_is_the_fleets():
    everywhere = {host: {"gpustack_worker_imgae": "x"} for host in ("a", "b", "localhost")}
    ((code, hosts, _found, _wanted),) = found(everywhere)
    assert (code, hosts) == ("variable_misspelt", [])


def test_a_variable_that_is_like_no_other_is_only_a_warning():
    ((code, _hosts, said, _wanted),) = found({"a": {"gpustack_colour": "red"}})
    assert (code, said) == ("variable_unread", "nobody reads gpustack_colour")


def test_a_private_name_is_nobodys_option():
    assert [code for code, *_rest in found({"a": {"gpustack_private": 1}})] == ["variable_unread"]


def test_a_variable_that_another_variable_reads_is_read():
    nested = {"gpustack_site_registry": "r", "gpustack_worker_registry": ["{{ gpustack_site_registry }}"]}
    assert found({"a": nested}) == []


def test_facts_do_not_count_as_readers():
    ((code, *_rest),) = found({"a": {"gpustack_colour": "red", "ansible_facts": {"text": "gpustack_colour"}}})
    assert code == "variable_unread"


@pytest.mark.parametrize(
    ("groups", "code", "said"),
    [
        ({}, "inventory_empty", "no host but the controller itself"),
        ({"all": ["localhost"], "ungrouped": ["localhost"]}, "inventory_empty", "no host but the controller itself"),
        ({"gpu_hosts": ["a"], "all": ["a"]}, "workers_missing", "no group gpustack_workers; there are gpu_hosts"),
        (
            {"gpustack_workers": [], "x": ["a"]},
            "workers_missing",
            "the group gpustack_workers has no hosts; there are gpustack_workers, x",
        ),
        ({"ungrouped": ["a"]}, "workers_missing", "no group gpustack_workers; there are no groups"),
    ],
)
def test_groups(groups, code, said):
    assert [(each, text) for each, _hosts, text, _wanted in found(groups=groups)] == [(code, said)]


def test_a_misspelt_group_is_named_in_the_remedy():
    facts = inventory.facts({"gpustack_worker": ["a"]}, {"a": {}}, INTERFACE)
    (problem,) = problems_of({"hosts": {}, "inventory": facts}, needs=["inventory"])
    assert problem["remedy"] == "Rename the group gpustack_worker to gpustack_workers."


def test_the_servers_are_no_misspelt_workers():
    facts = inventory.facts({"gpustack_servers": ["a"]}, {"a": {}}, INTERFACE)
    remedies = [problem["remedy"] for problem in problems_of({"hosts": {}, "inventory": facts}, needs=["inventory"])]
    assert remedies[0] == "Put the hosts with GPUs into the group gpustack_workers."


def test_a_worker_needs_what_its_role_and_the_servers_require():
    facts = inventory.facts(
        {"gpustack_workers": ["a"], "gpustack_servers": ["s"]}, {"a": {"gpustack_server_url": "u"}, "s": {}}, INTERFACE
    )
    assert facts["missing"] == {"gpustack_server_url": ["s"], "gpustack_worker_ip": ["a"]}
    problems = problems_of({"hosts": {}, "inventory": facts}, needs=["inventory"])
    assert [(problem["code"], problem["hosts"], problem["found"]) for problem in problems] == [
        ("required_variable_missing", ["s"], "gpustack_server_url is not set"),
        ("required_variable_missing", ["a"], "gpustack_worker_ip is not set"),
    ]


@pytest.mark.parametrize(
    ("name", "value", "is_one"),
    [
        ("ansible_host", "192.0.2.11", True),
        ("gpustack_worker_ip", "203.0.113.7", True),
        ("vault_password", "CHANGE-ME", True),
        ("ansible_host", "10.1.2.3", False),
        ("ansible_host", "gpu-1.example.org", False),
        ("gpustack_worker_image", "192.0.2.11", False),
        ("ansible_host", 5, False),
        ("motd", "do not CHANGE-ME", False),
    ],
)
def test_values_of_the_example(name, value, is_one):
    expected = [
        (
            "placeholder_left",
            ["a"],
            f"{name} still has the values of inventories/example",
            "the values of your fleet",
        )
    ]
    assert found({"a": {name: value}}) == (expected if is_one else [])


def test_all_values_of_the_example_are_one_problem():
    ((_code, hosts, said, _wanted),) = found(
        {"a": {"ansible_host": "192.0.2.1", "vault_password": "CHANGE-ME"}, "b": {"ansible_host": "192.0.2.2"}}
    )
    assert (hosts, said) == ([], "ansible_host and vault_password still have the values of inventories/example")


class Encrypted:
    """What Ansible has for a value that it could not decrypt."""

    def __str__(self):
        raise ValueError("no secret")


@pytest.mark.parametrize("value", [Encrypted(), ["x", Encrypted()], {"nested": {"key": Encrypted()}}])
def test_a_value_that_no_password_decrypts(value):
    ((code, hosts, said, _wanted),) = found({"a": {"vault_password": value}})
    assert (code, hosts) == ("value_encrypted", ["a"])
    assert said == "vault_password is encrypted, and no password that was given decrypts it"


@pytest.mark.parametrize(
    ("requirement", "code", "said"),
    [
        ({"name": "ansible-core", "found": "2.18.1", "satisfied": True}, None, None),
        (
            {"name": "ansible-core", "found": "2.17.9", "satisfied": False},
            "ansible_core_unsupported",
            "ansible-core 2.17.9 runs this",
        ),
        (
            {"name": "community.docker", "found": None, "satisfied": False},
            "collection_missing",
            "the collection community.docker is not installed",
        ),
        (
            {"name": "community.docker", "found": "3.9.0", "satisfied": False},
            "collection_missing",
            "the collection community.docker 3.9.0 is too old",
        ),
    ],
)
def test_what_the_controller_lacks(requirement, code, said):
    facts = {"groups": {"gpustack_workers": ["a"]}, "controller": [{"wanted": ">=4.0.0", **requirement}]}
    problems = problems_of({"hosts": {}, "inventory": facts}, needs=["inventory"])
    assert [(problem["code"], problem["found"]) for problem in problems] == ([(code, said)] if code else [])
    assert all(problem["wanted"] == f"{requirement['name']} >=4.0.0" for problem in problems)
