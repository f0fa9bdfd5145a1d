# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from module_runner import fake_command, run_module

from ansible_collections.gpuops.gpustack.plugins.modules import package_holds

PATTERNS = {"patterns": ["*nvidia*", "libcuda1"]}


@pytest.fixture(name="host")
def fixture_host(tmp_path, monkeypatch):
    """A host whose dpkg knows the packages of a file, and whose apt-mark holds in it."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    packages = tmp_path / "packages"
    packages.write_text("ii |libcuda1|580\nhi |nvidia-driver-cuda|580\nii |bash|5.2\nhi |vim|9\n")
    fake_command(tmp_path / "bin", "dpkg-query", f"cat {packages}")
    hold = f'shift; echo "$@" >>{tmp_path}/calls; for name; do sed -i "s/^ii |$name|/hi |$name|/" {packages}; done'
    fake_command(tmp_path / "bin", "apt-mark", hold)
    return tmp_path


def test_holds_in_check_mode_for_real_and_again(host):
    checked = run_module(package_holds.main, PATTERNS, check_mode=True, diff=True)
    assert checked["changed"] is True
    assert checked["diff"] == {"before": "nvidia-driver-cuda\n", "after": "libcuda1\nnvidia-driver-cuda\n"}
    assert not (host / "calls").exists()

    held = run_module(package_holds.main, PATTERNS, diff=True)
    assert (held["changed"], held["held"]) == (True, ["libcuda1", "nvidia-driver-cuda"])
    assert held["diff"] == checked["diff"]
    assert (host / "calls").read_text() == "libcuda1\n"

    again = run_module(package_holds.main, PATTERNS)
    assert (again["changed"], again["held"]) == (False, ["libcuda1", "nvidia-driver-cuda"])


def test_a_package_manager_that_refuses(host):
    fake_command(host / "bin", "apt-mark", "echo 'E: Permission denied' >&2; exit 100")
    assert run_module(package_holds.main, PATTERNS)["msg"] == (
        "Packages could not be held: E: Permission denied. Wanted were libcuda1. Run with become; "
        "dnf needs python3-dnf-plugin-versionlock."
    )


def test_with_dnf_versions_are_locked(tmp_path, monkeypatch):
    monkeypatch.setattr(package_holds, "list_packages", lambda module: ({"nvidia-driver": "3:580"}, []))
    monkeypatch.setattr(package_holds.AnsibleModule, "get_bin_path", lambda *_args, **_options: None)
    calls = []
    monkeypatch.setattr(
        package_holds.AnsibleModule, "run_command", lambda self, command: calls.append(command) or (0, "", "")
    )
    assert run_module(package_holds.main, PATTERNS)["changed"] is True
    assert calls == [["dnf", "versionlock", "add", "nvidia-driver"]]
