#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: package_rehearsal
version_added: 1.0.0
short_description: Try package repositories and an installation without touching the host
description:
  - Fetches the keys of repositories and compares their fingerprints, reads the repositories, looks for every wanted
    package and version, and lets the package manager simulate the installation, all of it in a directory that is
    removed again. Neither the host's packages nor its configuration, package lists or caches change.
  - Fails with one clear error where a key is another one, a repository does not answer or is not signed by the key, a
    version is not there, the packages cannot be installed together, or another driver would come along.
  - On hosts with C(dnf) everything but the simulation is done, because C(dnf) cannot simulate a change of module
    streams.
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  platform:
    platforms: linux
options:
  repositories:
    description:
      - The repositories, as P(gpuops.gpustack.nvidia_stack_plan#filter) returns them.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the repository.
        type: str
        required: true
      url:
        description: Where it is.
        type: str
        required: true
      key_url:
        description: Where its key is, ASCII-armoured.
        type: str
        required: true
      key_path:
        description: Where the key will be on the host.
        type: path
        required: true
      path:
        description: Where the entry will be on the host.
        type: path
        required: true
      content:
        description: The entry.
        type: str
        required: true
  keys:
    description:
      - ASCII-armoured keys by the name of the repository. One that is not given is fetched from C(key_url).
    type: dict
    default: {}
  fingerprints:
    description:
      - The fingerprints of which each key must have one.
    type: list
    elements: str
    required: true
  packages:
    description:
      - The wanted packages.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the package.
        type: str
        required: true
      version:
        description: Its version, of which the end may be left out. Empty is any.
        type: str
        default: ""
  preferences:
    description:
      - The apt preferences that will be in place.
    type: str
    default: ""
  without_files:
    description:
      - Entries of the host for the same repositories, which will be gone.
    type: list
    elements: path
    default: []
  driver_version:
    description:
      - The driver's version. A package of another driver in the simulation is an error. Empty where no driver is meant.
    type: str
    default: ""
  timeout:
    description:
      - Seconds to wait for an answer of a server.
    type: int
    default: 30
seealso:
  - plugin: gpuops.gpustack.nvidia_stack_plan
    plugin_type: filter
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Try the installation
  gpuops.gpustack.package_rehearsal:
    repositories:
      - name: nvidia-cuda
        url: https://mirror.example.org/cuda/debian12/x86_64
        key_url: https://mirror.example.org/cuda/debian12/x86_64/3bf863cc.pub
        key_path: /etc/apt/keyrings/nvidia-cuda.asc
        path: /etc/apt/sources.list.d/nvidia-cuda.sources
        content: |
          Types: deb
          URIs: https://mirror.example.org/cuda/debian12/x86_64/
          Suites: /
          Signed-By: /etc/apt/keyrings/nvidia-cuda.asc
    keys:
      nvidia-cuda: "{{ lookup('ansible.builtin.file', 'nvidia-cuda.asc') }}"
    fingerprints:
      - EB693B3035CD5710E231E123A4B469963BF863CC
    packages:
      - {name: nvidia-driver-cuda, version: 580.95.05}
    preferences: |
      Package: *nvidia*
      Pin: version 580.95.05*
      Pin-Priority: 1000
    without_files:
      - /etc/apt/sources.list.d/cuda-debian12-x86_64.list
    driver_version: 580.95.05
    timeout: 60
  become: true
"""

RETURN = r"""
signing_keys:
  description: The keys by the name of their repository.
  returned: success
  type: dict
  sample: {nvidia-cuda: "-----BEGIN PGP PUBLIC KEY BLOCK-----"}
specifications:
  description:
    - The wanted packages with their exact versions, as the package manager takes them, and those that are held and have
      to change with them.
  returned: success
  type: list
  elements: str
  sample: [nvidia-driver-cuda=580.95.05-1]
installs:
  description: What the installation brings, with dependencies. Empty with C(dnf).
  returned: success
  type: dict
  sample: {libcuda1: 580.95.05-1, nvidia-driver-cuda: 580.95.05-1}
removes:
  description: What the installation removes.
  returned: success
  type: list
  elements: str
  sample: []
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import open_url

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_stack import files, openpgp, transaction
from ansible_collections.gpuops.gpustack.plugins.module_utils.package_database import list_packages

APT = Path("/etc/apt")
LISTS = Path("/var/lib/apt/lists")
MAX_LINES = 6


def main() -> None:
    """Run the module."""
    repository = {
        name: {"type": "str", "required": True, "no_log": False} for name in ("name", "url", "key_url", "content")
    }
    repository.update({name: {"type": "path", "required": True} for name in ("key_path", "path")})
    package = {"name": {"type": "str", "required": True}, "version": {"type": "str", "default": ""}}
    module = AnsibleModule(
        argument_spec={
            "repositories": {"type": "list", "elements": "dict", "required": True, "options": repository},
            "keys": {"type": "dict", "default": {}, "no_log": False},  # public keys
            "fingerprints": {"type": "list", "elements": "str", "required": True},
            "packages": {"type": "list", "elements": "dict", "required": True, "options": package},
            "preferences": {"type": "str", "default": ""},
            "without_files": {"type": "list", "elements": "path", "default": []},
            "driver_version": {"type": "str", "default": ""},
            "timeout": {"type": "int", "default": 30},
        },
        supports_check_mode=True,
    )
    keys = {one["name"]: key_of(module, one) for one in module.params["repositories"]}
    stage = Path(tempfile.mkdtemp(prefix="gpustack-rehearsal-"))
    try:
        rehearsal = Apt(module, stage) if module.get_bin_path("apt-get") else Dnf(module, stage)
        rehearsal.prepare(keys)
        candidates = rehearsal.candidates()
        versions, missing = transaction.resolve(module.params["packages"], candidates)
        if missing:
            refuse(
                module,
                "The repositories lack what is wanted",
                "\n".join(missing),
                "Correct the versions, or the mirror.",
            )
        simulated = rehearsal.simulate(versions)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    # What is held moves only by name, also where it is only a dependency.
    _installed, held = list_packages(module)
    exact = {**{name: simulated.install[name] for name in held if name in simulated.install}, **versions}
    driver_version = module.params["driver_version"]
    foreign = transaction.foreign_drivers(simulated, driver_version) if driver_version else {}
    if foreign:
        refuse(
            module,
            f"With driver {driver_version} another one would come along",
            ", ".join(f"{name} {version}" for name, version in foreign.items()),
            "Find out which package wants it (apt-cache rdepends) and take that away.",
        )
    module.exit_json(
        changed=False,
        signing_keys=keys,
        specifications=[f"{name}{rehearsal.separator}{version}" for name, version in exact.items()],
        installs=dict(simulated.install),
        removes=list(simulated.remove),
    )


def refuse(module: AnsibleModule, what: str, found: str, remedy: str) -> NoReturn:
    """End with an error that says what was found and what to do."""
    module.fail_json(msg=f"{what}:\n{found}\n{remedy} The host was not touched.")
    raise AssertionError


def key_of(module: AnsibleModule, repository: dict[str, Any]) -> str:
    """The key of a repository, whose fingerprint is one of the expected."""
    given = module.params["keys"].get(repository["name"])
    source = "the given key" if given else repository["key_url"]
    try:
        text = given or open_url(repository["key_url"], timeout=module.params["timeout"]).read().decode(
            "ascii", "replace"
        )
        found = openpgp.fingerprint(text)
    except (OSError, ValueError) as error:
        refuse(
            module,
            f"There is no key for the repository {repository['name']}",
            f"{source}: {error}",
            "Correct the URL, or give a file with the key.",
        )
    expected = [openpgp.normalised(one) for one in module.params["fingerprints"]]
    if found not in expected:
        refuse(
            module,
            f"The key of the repository {repository['name']} is not the expected one",
            f"{source} has the fingerprint {found}, wanted is {' or '.join(expected)}",
            "Do not trust it before you have found out why; then correct the fingerprint.",
        )
    return text


class Apt:
    """apt with its own sources, lists and preferences in the stage; of the host it only reads."""

    separator = "="

    def __init__(self, module: AnsibleModule, stage: Path) -> None:
        self._module = module
        self._stage = stage
        self._own = stage / "own"
        places = {
            "Dir::State::Lists": stage / "lists",
            "Dir::Etc::SourceParts": stage / "sources",
            "Dir::Etc::PreferencesParts": stage / "preferences",
            "Dir::Cache": stage / "cache",
        }
        settings = {
            **{name: str(path) for name, path in places.items()},
            "APT::Get::List-Cleanup": "0",
            "APT::Sandbox::User": "root",  # the stage is for root only
            "APT::Update::Error-Mode": "any",
            "APT::Update::Post-Invoke::": "",
            "Acquire::Retries": "1",
            "Acquire::http::Timeout": str(module.params["timeout"]),
            "Acquire::https::Timeout": str(module.params["timeout"]),
        }
        self._options = [item for name, value in settings.items() for item in ("-o", f"{name}={value}")]

    def prepare(self, keys: dict[str, str]) -> None:
        """Read our repositories; the host's lists stand in for its other ones, and are read where there are none."""
        without = set(self._module.params["without_files"])
        for name in ("lists/partial", "sources", "own", "preferences", "cache/archives/partial", "keys"):
            (self._stage / name).mkdir(parents=True)
        self._copy(LISTS, "lists", set())
        self._copy(APT / "sources.list.d", "sources", without)
        self._copy(APT / "preferences.d", "preferences", set())
        self._write("preferences", files.PREFERENCES, self._module.params["preferences"])
        for one in self._module.params["repositories"]:
            key = self._stage / "keys" / f"{one['name']}.asc"
            key.write_text(keys[one["name"]], encoding="ascii", errors="replace")
            entry = one["content"].replace(one["key_path"], str(key))
            for directory in ("sources", "own"):
                self._write(directory, one["path"], entry)
        bare = not any((self._stage / "lists").glob("*_Packages*"))
        only_own = [] if bare else ["-o", f"Dir::Etc::SourceParts={self._own}", "-o", "Dir::Etc::SourceList=/dev/null"]
        rc, out, err = self._run("apt-get", "update", *only_own)
        if rc != 0:
            refuse(
                self._module,
                "A package repository cannot be used",
                complaints(out + err),
                "Correct its URL or its key.",
            )

    def candidates(self) -> dict[str, list[str]]:
        """The versions of the wanted packages."""
        names = [one["name"] for one in self._module.params["packages"]]
        _rc, out, _err = self._run("apt-cache", "madison", *names)
        return transaction.read_madison(out)

    def simulate(self, versions: dict[str, str]) -> transaction.Transaction:
        """What the installation would do."""
        exact = [f"{name}={version}" for name, version in versions.items()]
        allowed = ["--no-install-recommends", "--ignore-hold", "--allow-change-held-packages", "--allow-downgrades"]
        rc, out, err = self._run("apt-get", "--simulate", "--yes", *allowed, "install", *exact)
        if rc != 0:
            refuse(
                self._module,
                "The packages cannot be installed together",
                complaints(out + err),
                "Remove what is in the way, such as packages of another driver or repository.",
            )
        return transaction.read_simulation(out)

    def _run(self, command: str, *arguments: str) -> tuple[int, str, str]:
        path = self._module.get_bin_path(command, required=True)
        environment = {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
        rc, out, err = self._module.run_command([path, *self._options, *arguments], environ_update=environment)
        return rc, out, err

    def _write(self, directory: str, path: str, content: str) -> None:
        """In place of the link to the host's file of that name, never through it."""
        target = self._stage / directory / os.path.basename(path)
        target.unlink(missing_ok=True)
        target.write_text(content, encoding="utf-8")

    def _copy(self, source: Path, target: str, without: set[str]) -> None:
        if source.is_dir():
            for file in source.iterdir():
                if file.is_file() and str(file) not in without and file.name != "lock":
                    (self._stage / target / file.name).symlink_to(file)


class Dnf:
    """dnf with its own repositories and cache in the stage."""

    separator = "-"

    def __init__(self, module: AnsibleModule, stage: Path) -> None:
        self._module = module
        self._stage = stage

    def prepare(self, keys: dict[str, str]) -> None:
        """Write the repositories. Their modules do not count here, or the packages of other streams were hidden."""
        for one in self._module.params["repositories"]:
            key = self._stage / f"{one['name']}.asc"
            key.write_text(keys[one["name"]], encoding="ascii", errors="replace")
            # Under a name of its own, or the entry that is there already would count as well.
            entry = one["content"].replace(f"[{one['name']}]", f"[{one['name']}-rehearsal]")
            entry = entry.replace(one["key_path"], str(key)) + "module_hotfixes=1\n"
            (self._stage / os.path.basename(one["path"])).write_text(entry, encoding="utf-8")

    def candidates(self) -> dict[str, list[str]]:
        """The versions of the wanted packages, also of those that come from the distribution."""
        names = [one["name"] for one in self._module.params["packages"]]
        command = transaction.dnf_repoquery(str(self._stage), names)
        rc, out, err = self._module.run_command(command)
        if rc != 0:
            refuse(
                self._module,
                "A package repository cannot be used",
                complaints(out + err),
                "Correct its URL or its key.",
            )
        return transaction.newest_first(transaction.read_madison(out))

    def simulate(self, versions: dict[str, str]) -> transaction.Transaction:
        """dnf cannot simulate a change of module streams; what is known is what was asked for."""
        return transaction.Transaction(versions, ())


def complaints(output: str) -> str:
    """The lines of a package manager that tell what is wrong."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("E:", "W:", "Err:", "Error", "Depends:", "Conflicts:"))]
    conflicts = [line for line in lines if "Depends:" in line or "Conflicts:" in line or "but it is not" in line]
    return "\n".join(dict.fromkeys([*conflicts, *(told or lines[-MAX_LINES:])][:MAX_LINES]))


if __name__ == "__main__":
    main()
