# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.filter.drift import drift


def test_result_and_table_come_together() -> None:
    result = drift([{"name": "chat", "local_path": "/m"}], [], {})
    assert result["drifted"]
    assert result["text"].splitlines()[0] == "Drift: 1 of 1 declared model"


@pytest.mark.parametrize(
    ("declarations", "models", "message"),
    [
        ([{"name": "1st"}], [], r"drift: name is '1st'"),
        ([{"name": "chat"}, {"name": "chat"}], [], r"drift: Model 'chat' is declared twice"),
        ([], [{"name": "chat"}], "Wanted are the options of the module model"),
        (None, [], "Wanted are the options of the module model"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(declarations: object, models: object, message: str) -> None:
    with pytest.raises(AnsibleFilterError, match=message):
        drift(declarations, models, {})
