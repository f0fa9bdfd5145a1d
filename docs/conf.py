# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation as a site: the guides of this directory, and the reference that antsibull-docs generates."""

from __future__ import annotations

import os
import re
from pathlib import Path

import yaml
from docutils import nodes

CHECKOUT = Path(os.environ["CHECKOUT"])
GALAXY = yaml.safe_load((CHECKOUT / "galaxy.yml").read_text(encoding="utf-8"))

project = f"{GALAXY['namespace']}.{GALAXY['name']}"
author = "gpuops contributors"
project_copyright = f"2026, {author}"
version = release = GALAXY["version"]

extensions = ["myst_parser", "sphinx_antsibull_ext"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"{project} {version}"
html_show_sphinx = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
# One kind of highlighting for all that a shell, Ansible or a table of a terminal is shown with.
highlight_language = "none"
# antsibull-docs writes a heading for every option, and the same name in two roles is no ambiguity.
suppress_warnings = ["ref.envvar"]

_OUTSIDE = re.compile(r"\]\(\.\./([^)#]+)(#[^)]*)?\)")


def link_to_repository(_app, _document, source):
    """The site has only docs/: a link of a guide to another file of the repository leads to the repository."""
    source[0] = _OUTSIDE.sub(rf"]({GALAXY['repository']}/blob/main/\1\2)", source[0])


_CONTENTS = re.compile(r"^\.\. contents::\n(?: +:.*\n)+", re.MULTILINE)


def leave_contents_to_the_theme(_app, document, source):
    """antsibull-docs begins its pages with a table of contents, which the theme has at the side and refuses."""
    if document.startswith("reference/"):
        source[0] = _CONTENTS.sub("", source[0])


# What antsibull-docs refers to in Ansible's own documentation. The site is built without network, so no inventory of
# that documentation is asked for its pages.
_ANSIBLE = "https://docs.ansible.com/ansible/latest"
_ANSIBLE_PAGES = {
    "action_plugins": "plugins/action.html",
    "ansible_configuration_settings": "reference_appendices/config.html",
    "callback_plugins": "plugins/callback.html",
    "common_return_values": "reference_appendices/common_return_values.html",
    "inventory_plugins": "plugins/inventory.html",
}
_ANSIBLE_PLUGIN = re.compile(
    r"ansible_collections\.(ansible|community)\.(\w+)\.(\w+_(?:module|filter|lookup|inventory))"
)


def link_to_ansible(_app, _environment, node, text):
    """Resolves a label of Ansible's documentation; anything else stays an unknown label, which is an error."""
    label = node.get("reftarget", "")
    page = _ANSIBLE_PAGES.get(label)
    plugin = _ANSIBLE_PLUGIN.fullmatch(label)
    if plugin:
        page = "collections/{}/{}/{}.html".format(*plugin.groups())
    return nodes.reference("", "", text, refuri=f"{_ANSIBLE}/{page}", internal=False) if page else None


def setup(app):
    app.connect("missing-reference", link_to_ansible)
    app.connect("source-read", link_to_repository)
    app.connect("source-read", leave_contents_to_the_theme)
