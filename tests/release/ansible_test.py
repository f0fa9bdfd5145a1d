#!/usr/bin/env python3
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``ansible-test``, with one release of ansible-core in an environment of its own.

ansible_test.py sanity 2.18 python3.11
ansible_test.py units 2.21 python3.13
ansible_test.py sanity 2.18 python3.11 --test pep8    what follows is ansible-test's own

ansible-test wants to lie in a tree named ansible_collections, so the built collection (for the unit tests: the last
commit) is put into one. It would fetch pip from a place of its own; here pip comes from the Python index that this
machine uses for everything else.
"""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
ROOT = CHECKOUT / ".build" / "release"
CACHE = Path.home() / ".ansible" / "test" / "cache"

# Run by ansible-test in an empty virtual environment, with pip's own arguments.
BOOTSTRAP = """\
import sys

sys.path.insert(0, {wheel!r})
from pip._internal.cli.main import main

options = [option for option in sys.argv[1:] if option not in ("--no-setuptools", "--no-wheel")]
sys.exit(main(["install", *options]))
"""


def main() -> int:
    """Returns ansible-test's exit code."""
    command, core, python, *more = sys.argv[1:]
    environment = _environment(core, python)
    tree = ROOT / core / "ansible_collections" / "gpuops" / "gpustack"
    _export(command, tree)
    _keep_pip(environment)
    number = _output([str(environment / "bin" / "python"), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
    options = {"sanity": ["--color", "no"], "units": ["--color", "no", "--num-workers", "2"]}[command]
    tool = str(environment / "bin" / "ansible-test")
    print(f"ansible-test {command}, ansible-core {core}, Python {number}", flush=True)
    return subprocess.run([tool, command, "--python", number, *options, *more], cwd=tree, check=False).returncode


def _environment(core: str, python: str) -> Path:
    environment = ROOT / f"core-{core}"
    if not (environment / "bin" / "ansible-test").exists():
        if subprocess.run([python, "-m", "venv", str(environment)], check=False).returncode:
            sys.exit(f"{python} makes no virtual environment. Give one that does, as: {core} /path/to/{python}")
        wanted = [f"ansible-core~={core}.0", "pytest", "pytest-mock", "pytest-xdist", "pytest-forked"]
        requirements = CHECKOUT / "tests" / "unit" / "requirements.txt"
        pip = [str(environment / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *wanted, "--requirement", str(requirements)], check=True)
    return environment


def _export(command: str, tree: Path) -> None:
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    if command == "units":
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=CHECKOUT, check=True, capture_output=True).stdout
    else:
        archive = gzip.decompress(max((CHECKOUT / "build").glob("gpuops-gpustack-*.tar.gz")).read_bytes())
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive, check=True)
    # ansible-test asks git which files there are, and the checkout's own repository ignores this place.
    subprocess.run(["git", "init", "--quiet"], cwd=tree, check=True)
    subprocess.run(["git", "add", "--all", "--force"], cwd=tree, check=True)


def _keep_pip(environment: Path) -> None:
    """Puts a bootstrap of pip where ansible-test looks before it would fetch one."""
    site = next((environment / "lib").glob("python3.*/site-packages/ansible_test"))
    text = (site / "_internal" / "python_requirements.py").read_text(encoding="utf-8")
    for version in set(re.findall(r"pip='([0-9.]+)'", text)):
        target = CACHE / f"get_pip_{version.replace('.', '_')}.py"
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        pip = [str(environment / "bin" / "pip"), "download", "--quiet", "--no-deps", f"pip=={version}"]
        subprocess.run([*pip, "--dest", str(ROOT / "wheels")], check=True)
        wheel = next((ROOT / "wheels").glob(f"pip-{version}-*.whl"))
        target.write_text(BOOTSTRAP.format(wheel=str(wheel)), encoding="utf-8")


def _output(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
