#!/usr/bin/env python3
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The built collection through Galaxy's importer; a warning is a failure.

importer.py DIRECTORY    the directory that has the importer's python and the tools it calls
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Returns 1 when the importer fails or warns."""
    tools = Path(sys.argv[1]).resolve()
    built = max((CHECKOUT / "build").glob("gpuops-gpustack-*.tar.gz"))
    with tempfile.TemporaryDirectory() as directory:
        result = subprocess.run(
            [str(tools / "python"), "-m", "galaxy_importer.main", str(built)],
            cwd=directory,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    complaints = [line for line in result.stdout.splitlines() if line.startswith(("WARNING", "ERROR"))]
    print("\n".join(complaints) or f"galaxy-importer takes {built.name}")
    return 1 if result.returncode or complaints else 0


if __name__ == "__main__":
    sys.exit(main())
