#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: package_holds
version_added: 1.0.0
short_description: Hold all installed packages whose names match
description:
  - Makes the package manager keep packages at their installed versions, C(dpkg)'s hold where there is C(dpkg), and
    C(versionlock) where there is C(dnf).
  - Takes patterns, because what comes along as a dependency has to stay too, and does it for all packages at once.
  - Packages that do not match are left alone, also where they are held.
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  platform:
    platforms: linux
options:
  patterns:
    description:
      - Names of packages, as shell patterns.
    type: list
    elements: str
    required: true
seealso:
  - module: ansible.builtin.dpkg_selections
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Keep the driver where it is
  gpuops.gpustack.package_holds:
    patterns: ["*nvidia*", libcuda1]
"""

RETURN = r"""
held:
  description: The packages that are held now and match.
  returned: success
  type: list
  elements: str
  sample: [libcuda1, nvidia-driver-cuda]
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_stack import freeze
from ansible_collections.gpuops.gpustack.plugins.module_utils.package_database import list_packages


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={"patterns": {"type": "list", "elements": "str", "required": True}}, supports_check_mode=True
    )
    installed, held = list_packages(module)
    wanted = freeze.frozen(installed, module.params["patterns"])
    missing = sorted(set(wanted) - set(held))
    if missing and not module.check_mode:
        hold(module, missing)
    module.exit_json(
        changed=bool(missing),
        held=wanted,
        diff={"before": lines(set(wanted) - set(missing)), "after": lines(set(wanted))},
    )


def hold(module: AnsibleModule, names: list[str]) -> None:
    """Hold these packages, all at once."""
    apt_mark = module.get_bin_path("apt-mark")
    command = [apt_mark, "hold", *names] if apt_mark else freeze.versionlock(names)
    rc, out, err = module.run_command(command)
    if rc != 0:
        module.fail_json(
            msg=f"Packages could not be held: {(err or out).strip()}. Wanted were {', '.join(names)}. Run with become; "
            "dnf needs python3-dnf-plugin-versionlock.",
            rc=rc,
        )


def lines(names: set[str]) -> str:
    """One name a line."""
    return "".join(f"{name}\n" for name in sorted(names))


if __name__ == "__main__":
    main()
