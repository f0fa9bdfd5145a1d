# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from dataclasses import fields

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter import container_engine_plan
from ansible_collections.gpuops.gpustack.plugins.module_utils.container_engine import Settings

plan = container_engine_plan.FilterModule().filters()["container_engine_plan"]
DEBIAN = {"id": "debian", "version": "12"}


def test_the_plan_of_a_host():
    assert plan({}, DEBIAN)["outdated"] == ["docker.io", "iptables", "python3-requests"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["text", DEBIAN], "a str was given, a dictionary is wanted"),
        ([{}, {}], "See the filter's documentation"),
        ([{"source": "snap"}, DEBIAN], "source is 'snap'"),
    ],
)
def test_wrong_input_is_one_clear_error(arguments, message):
    with pytest.raises(AnsibleFilterError, match=message):
        plan(*arguments)


def test_the_documented_settings_are_those_that_are_taken(request):
    sidecar = yaml.safe_load((request.config.rootpath / "plugins/filter/container_engine_plan.yml").read_text())
    options = sidecar["DOCUMENTATION"]["options"]["_input"]["suboptions"]
    assert list(options) == [field.name for field in fields(Settings)]
