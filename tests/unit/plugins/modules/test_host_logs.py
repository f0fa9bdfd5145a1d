# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import datetime
import json

import pytest
from module_runner import fake_command, run_module

from ansible_collections.gpuops.gpustack.plugins.modules import host_logs

NOW = datetime.datetime(2026, 3, 18, 12, 0, tzinfo=datetime.timezone.utc)


def listed(name, workload=""):
    row = {"id": "1", "name": name, "image": "i", "state": "running", "status": "Up", "ports": "", "workload": workload}
    return json.dumps(row)


@pytest.fixture(name="calls")
def fixture_calls(tmp_path, monkeypatch):
    """A host with a worker, an engine and a foreign container; returns the file of docker's calls."""
    calls = tmp_path / "calls"
    listing = "\n".join(
        [
            listed("gpustack-worker"),
            listed("m-aaaaa-run-0", "m-aaaaa"),
            listed("m-aaaaa-pause", "m-aaaaa"),
            listed("db"),
        ]
    )
    script = f"""echo "$@" >> {calls}
case "$1" in
  ps) cat <<'END'
{listing}
END
  ;;
  inspect) echo '["HF_TOKEN=swordfish1", "PATH=/bin"]'; echo null ;;
  logs) echo "2026-03-18T09:00:02Z second, the word is swordfish1"; echo "2026-03-18T09:00:01Z first" >&2 ;;
esac"""
    fake_command(tmp_path / "bin", "docker", script)
    fake_command(tmp_path / "bin", "journalctl", "echo 'kernel: NVRM: Xid (PCI:0000:3b:00): 79, password=hunter22'")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return calls


def logs(**arguments):
    return run_module(host_logs.main, arguments, check_mode=True)


def test_kernel_own_containers_and_engines_are_read_and_nothing_else(calls):
    answer = logs(lines=50, since="2026-03-18T11:00:00Z")
    assert answer["changed"] is False
    assert [(log["source"], log["instance"]) for log in answer["logs"]] == [
        ("kernel", None),
        ("gpustack-worker", None),
        ("m-aaaaa-run-0", "m-aaaaa"),
    ]
    called = calls.read_text()
    assert "logs --timestamps --tail 50 --since 2026-03-18T11:00:00+00:00 gpustack-worker" in called
    assert "logs --timestamps --tail 50 m-aaaaa-run-0" in called


def test_both_streams_are_one_log_in_the_order_of_time(calls):
    (_kernel, worker, _engine) = logs()["logs"]
    assert worker["text"].splitlines() == [
        "2026-03-18T09:00:01Z first",
        "2026-03-18T09:00:02Z second, the word is ********",
    ]


def test_secrets_do_not_leave_the_host(calls):
    text = json.dumps(logs())
    assert "swordfish1" not in text
    assert "hunter22" not in text
    assert "Xid" in text


INSPECTED = """echo '["HF_TOKEN=swordfish1", "PATH=/bin"]'; echo null"""


def test_container_that_is_gone_meanwhile_leaves_the_secrets_of_the_others_known(calls):
    docker = calls.parent / "bin/docker"
    vanished = f'{INSPECTED}; echo "Error: No such container: m-aaaaa-run-0" >&2; exit 1'
    docker.write_text(docker.read_text().replace(INSPECTED, vanished))
    text = json.dumps(logs())
    assert "the word is ********" in text
    assert "swordfish1" not in text


def test_log_of_which_the_secrets_are_not_known_is_not_told(calls):
    docker = calls.parent / "bin/docker"
    docker.write_text(docker.read_text().replace(INSPECTED, 'echo "permission denied" >&2; exit 1'))
    (_kernel, worker, _engine) = logs()["logs"]
    assert (worker["text"], worker["problem"]) == ("", "permission denied")


def test_host_without_docker_and_journal_is_an_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(host_logs.AnsibleModule, "get_bin_path", lambda *_args, **_options: None)
    (kernel,) = logs()["logs"]
    assert (kernel["text"], kernel["problem"]) == ("", "journalctl is not on this host")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("30m", NOW - datetime.timedelta(minutes=30)),
        ("2h", NOW - datetime.timedelta(hours=2)),
        ("2026-03-18T09:00:00Z", NOW.replace(hour=9)),
        ("2026-03-18T09:00:00", NOW.replace(hour=9)),
    ],
)
def test_ages_and_times(text, moment):
    assert host_logs.point_in_time(text, NOW) == moment


def test_other_ages_are_refused_with_what_is_wanted(calls):
    answer = logs(since="yesterday")
    assert answer["failed"] is True
    assert "since is 'yesterday'; wanted is a number with s, m or h" in answer["msg"]
