# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from module_runner import fake_command, run_module
from stack_host import FINGERPRINT, KEY

from ansible_collections.gpuops.gpustack.plugins.modules import package_rehearsal

ENTRY = "Types: deb\nURIs: http://mirror.example.org/cuda/\nSuites: /\nSigned-By: /etc/apt/keyrings/nvidia-cuda.asc\n"
CANDIDATES = "nvidia-driver-cuda | 590.48.01-1 | x\nnvidia-driver-cuda | 580.95.05-1 | x\n"
SIMULATION = (
    "Inst libcuda1 [580.82.07-1] (580.95.05-1 NVIDIA [amd64])\nInst nvidia-driver-cuda (580.95.05-1 NVIDIA [amd64])\n"
    "Remv nvidia-old [1]\n"
)


def arguments(**changed):
    repository = {
        "name": "nvidia-cuda",
        "url": "http://mirror.example.org/cuda",
        "key_url": "http://mirror.example.org/cuda/3bf863cc.pub",
        "key_path": "/etc/apt/keyrings/nvidia-cuda.asc",
        "path": "/etc/apt/sources.list.d/nvidia-cuda.sources",
        "content": ENTRY,
    }
    return {
        "repositories": [repository],
        "keys": {"nvidia-cuda": KEY},
        "fingerprints": [FINGERPRINT],
        "packages": [{"name": "nvidia-driver-cuda", "version": "580.95.05"}],
        "preferences": "Package: *nvidia*\nPin: version 580.95.05*\nPin-Priority: 1000\n",
        "without_files": ["/etc/apt/sources.list.d/cuda.list"],
        "driver_version": "580.95.05",
        **changed,
    }


@pytest.fixture(name="host")
def fixture_host(tmp_path, monkeypatch):
    """A host whose apt writes down how it was called and what it was given."""
    bin_directory = tmp_path / "bin"
    monkeypatch.setenv("PATH", f"{bin_directory}:/usr/bin:/bin")
    monkeypatch.setattr(package_rehearsal, "APT", tmp_path / "apt")
    monkeypatch.setattr(package_rehearsal, "LISTS", tmp_path / "lists")
    for name, content in {
        "apt/sources.list.d/debian.sources": "Types: deb\n",
        "apt/preferences.d/site": "Package: vim\n",
        "lists/mirror_Packages": "Package: bash\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "candidates").write_text(CANDIDATES)
    (tmp_path / "simulation").write_text(SIMULATION)
    record = f"""
for word; do case $word in
    Dir::Etc::SourceParts=*) sources=${{word#*=}} ;;
    Dir::Etc::PreferencesParts=*) preferences=${{word#*=}} ;;
esac; done
echo "$*" >>{tmp_path}/calls
case "$*" in
    *update*) cat "$sources"/nvidia-cuda.sources >{tmp_path}/entry; ls "$sources" >{tmp_path}/own; exit 0 ;;
    *--simulate*) cat "$preferences"/* >{tmp_path}/preferences; ls "$sources" >{tmp_path}/sources
                  cat {tmp_path}/simulation ;;
esac"""
    fake_command(bin_directory, "apt-get", record)
    fake_command(bin_directory, "apt-cache", f"cat {tmp_path}/candidates")
    fake_command(bin_directory, "dpkg-query", 'printf "hi |libcuda1|580.82.07-1\\nhi |vim|9\\n"')
    return tmp_path


def test_a_rehearsal_tells_exact_versions_and_what_is_held_with_them(host):
    found = run_module(package_rehearsal.main, arguments(), check_mode=True)
    assert found["changed"] is False
    assert sorted(found["specifications"]) == ["libcuda1=580.95.05-1", "nvidia-driver-cuda=580.95.05-1"]
    assert found["installs"] == {"libcuda1": "580.95.05-1", "nvidia-driver-cuda": "580.95.05-1"}
    assert found["removes"] == ["nvidia-old"]
    assert found["signing_keys"] == {"nvidia-cuda": KEY}


def test_only_our_repositories_are_read_and_the_hosts_lists_stand_in_for_the_others(host):
    run_module(package_rehearsal.main, arguments())
    update, simulate = (host / "calls").read_text().splitlines()
    assert "Dir::Etc::SourceList=/dev/null" in update
    assert "Dir::State::Lists=/" in update
    assert (host / "own").read_text() == "nvidia-cuda.sources\n"
    assert "Signed-By: /etc" not in (host / "entry").read_text()
    assert (host / "sources").read_text() == "debian.sources\nnvidia-cuda.sources\n"
    assert "Pin: version 580.95.05*" in (host / "preferences").read_text()
    assert simulate.endswith("install nvidia-driver-cuda=580.95.05-1")


def test_nothing_of_the_host_is_written_and_the_stage_is_gone(host):
    own = host / "apt/preferences.d/gpustack-nvidia-stack"
    own.write_text("the pins of yesterday\n")
    run_module(package_rehearsal.main, arguments())
    assert own.read_text() == "the pins of yesterday\n"
    assert not (host / "lists/partial").exists()
    stage = next(word for word in (host / "calls").read_text().split() if word.startswith("Dir::State::Lists="))
    assert not package_rehearsal.Path(stage.partition("=")[2]).exists()


def test_a_host_without_lists_reads_its_own_sources_too(host):
    (host / "lists/mirror_Packages").unlink()
    run_module(package_rehearsal.main, arguments())
    assert "/dev/null" not in (host / "calls").read_text().splitlines()[0]


def test_the_key_is_fetched_where_none_is_given(host):
    (host / "key.asc").write_text(KEY)
    given = arguments(keys={})
    given["repositories"][0]["key_url"] = (host / "key.asc").as_uri()
    assert run_module(package_rehearsal.main, given)["signing_keys"] == {"nvidia-cuda": KEY}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"fingerprints": ["eb69 3b30 35cd 5710 e231 e123 a4b4 6996 3bf8 63cc"]},
            f"the given key has the fingerprint {FINGERPRINT}, wanted is EB693B3035CD5710E231E123A4B469963BF863CC",
        ),
        (
            {"keys": {"nvidia-cuda": "<html>"}},
            "There is no key for the repository nvidia-cuda:\nthe given key: no ASCII-",
        ),
        (
            {"packages": [{"name": "nvidia-driver-cuda", "version": "580.999"}]},
            "The repositories lack what is wanted:\nnvidia-driver-cuda 580.999 is not there; there are 590.48.01-1, "
            "580.95.05-1",
        ),
    ],
)
def test_what_is_refused_before_anything_is_touched(host, changed, message):
    found = run_module(package_rehearsal.main, arguments(**changed))
    assert found["failed"] is True
    assert message in found["msg"]
    assert found["msg"].endswith("The host was not touched.")


