# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts: containers with systemd that look like GPU hosts, reachable over SSH."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Any

from .docker import docker, inspect
from .errors import BenchError
from .machine import Confinement, confinement
from .profile import SUBNET, Host, Profile
from .progress import Progress
from .state import State

NETWORK = "gpuops-bench"
LABEL = "gpuops-bench"
OPERATOR = 1000
BOOT_SECONDS = 60


def options(limits: Confinement) -> list[str]:
    """docker run options with which systemd and a nested Docker engine work.

    On an ordinary machine that is ``--privileged``. Where the bounding set is incomplete (some sandboxes) Docker could
    not give that, so the container gets all there is, one by one.
    """
    cgroup = (
        ["--cgroupns=private"] if limits.cgroup_v2 else ["--cgroupns=host", "-v", "/sys/fs/cgroup:/sys/fs/cgroup:rw"]
    )
    if limits.complete:
        return ["--privileged", *cgroup]
    dropped = ["--cap-drop=SYS_RESOURCE"] if not limits.capabilities >> 24 & 1 else []
    confined = ["--security-opt", "seccomp=unconfined", "--security-opt", "systempaths=unconfined"]
    return ["--cap-add=ALL", *dropped, *confined, *cgroup]


def ensure_network() -> None:
    """Makes the network of the fleet."""
    if inspect("network", NETWORK) is None:
        docker("network", "create", "--subnet", str(SUBNET), "--label", LABEL, NETWORK)


def fingerprint(profile: Profile, image: str, state: State) -> str:
    """What a host must have been made from to be kept."""
    return f"{state.checkout}|{profile.name}|{profile.digest}|{image}"


def ensure_hosts(profile: Profile, image: str, state: State, progress: Progress) -> None:
    """Makes or starts every host, removes those of another profile or checkout, and waits until all answer over SSH."""
    wanted = fingerprint(profile, image, state)
    ensure_ssh_files(profile, state)
    for name, label in existing().items():
        if label != wanted or name not in {host.name for host in profile.hosts}:
            progress.say(f"removing {name}: it was made for another checkout, profile or image")
            remove(name)
    for host in profile.hosts:
        container = inspect("container", host.name)
        if container is None:
            progress.say(f"making {host.name} ({host.address}, {describe(host)})")
            create(host, image, f"{LABEL}.host={wanted}", state)
        elif not container["State"]["Running"]:
            progress.say(f"starting {host.name} again")
        docker("start", host.name)
    for host in profile.hosts:
        await_boot(host, state)


def describe(host: Host) -> str:
    """``2x Tesla V100-PCIE-32GB``, for people."""
    names = [gpu["name"] for gpu in host.gpus]
    return ", ".join(f"{names.count(name)}x {name}" for name in dict.fromkeys(names)) or "no GPU"


def existing() -> dict[str, str]:
    """Every host container there is, of any checkout → its fingerprint."""
    listing = docker(
        "ps", "-a", "--filter", f"label={LABEL}.host", "--format", f'{{{{.Names}}}}\t{{{{.Label "{LABEL}.host"}}}}'
    )
    return dict(line.split("\t", 1) for line in listing.splitlines())


def remove(name: str) -> None:
    """Removes a host with its disk."""
    docker("rm", "--force", "--volumes", name, check=False)
    docker("volume", "rm", "--force", volume(name), check=False)


def volume(name: str) -> str:
    """The volume of a host's /var/lib/docker (its engine's overlay2 cannot lie on an overlay)."""
    return f"{NETWORK}-{name}"


def create(host: Host, image: str, label: str, state: State) -> None:
    """Makes a host, which comes back when it reboots; it is not started yet."""
    docker(
        *("create", "--name", host.name, "--hostname", host.name, "--network", NETWORK, "--ip", host.address),
        *("--label", label, "--restart=unless-stopped", "--shm-size=64g", "--tmpfs", "/run", "--tmpfs", "/run/lock"),
        *("-v", f"{volume(host.name)}:/var/lib/docker", *options(confinement()), image),
    )
    subprocess.run(["docker", "cp", "-", f"{host.name}:/"], input=_files(host, state), check=True, capture_output=True)


