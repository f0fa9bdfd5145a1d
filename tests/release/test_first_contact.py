# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What somebody sees whose first run cannot work: one line that says what to do, before any host is asked."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from installed import Place

CHECKOUT = Path(__file__).resolve().parents[2]
SETTINGS = {
    "ANSIBLE_CALLBACKS_ENABLED": "gpuops.gpustack.outcome,gpuops.gpustack.vault_password",
    "ANSIBLE_GATHERING": "explicit",
}
PASSWORD = "group_vars/all/vault.yml"


@pytest.fixture(name="inventory")
def fixture_inventory(place: Place, tmp_path: Path) -> Callable[..., Path]:
    """A copy of the example, filled in with addresses at which nothing listens; ``change`` is applied to its hosts."""

    def make(change: Callable[[dict[str, Any]], object] = lambda hosts: None, **variables: object) -> Path:
        inventory = tmp_path / "mine"
        shutil.copytree(place.collection / "inventories/example", inventory)
        hosts = yaml.safe_load((inventory / "hosts.yml").read_text().replace("192.0.2.", "127.0.99."))
        change(hosts)
        (inventory / "hosts.yml").write_text(yaml.safe_dump(hosts))
        (inventory / PASSWORD).write_text("vault_gpustack_admin_password: s3cret\n")
        (inventory / "group_vars/all/more.yml").write_text(yaml.safe_dump({"ansible_port": 9, **variables}))
        return inventory

    return make


def words(result: subprocess.CompletedProcess[str]) -> str:
    """What was shown, as one line however it was wrapped."""
    return re.sub(r"\s+", " ", result.stdout + result.stderr)


def refusal(place: Place, inventory: Path, playbook: str = "site", **options: Any) -> str:
    """What a run says that must end before any host is asked."""
    result = place.run("ansible-playbook", f"gpuops.gpustack.{playbook}", "-i", inventory, **options, **SETTINGS)
    said = words(result)
    assert result.returncode != 0, said
    assert "Traceback" not in said
    assert "gpu-worker-a :" not in said, "a host was asked"
    return said


def test_the_untouched_example(place: Place) -> None:
    assert (
        "Nothing was changed: ansible_host, gpustack_worker_ip and vault_gpustack_admin_password still have the "
        "values of inventories/example. Fill them in, in a copy (cp -r inventories/example inventories/mine), "
        "and run with -i inventories/mine."
    ) in refusal(place, place.collection / "inventories/example")


def test_no_inventory_at_all(place: Place) -> None:
    assert "an inventory with the fleet's hosts" in refusal(place, Path("localhost,"))


def test_a_typo_in_a_variable(place: Place, inventory: Callable[..., Path]) -> None:
    assert (
        "Nothing was changed: nobody reads gpustack_worker_sharedmemory_gib. "
        "Rename it to gpustack_worker_shared_memory_gib"
    ) in refusal(place, inventory(gpustack_worker_sharedmemory_gib=32))


def test_a_missing_group(place: Place, inventory: Callable[..., Path]) -> None:
    def rename(hosts: dict[str, Any]) -> None:
        hosts["gpu_hosts"] = hosts.pop("gpustack_workers")

    said = refusal(place, inventory(rename))
    assert "Nothing was changed: no group gpustack_workers; there are gpu_hosts, gpustack_servers." in said
    assert "Put the hosts with GPUs into the group gpustack_workers." in said


def test_a_missing_collection(place: Place, inventory: Callable[..., Path]) -> None:
    assert (
        "Nothing was changed: the collection community.docker is not installed. "
        "Install it where ansible-playbook runs: ansible-galaxy collection install --upgrade"
    ) in refusal(place, inventory(), others=False)


@pytest.mark.parametrize("password", [None, "wrong"])
def test_a_missing_or_wrong_vault_password(
    place: Place, inventory: Callable[..., Path], tmp_path: Path, password: str | None
) -> None:
    encrypted = inventory()
    (tmp_path / "right").write_text("right")
    place.run("ansible-vault", "encrypt", "--vault-password-file", tmp_path / "right", encrypted / PASSWORD)
    options = {}
    if password:
        (tmp_path / "wrong").write_text(password)
        options["ANSIBLE_VAULT_PASSWORD_FILE"] = str(tmp_path / "wrong")
    assert (
        f"{encrypted}/{PASSWORD} is encrypted, and no password that was given decrypts it. "
        "Add --ask-vault-pass, or --vault-password-file FILE."
    ) in refusal(place, encrypted, **options)


def test_a_value_that_is_encrypted_by_itself(place: Place, inventory: Callable[..., Path], tmp_path: Path) -> None:
    encrypted = inventory()
    (tmp_path / "right").write_text("right")
    command = ("ansible-vault", "encrypt_string", "--vault-password-file", tmp_path / "right", "s3cret")
    secret = place.run(*command, "--name", "vault_gpustack_admin_password").stdout
    (encrypted / PASSWORD).write_text(secret)
    assert (
        "Nothing was changed: vault_gpustack_admin_password is encrypted, and no password that was given decrypts it. "
        "Add --ask-vault-pass, or --vault-password-file FILE."
    ) in refusal(place, encrypted)


@pytest.mark.parametrize("playbook", ["site", "plan"])
def test_unreachable_hosts(place: Place, inventory: Callable[..., Path], playbook: str) -> None:
    """They are asked, of course; the run ends with their names, and not with a variable that they did not bring."""
    mine = inventory()
    result = place.run("ansible-playbook", f"gpuops.gpustack.{playbook}", "-i", mine, **SETTINGS)
    said = words(result)
    away = "gpustack-server,gpu-worker-a,gpu-worker-b" if playbook == "site" else "gpu-worker-a,gpu-worker-b"
    assert f"Nothing was changed: {away.replace(',', ', ')} could not be looked at, for the reason above." in said
    assert f"Make this answer: ansible {away} -i {mine} -m ansible.builtin.ping" in said
    assert "is undefined" not in said
    assert "has no attribute" not in said
    assert result.returncode != 0
