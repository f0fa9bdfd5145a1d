# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each staged fault is the first thing that the doctor names, and a healthy fleet gives nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from doctor_faults import FAULTS, Fault, doctor, fleet_as_declared, now, untrusted_server


@pytest.fixture(scope="module", autouse=True)
def fixture_fleet() -> Iterator[None]:
    yield
    fleet_as_declared()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_staged_cause_is_the_first_finding(fault: Fault, tmp_path: Path) -> None:
    since = now()
    with fault.staged():
        run, result = doctor(tmp_path, *fault.arguments, since=since)
    assert run.returncode == 2, run.stdout[-3000:]
    assert result["exit_code"] == 1
    first = result["findings"][0]
    assert first["code"] == fault.code, [(one["code"], one["hosts"], one["found"]) for one in result["findings"]]
    assert not fault.hosts or first["hosts"] == fault.hosts
    assert fault.found in first["found"]
    assert first["remedy"]
    assert "Traceback" not in run.stdout + run.stderr


def test_certificate_that_nobody_trusts(tmp_path: Path) -> None:
    with untrusted_server(tmp_path) as url:
        _run, result = doctor(tmp_path, "--extra-vars", f"gpustack_server_url={url}", since=now())
    first = result["findings"][0]
    assert first["code"] == "server_untrusted"
    assert "certificate" in first["found"]


def test_healthy_fleet_gives_nothing(tmp_path: Path) -> None:
    fleet_as_declared()
    run, result = doctor(tmp_path, since=now())
    assert (run.returncode, result["exit_code"], result["findings"]) == (0, 0, [])
