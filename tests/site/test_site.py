# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The built site: opened from the disk, every link, anchor and image in it is there. `make docs` builds it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

CHECKOUT = Path(__file__).resolve().parents[2]
SITE = CHECKOUT / "build" / "docs"
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
# Pages without guides: made by the theme, and led to by its script.
OF_THE_THEME = {"genindex.html", "search.html"}


@cache
def page(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@cache
def anchors(path: Path) -> frozenset[str]:
    return frozenset(tag["id"] for tag in page(path).find_all(id=True))


def test_every_guide_and_the_reference_are_there() -> None:
    guides = {f"{path.stem}.html" for path in (CHECKOUT / "docs").glob("*.md")}
    assert sorted(guides - set(PAGES)) == []
    assert "reference/index.html" in PAGES


@pytest.mark.parametrize("name", sorted(set(PAGES) - OF_THE_THEME))
def test_what_a_page_leads_to_is_there(name: str) -> None:
    path = SITE / name
    wrong = []
    for tag, attribute in (("a", "href"), ("img", "src"), ("link", "href"), ("script", "src")):
        for found in page(path).find_all(tag, **{attribute: True}):
            link = urlsplit(found[attribute])
            if link.scheme or link.netloc:
                continue
            other = (path.parent / unquote(link.path)).resolve() if link.path else path
            if not other.is_file() or (
                link.fragment and other.suffix == ".html" and unquote(link.fragment) not in anchors(other)
            ):
                wrong.append(found[attribute])
    assert sorted(set(wrong)) == []


def test_a_page_asks_nobody_for_anything() -> None:
    """It opens where there is no network: styles, scripts and images come along."""
    foreign = {
        found[attribute]
        for name in PAGES
        for tag, attribute in (("img", "src"), ("script", "src"), ("link", "href"))
        for found in page(SITE / name).find_all(tag, **{attribute: True})
        if urlsplit(found[attribute]).netloc
    }
    assert foreign == set()