def test_a_repository_that_cannot_be_read(host):
    error = "W: GPG error: the following signatures were invalid\nE: The repository is not signed."
    fake_command(host / "bin", "apt-get", f'echo "{error}" >&2; exit 100')
    message = run_module(package_rehearsal.main, arguments())["msg"]
    assert message.startswith("A package repository cannot be used:\nW: GPG error")
    assert "E: The repository is not signed." in message


def test_packages_that_cannot_be_installed_together(host):
    told = 'echo " a : Depends: b but it is not installable"; echo "E: broken" >&2'
    script = f'case "$*" in *--simulate*) {told}; exit 100; esac'
    fake_command(host / "bin", "apt-get", script)
    message = run_module(package_rehearsal.main, arguments())["msg"]
    assert message.startswith(
        "The packages cannot be installed together:\na : Depends: b but it is not installable\nE: broken\n"
    )


def test_another_driver_in_tow_is_refused(host):
    (host / "simulation").write_text(SIMULATION + "Inst cuda-drivers (590.48.01-1 NVIDIA [amd64])\n")
    assert "cuda-drivers 590.48.01-1" in run_module(package_rehearsal.main, arguments())["msg"]


def test_with_dnf_versions_are_looked_up_in_a_cache_of_its_own(host, monkeypatch):
    """Rendered only; a dnf 4.14 has been given this command by hand."""
    commands = []
    name = "nvidia-driver-cuda"

    def run_command(_self, command, **_options):
        commands.append(command)
        return 0, f"{name} | 3:580.105.08-1.el9 | x\n{name} | 3:580.95.05-1.el9 | x\n", ""

    monkeypatch.setattr(package_rehearsal.AnsibleModule, "get_bin_path", lambda *_args, **_options: None)
    monkeypatch.setattr(package_rehearsal.AnsibleModule, "run_command", run_command)
    found = run_module(package_rehearsal.main, arguments())
    assert found["specifications"] == ["nvidia-driver-cuda-3:580.95.05-1.el9"]
    (command,) = commands
    stage = command[2].partition("reposdir=")[2].partition(",")[0]
    assert command == [
        "dnf", "--quiet", f"--setopt=reposdir={stage},/etc/yum.repos.d", f"--setopt=cachedir={stage}/cache",
        "repoquery", "--showduplicates", "--queryformat=%{name} | %{evr} | %{repoid}",
        "nvidia-driver-cuda",
    ]  # fmt: skip
