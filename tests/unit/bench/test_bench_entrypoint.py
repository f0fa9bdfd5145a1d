# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entrypoint of the fleet's GPUStack image: whose setting wins, and how the host's size is declared."""

from __future__ import annotations

import pytest
from bench_entrypoint import hardware, settings
from bench_profiles import document


def read(tmp_path, *arguments, environment=None, config=""):
    (tmp_path / "config.yaml").write_text(config)
    return settings.read([*arguments, "--config-file", str(tmp_path / "config.yaml")], environment or {})


@pytest.mark.parametrize(
    ("arguments", "environment", "config", "url"),
    [
        (["--server-url", "http://a"], {"GPUSTACK_SERVER_URL": "http://b"}, "server_url: http://c", "http://a"),
        (["-s", "http://a"], {}, "", "http://a"),
        (["--server-url=http://a"], {}, "", "http://a"),
        ([], {"GPUSTACK_SERVER_URL": "http://b"}, "server_url: http://c", "http://b"),
        ([], {}, "server_url: http://c", "http://c"),
        ([], {}, "", None),
    ],
)
def test_command_line_before_environment_before_file(arguments, environment, config, url, tmp_path):
    given = read(tmp_path, *arguments, environment=environment, config=config)

    assert given.values["server_url"] == url
    assert given.is_worker is (url is not None)


def test_everything_but_the_config_file_is_passed_on(tmp_path):
    given = read(tmp_path, "--worker-name", "a", "-t", "secret", "--disable-update-check", config="debug: true")

    assert given.arguments == ["--worker-name", "a", "-t", "secret", "--disable-update-check"]
    assert given.config == {"debug": True}


def test_defaults_are_the_official_images(tmp_path):
    values = read(tmp_path).values

    assert (values["data_dir"], values["database_port"], values["gateway_mode"]) == ("/var/lib/gpustack", 5432, "auto")


def test_the_hosts_size_is_declared_in_full():
    resources = hardware.merge({"debug": True}, document("reference", "gpu-worker-a"))["resources"]

    assert set(resources) == {"cpu", "memory", "swap", "filesystem", "os", "kernel", "uptime"}
    assert resources["cpu"] == {"total": 32}
    assert resources["memory"] == {"total": 256 << 30}


def test_what_the_user_declared_stays():
    merged = hardware.merge({"debug": True, "resources": {"cpu": {"total": 1}}}, None)

    assert merged["debug"] is True
    assert merged["resources"]["cpu"] == {"total": 1}
    assert "memory" in merged["resources"]
