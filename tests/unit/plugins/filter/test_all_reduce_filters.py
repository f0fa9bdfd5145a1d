# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter import all_reduce_layout, all_reduce_result

layout = all_reduce_layout.FilterModule().filters()["all_reduce_layout"]
result = all_reduce_result.FilterModule().filters()["all_reduce_result"]


def test_layout_and_result():
    assert layout({"a": "2", "b": 2})["b"] == {"first_rank": 2, "gpus": 2, "ranks": 4}
    answer = result({"a": {"rc": 1, "timed_out": False, "seconds": 1, "output": ""}}, {"a": 2})
    assert answer["text"] == "All-reduce over 2 GPUs of a"
    assert [one["code"] for one in answer["problems"]] == ["all_reduce_fails"]


@pytest.mark.parametrize(
    ("function", "arguments"), [(layout, [["a"]]), (layout, [{"a": "x"}]), (result, [{"a": {}}, {"a": 1}])]
)
def test_wrong_input_is_one_clear_error(function, arguments):
    with pytest.raises(AnsibleFilterError, match="by host"):
        function(*arguments)
