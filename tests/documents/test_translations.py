# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The README says the same in every language.

Each translation names in its last line the README that it was made from. A change of the README needs the same change
in each of them, and then `python tests/documents/translations.py`, which writes that line anew.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from documents import CHECKOUT, targets, tokens
from translations import LANGUAGES, README, signed

TRANSLATIONS = [CHECKOUT / f"README.{language}.md" for language in LANGUAGES]


def skeleton(path: Path) -> list[str]:
    """What is no language: kinds and order of blocks, levels of headings, blocks of code word for word."""
    result = []
    for token in tokens(path):
        if token.type == "fence":
            result.append(f"{token.info}: {token.content}")
        elif token.block and token.nesting == 1:
            result.append(token.tag)
    return result


def code(path: Path) -> Counter[str]:
    """The commands, names and values in the text, in whatever order a language has them."""
    return Counter(token.content for token in tokens(path) if token.type == "code_inline")


def links(path: Path) -> Counter[str]:
    """Where it leads, except to itself in other languages."""
    return Counter(target for target in targets(path) if not target.startswith("README"))


@pytest.mark.parametrize("path", TRANSLATIONS, ids=LANGUAGES)
def test_translation_is_of_the_readme_as_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == signed(text), "translate what has changed, then: python tests/documents/translations.py"


@pytest.mark.parametrize("what", [skeleton, code, links])
@pytest.mark.parametrize("path", TRANSLATIONS, ids=LANGUAGES)
def test_translation_has_the_same_blocks_commands_and_links(path: Path, what: object) -> None:
    assert callable(what)
    assert what(path) == what(README)


def test_each_readme_leads_to_those_in_other_languages() -> None:
    names = {path.name for path in (README, *TRANSLATIONS)}
    for path in (README, *TRANSLATIONS):
        assert {target for target in targets(path) if target.startswith("README")} == names - {path.name}
