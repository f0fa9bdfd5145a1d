# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The documents of the repository, and what is in one."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

CHECKOUT = Path(__file__).resolve().parents[2]
_PARSER = MarkdownIt("commonmark").enable("table")


def all_documents() -> list[str]:
    """The Markdown files that are in the repository."""
    tracked = subprocess.run(["git", "ls-files", "*.md"], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return tracked.stdout.splitlines()


def tokens(path: Path) -> Iterator[Token]:
    """All tokens, those inside of paragraphs too."""
    for token in _PARSER.parse(path.read_text(encoding="utf-8")):
        yield token
        yield from token.children or []


def targets(path: Path) -> list[str]:
    """Where links and images of a document lead."""
    found = [token.attrs.get("href", token.attrs.get("src")) for token in tokens(path) if token.type != "link_close"]
    return [str(target) for target in found if target]


def anchors(path: Path) -> set[str]:
    """The anchors of its headings, as GitHub and the site make them."""
    blocks = _PARSER.parse(path.read_text(encoding="utf-8"))
    headings = [text for opening, text in zip(blocks, blocks[1:]) if opening.type == "heading_open"]
    texts = ["".join(part.content for part in heading.children or []) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}


def commands(path: Path) -> list[str]:
    """The commands to type, one a line and without comments: blocks of shell, and ansible-playbook in a text."""
    blocks = [token.content for token in tokens(path) if token.type == "fence" and token.info == "sh"]
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    lines += [token.content for token in tokens(path) if token.type == "code_inline" and " -i " in token.content]
    return [command for line in lines if (command := " ".join(re.sub(r"(^|\s)# .*", "", line).split()))]
