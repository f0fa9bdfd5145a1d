# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module with a docker command that is a script, and its program with a torch that is a file."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from module_runner import fake_command, run_module

from ansible_collections.gpuops.gpustack.plugins.module_utils import engine_image, fatbin
from ansible_collections.gpuops.gpustack.plugins.modules import engine_image_facts

STOCK = "gpustack/runner:cuda12.9-vllm0.17.1"
ANSWER = '{"architectures": {"torch": ["sm_75", "sm_80"]}, "torch": "2.10.0+cu129", "cuda": "12.9"}'
DOCKER = f"""
echo "$1 $2 $5 $6" >>"$LOG"
case "$1 $2" in
  "inspect --format") echo sha256:worker ;;
  "exec gpustack-worker") echo {STOCK} ;;
  "image inspect") [ -e "$PRESENT" ] && echo sha256:engine ;;
  "pull --quiet") touch "$PRESENT" ;;
  "run --rm") echo '{ANSWER}' ;;
esac
"""


@pytest.fixture(name="look")
def fixture_look(tmp_path, monkeypatch):
    """Runs the module; ``look.commands()`` are docker's sub-commands since the last call."""
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("PRESENT", str(tmp_path / "present"))

    def install(script):
        command = fake_command(tmp_path / "bin", "docker", script)
        monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")

    def look(check_mode=False, **options):
        arguments = {"versions": ["0.17.1"], "cuda_version": "12.9", "cache_path": str(tmp_path / "cache/known.json")}
        result = run_module(engine_image_facts.main, {**arguments, **options}, check_mode=check_mode)
        return result["changed"], result["ansible_facts"]["gpustack_engine_images"]

    def commands():
        log = tmp_path / "log"
        lines = [" ".join(line.split()[:2]) for line in log.read_text().splitlines()] if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    install(DOCKER)
    look.commands, look.install, look.present = commands, install, tmp_path / "present"
    return look


def test_an_image_is_pulled_once_and_looked_into_once(look):
    expected = {
        "image": STOCK, "id": "sha256:engine", "architectures": {"torch": ["sm_75", "sm_80"]},
        "torch": "2.10.0+cu129", "cuda": "12.9", "problem": None,
    }  # fmt: skip
    assert look() == (True, {"0.17.1": expected})
    assert look.commands() == [
        "inspect --format", "exec gpustack-worker", "image inspect", "pull --quiet", "image inspect", "run --rm",
        "rm --force",
    ]  # fmt: skip
    assert look() == (False, {"0.17.1": expected})
    assert look.commands() == ["inspect --format", "image inspect"]


def test_check_mode_pulls_nothing(look):
    changed, images = look(check_mode=True)
    assert (changed, images["0.17.1"]["problem"]) == (False, f"{STOCK} is not on the host")
    assert "pull --quiet" not in look.commands()


def test_an_image_of_ones_own_needs_no_catalogue(look):
    _changed, images = look(versions=["0.17.1-custom"], images={"0.17.1-custom": "mine:1"}, registry="r.example:5000")
    assert images["0.17.1-custom"]["image"] == "r.example:5000/mine:1"
    assert "exec gpustack-worker" not in look.commands()


def test_a_version_that_the_worker_does_not_know(look):
    _changed, images = look(versions=["0.99.0"])
    assert images["0.99.0"]["problem"] == "GPUStack's worker knows no image for vLLM 0.99.0"


def test_an_image_without_torch_is_a_problem_and_is_asked_again(look):
    look.present.touch()
    look.install(DOCKER.replace(f"echo '{ANSWER}'", "echo no torch"))
    for _each in range(2):
        _changed, images = look()
        assert images["0.17.1"]["problem"] == (
            f"python3 in {STOCK} does not tell for which architectures its torch is built"
        )
        assert images["0.17.1"]["architectures"] is None
        assert look.commands()[-2:] == ["run --rm", "rm --force"]


def test_an_image_that_does_not_answer_is_left_and_its_container_removed(look):
    look.install(DOCKER.replace(f"echo '{ANSWER}'", "exec sleep 30"))
    _changed, images = look(timeout=1)
    assert images["0.17.1"]["problem"] == "docker run failed: no end within 1 seconds"
    assert look.commands()[-1] == "rm --force"


def test_a_docker_that_fails_is_a_problem(look):
    look.install("echo 'first line' >&2; echo 'Error: no such container' >&2; exit 1")
    _changed, images = look()
    assert images["0.17.1"]["problem"] == "docker inspect failed: Error: no such container"


@pytest.mark.parametrize("sees_a_card", [True, False])
def test_the_program_asks_torch_and_vllm(tmp_path, sees_a_card):
    (tmp_path / "torch.py").write_text(
        f"""
class cuda:
    get_arch_list = staticmethod(lambda: {["sm_70", "sm_80"] if sees_a_card else []})
class version:
    cuda = "12.9"
class _C:
    _cuda_getArchFlags = staticmethod(lambda: "sm_70 sm_80")
__version__ = "2.10.0"
"""
    )
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm/__init__.py").write_text("raise SystemExit('the program must not import vllm')")
    entry = struct.pack("<HHIQ12xI", 2, 0x0101, 64, 0, 75).ljust(64, b"\0")
    (tmp_path / "vllm/_C.abi3.so").write_bytes(struct.pack("<4sHHQ", fatbin.MAGIC, 1, 16, len(entry)) + entry)
    (tmp_path / "vllm/_C_other.so").write_bytes(b"no device code")
    program = Path(fatbin.__file__).read_text() + engine_image.PROBE
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert engine_image.parse_probe(answer.stdout) == {
        "architectures": {"vllm": ["sm_75"], "torch": ["sm_70", "sm_80"]}, "torch": "2.10.0", "cuda": "12.9",
    }  # fmt: skip
