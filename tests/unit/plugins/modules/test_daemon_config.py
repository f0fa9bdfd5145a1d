# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import stat

import pytest
from module_runner import fake_command, run_module

from ansible_collections.gpuops.gpustack.plugins.modules import daemon_config

RUNTIMES = {"nvidia": {"path": "nvidia-container-runtime", "args": []}}


@pytest.fixture(name="bin_directory")
def fixture_bin_directory(tmp_path, monkeypatch):
    directory = tmp_path / "bin"
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    return directory


@pytest.fixture(name="path")
def fixture_path(tmp_path, bin_directory):
    """The file, of an engine that knows --validate and accepts everything."""
    fake_command(bin_directory, "dockerd", 'if [ "$1" = --help ]; then echo "      --validate   Validate"; fi')
    return tmp_path / "etc/docker/daemon.json"


def run(path, check=False, **arguments):
    return run_module(
        daemon_config.main, {"path": str(path), "dockerd": "dockerd", **arguments}, check_mode=check, diff=True
    )


def test_create_in_check_mode_create_and_create_again(path):
    arguments = {"settings": {"runtimes": RUNTIMES}}

    checked = run(path, check=True, **arguments)
    assert (checked["changed"], checked["apply"], checked["changed_keys"]) == (True, "reload", ["runtimes"])
    assert not path.parent.exists()

    created = run(path, **arguments)
    assert created["diff"] == checked["diff"]
    assert (created["changed"], created["validated"]) == (True, True)
    assert json.loads(path.read_text()) == {"runtimes": RUNTIMES}
    assert stat.S_IMODE(path.stat().st_mode) == 0o644

    again = run(path, **arguments)
    assert (again["changed"], again["apply"], again["changed_keys"], again["validated"]) == (False, "none", [], False)
    assert "diff" not in again


def test_update_in_check_mode_update_and_update_again(path):
    path.parent.mkdir(parents=True)
    path.write_text('{"data-root": "/srv/docker", "insecure-registries": ["a:1"]}')
    path.chmod(0o600)
    arguments = {"settings": {"insecure-registries": ["b:1"], "log-opts": {"max-size": "50m"}}, "absent": ["data-root"]}

    before = path.read_text()
    assert run(path, check=True, **arguments)["apply"] == "restart"
    assert path.read_text() == before

    updated = run(path, **arguments)
    assert updated["changed_keys"] == ["data-root", "insecure-registries", "log-opts"]
    assert json.loads(path.read_text()) == {"insecure-registries": ["a:1", "b:1"], "log-opts": {"max-size": "50m"}}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert run(path, **arguments)["changed"] is False


@pytest.mark.parametrize("check", [True, False])
def test_a_restart_that_is_not_allowed_is_refused_and_a_reload_is_made(path, check):
    path.parent.mkdir(parents=True)
    path.write_text('{"debug": true}')
    refused = run(path, check=check, settings={"debug": False, "log-opts": {"max-size": "50m"}}, restart_allowed=False)
    assert refused["failed"]
    assert "has to change in debug, log-opts, which takes a restart of the Docker engine" in refused["msg"]
    assert path.read_text() == '{"debug": true}'
    assert run(path, check=check, settings={"debug": False}, restart_allowed=False)["apply"] == "reload"


def test_a_file_that_already_holds_the_settings_keeps_its_formatting(path):
    path.parent.mkdir(parents=True)
    text = '{"debug":true,   "runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}}'
    path.write_text(text)
    assert run(path, settings={"runtimes": RUNTIMES})["changed"] is False
    assert path.read_text() == text


@pytest.mark.parametrize("check", [True, False])
def test_invalid_json_is_refused_with_its_place_and_stays(path, check):
    path.parent.mkdir(parents=True)
    path.write_text('{\n  "debug" true\n}\n')
    result = run(path, check=check, settings={"debug": False})
    assert result["failed"] is True
    assert result["msg"] == (
        f"{path} cannot be merged: invalid JSON at line 2, column 11: Expecting ':' delimiter"
        ". A JSON object is wanted. Correct the file, or move it away to start from an empty one. It was not touched."
    )
    assert path.read_text() == '{\n  "debug" true\n}\n'


def test_a_file_that_is_no_text_is_refused(path):
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xff\xfe\x00")
    result = run(path, settings={"debug": False})
    assert result["msg"].startswith(f"{path} cannot be read: ")


@pytest.mark.parametrize("check", [True, False])
def test_what_the_engine_refuses_is_not_written(path, bin_directory, check):
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    fake_command(
        bin_directory,
        "dockerd",
        'if [ "$1" = --help ]; then echo " --validate "; exit 0; fi\n'
        'echo "unable to configure the Docker daemon with file $3: http://u:hunter22@p is unknown" >&2; exit 1',
    )
    result = run(path, check=check, settings={"nonsense": "http://u:hunter22@p"})
    assert result["failed"] is True
    assert f"unable to configure the Docker daemon with file {path}: http://p is unknown" in result["msg"]
    assert result["msg"].endswith(f"{path} was not touched.")
    assert "hunter22" not in json.dumps(result)
    assert path.read_text() == "{}"


def test_the_engine_sees_the_merged_file(path, bin_directory, tmp_path):
    fake_command(bin_directory, "dockerd", f'[ "$1" = --help ] && echo --validate || cp "$3" {tmp_path}/seen.json')
    run(path, settings={"debug": True})
    assert json.loads((tmp_path / "seen.json").read_text()) == {"debug": True}


def test_an_engine_without_validate_is_not_asked(path, bin_directory):
    fake_command(bin_directory, "dockerd", '[ "$1" = --help ] && echo "  --version" || exit 1')
    result = run(path, settings={"debug": True})
    assert (result["changed"], result["validated"]) == (True, False)


def test_an_engine_that_is_not_installed_yet_is_not_asked(path):
    result = run(path, settings={"debug": True}, dockerd="dockerd-of-another-world")
    assert (result["changed"], result["validated"]) == (True, False)


def test_backup_keeps_the_old_file(path):
    path.parent.mkdir(parents=True)
    path.write_text('{"debug": true}')
    result = run(path, settings={"debug": False}, backup=True)
    with open(result["backup_file"], encoding="utf-8") as backup:
        assert backup.read() == '{"debug": true}'
    assert "backup_file" not in run(path, settings={"debug": False}, backup=True)


def test_a_link_stays_a_link(path, tmp_path):
    path.parent.mkdir(parents=True)
    target = tmp_path / "real.json"
    target.write_text("{}")
    path.symlink_to(target)
    assert run(path, settings={"debug": True})["path"] == str(target)
    assert path.is_symlink()
    assert json.loads(target.read_text()) == {"debug": True}


def test_a_password_in_a_proxy_is_written_and_not_shown(path):
    settings = {"proxies": {"http-proxy": "http://user:hunter22@proxy.example.com:3128"}}
    result = run(path, settings=settings)
    assert "hunter22" in path.read_text()
    assert "hunter22" not in json.dumps(result)
    assert "http://proxy.example.com:3128" in result["diff"]["after"]


def test_without_the_right_to_write_it_says_so(path, monkeypatch):
    def refuse(*_args, **_options):
        raise PermissionError(13, "Permission denied", str(path.parent))

    monkeypatch.setattr(daemon_config.os, "makedirs", refuse)
    assert run(path, settings={"debug": True})["msg"] == (
        f"{path.parent} cannot be created: [Errno 13] Permission denied: '{path.parent}'. Run with become."
    )
