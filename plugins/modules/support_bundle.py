#!/usr/bin/python

# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: support_bundle
version_added: 1.0.0
short_description: Write texts into one archive that can be passed on
description:
  - Writes texts as files into a C(tar.gz) archive that only its owner can read.
  - The same texts give the same archive, byte by byte, so a second run changes nothing.
  - Removes no secrets. P(gpuops.gpustack.doctor_support_files#filter) gives texts without them.
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  platform:
    platforms: posix
options:
  path:
    description:
      - The archive. Its directory has to exist.
    type: path
    required: true
  files:
    description:
      - Texts by their names in the archive.
    type: dict
    required: true
seealso:
  - plugin: gpuops.gpustack.doctor_support_files
    plugin_type: filter
author:
  - gpuops contributors (@gpuops)
"""

EXAMPLES = r"""
- name: Write what support needs
  gpuops.gpustack.support_bundle:
    path: /tmp/support.tar.gz
    files: "{{ look | gpuops.gpustack.doctor_support_files(result) }}"
  delegate_to: localhost
"""

RETURN = r"""
path:
  description: The archive.
  returned: success
  type: str
  sample: /tmp/support.tar.gz
"""

import gzip
import io
import tarfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule


def archive(files: dict[str, str], directory: str) -> bytes:
    """The archive's bytes; everything in it lies in one directory."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, text in sorted(files.items()):
            content = text.encode("utf-8", "replace")
            entry = tarfile.TarInfo(f"{directory}/{name}")
            entry.size, entry.mode = len(content), 0o600
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "files": {"type": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    path = Path(module.params["path"])
    outside = [name for name in module.params["files"] if name.startswith("/") or ".." in name.split("/")]
    if outside:
        module.fail_json(msg=f"files has {', '.join(outside)}; wanted are relative names that stay in the archive.")
    content = archive(module.params["files"], path.name.split(".")[0])
    try:
        before = path.read_bytes() if path.exists() else None
        if before != content and not module.check_mode:
            path.touch(mode=0o600)
            path.chmod(0o600)
            path.write_bytes(content)
    except OSError as error:
        module.fail_json(msg=f"{path} cannot be written: {error.strerror}. Name a directory that exists and is yours.")
    module.exit_json(changed=before != content, path=str(path))


if __name__ == "__main__":
    main()
