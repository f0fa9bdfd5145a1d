#!/usr/bin/env python3
# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notes in every translation of the README which README it is of. To be run when all of them are up to date."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
README = CHECKOUT / "README.md"
LANGUAGES = ("ja", "ko", "zh-CN")
_SIGNATURE = re.compile(r"\n*<!-- Of README\.md [0-9a-f]+ -->\n*\Z")


def signed(text: str) -> str:
    """The translation with the README's hash in its last line."""
    digest = hashlib.sha256(README.read_bytes()).hexdigest()[:16]
    return _SIGNATURE.sub("", text.rstrip("\n")) + f"\n\n<!-- Of README.md {digest} -->\n"


def main() -> None:
    """Signs all of them."""
    for language in LANGUAGES:
        path = CHECKOUT / f"README.{language}.md"
        path.write_text(signed(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
