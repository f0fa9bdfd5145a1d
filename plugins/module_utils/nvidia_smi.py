# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Output of nvidia-smi as facts: text in, structure out; no process, no Ansible.

``parse`` is the entry. The readers of the forms of output are in ``smi``, one file each.
"""

from __future__ import annotations

from typing import Any

from .smi import listing, log, query, table, topology
from .smi.facts import facts
from .smi.problems import exit_code_problem
from .smi.reading import Reading
from .smi.values import clean


def _words(command: str) -> list[str]:
    words = command.split()
    return words[1:] if words and words[0].rsplit("/", 1)[-1] == "nvidia-smi" else words


def _read(words: list[str], text: str, rc: int) -> Reading:
    fields = next((word.partition("=")[2] for word in words if word.startswith("--query-gpu=")), None)
    single = any(word in ("-i", "--id") or word.startswith(("-i=", "--id=")) for word in words)
    if fields is not None:
        return query.read(text, fields.split(","))
    if "topo" in words:
        peers = any(word.startswith(("-p2p", "--p2p")) for word in words)
        return topology.read_p2p(text, rc) if peers else topology.read_matrix(text, rc)
    if "nvlink" in words:
        return listing.read_nvlink(text, rc)
    if "-L" in words or "--list-gpus" in words:
        return listing.read_list(text)
    if "-x" in words or "--xml-format" in words:
        return log.read_xml(text, single)
    if "-q" in words or "--query" in words:
        return log.read_text(text, single)
    return table.read(text)


def read(command: str, output: str, rc: int = 0) -> Reading:
    """What one run of nvidia-smi tells, as a reading that others can be merged with. Arguments as for ``parse``."""
    text = clean(output)
    reading = _read(_words(command), text, rc)
    if rc and not reading.devices and all(problem.code == "output_unrecognised" for problem in reading.problems):
        reading.problems = [exit_code_problem(rc, text)]
    return reading


def parse(command: str, output: str, rc: int = 0) -> dict[str, Any]:
    """The part of ``ansible_facts.gpustack_gpu`` that one run of nvidia-smi tells.

    ``command`` is the argument string given to nvidia-smi (``topo -m``, ``-q -x``, ``--query-gpu=… --format=…``, empty
    for the table), ``output`` its stdout and stderr as they came, ``rc`` its exit code. Any text is an answer and none
    raises: what is broken, cut short or refused becomes an entry of ``problems`` with ``code``, ``message`` and
    ``remedy``; what is not told is ``None`` or empty.
    """
    return facts(read(command, output, rc))
