# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Links between the documents lead somewhere; nothing is asked over the network."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from documents import CHECKOUT, all_documents, anchors, targets


@pytest.mark.parametrize("document", all_documents())
def test_local_links_and_images_lead_to_what_is_there(document: str) -> None:
    path = CHECKOUT / document
    wrong = []
    for target in targets(path):
        link = urlsplit(target)
        if link.scheme or link.netloc:
            continue
        other = (path.parent / unquote(link.path)).resolve() if link.path else path
        if not other.exists() or (link.fragment and link.fragment not in anchors(other)):
            wrong.append(target)
    assert wrong == []


def test_every_guide_is_reached_from_the_readme() -> None:
    """Directly, or over another guide."""
    reached, waiting = set(), [CHECKOUT / "README.md"]
    while waiting:
        path = waiting.pop()
        reached.add(path)
        links = [(path.parent / urlsplit(target).path).resolve() for target in targets(path) if "://" not in target]
        waiting += [link for link in links if link.suffix == ".md" and link.exists() and link not in reached]
    guides = {path for path in (CHECKOUT / "docs").glob("*.md") if path.name != "index.md"}
    assert sorted(path.name for path in guides - reached) == []