def _files(host: Host, state: State) -> bytes:
    """A tar archive of what makes this host itself: its hardware, its SSH host key, who may log in."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:

        def add(path: str, content: str, mode: int, owner: int = 0) -> None:
            member = tarfile.TarInfo(path)
            data = content.encode()
            member.size, member.mode, member.uid, member.gid = len(data), mode, owner, owner and 37
            tar.addfile(member, io.BytesIO(data))

        add("etc/gpu-bench/profile.json", json.dumps(host.document, indent=2) + "\n", 0o644)
        add("etc/gpu-bench/cards.tsv", cards_table(host.document), 0o644)
        add("etc/gpu-bench/product_uuid", host.document["product_uuid"] + "\n", 0o444)
        key = host_key(host, state)
        add("etc/ssh/ssh_host_ed25519_key", key.read_text(encoding="utf-8"), 0o600)
        add("etc/ssh/ssh_host_ed25519_key.pub", key.with_suffix(".pub").read_text(encoding="utf-8"), 0o644)
        public = state.ssh_key.with_suffix(".pub").read_text(encoding="utf-8")
        add("home/operator/.ssh/authorized_keys", public, 0o600, OPERATOR)
    return archive.getvalue()


def cards_table(document: dict[str, Any]) -> str:
    """The cards as the stand-in for NVIDIA's library reads them: tab-separated, one card per line."""
    lines = [["cuda", document["cuda_version"]]]
    for gpu in document["gpus"]:
        pci = {name: value.removeprefix("0x") for name, value in gpu["pci"].items()}
        identity = [gpu["index"], gpu["uuid"], gpu["name"], gpu["pci_bus_id"], gpu["compute_capability"]]
        size = [gpu["memory_total_mib"], gpu["power_limit_w"]]
        ids = [pci["device"] + pci["vendor"], pci["subsystem_device"] + pci["subsystem_vendor"]]
        lines.append(["gpu", *identity, *size, *ids])
    return "".join("\t".join(map(str, line)) + "\n" for line in lines)


def host_key(host: Host, state: State) -> Path:
    """The host's private SSH key; kept over a reset, so that known_hosts stays right."""
    return state.ssh_key.parent / f"{host.name}_ed25519_key"


def ensure_ssh_files(profile: Profile, state: State) -> None:
    """Makes our key pair, the hosts' keys, and their lines in known_hosts with names and addresses."""
    for path in (state.ssh_key, *(host_key(host, state) for host in profile.hosts)):
        if not path.exists():
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "gpuops-bench", "-f", str(path)]
            subprocess.run(command, check=True, capture_output=True)
    known = state.known_hosts.read_text(encoding="utf-8").splitlines() if state.known_hosts.exists() else []
    lines = {line.split()[0]: line for line in known}
    for host in profile.hosts:
        kind, key = host_key(host, state).with_suffix(".pub").read_text(encoding="utf-8").split()[:2]
        names = f"{host.name},{host.address}"
        lines[names] = f"{names} {kind} {key}"
    state.known_hosts.write_text("".join(f"{line}\n" for line in lines.values()), encoding="utf-8")


def ssh(host: Host, state: State, command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command on a host as its operator, checking its host key."""
    secure = ["-o", f"UserKnownHostsFile={state.known_hosts}", "-o", "StrictHostKeyChecking=yes"]
    quick = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=2", "-o", "LogLevel=ERROR"]
    target = ["-i", str(state.ssh_key), f"operator@{host.address}"]
    return subprocess.run(["ssh", *secure, *quick, *target, command], capture_output=True, text=True, check=False)


def await_boot(host: Host, state: State) -> None:
    """Waits until systemd has started everything."""
    deadline = time.monotonic() + BOOT_SECONDS
    answer = ssh(host, state, "systemctl is-system-running --wait")
    while answer.stdout.strip() not in ("running", "degraded"):
        if time.monotonic() > deadline:
            raise BenchError(
                f"{host.name} did not come up in {BOOT_SECONDS} s ({answer.stderr.strip() or answer.stdout.strip()}); "
                f"look at: docker logs {host.name}; docker exec {host.name} systemctl --failed"
            )
        time.sleep(0.5)
        answer = ssh(host, state, "systemctl is-system-running --wait")
