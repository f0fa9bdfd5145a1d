# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lines of logs as people read them: without colours, timestamps and the names of processes in front."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Nothing that matters stands further away from what makes a line worth reading.
LONGEST_LINE = 2000

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_DOCKER_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)? ")
# "(RayWorkerWrapper pid=431, ip=192.0.2.12)", "(EngineCore_DP0 pid=214)", "(raylet)"; several may follow each other.
_PROCESS = re.compile(r"^\((?P<name>[A-Za-z_][\w:.-]{0,60})(?P<where> (?:pid|ip)=[^()]{1,80})?\) ?")
_ERROR = re.compile(
    r"(?:^|[\s\])])(?:ERROR|CRITICAL|FATAL)\b|\b[A-Za-z_.]*(?:Error|Exception)\b\s*[:(]|\bNCCL WARN\b|\bNVRM: Xid\b"
    r"|^error: |level=(?:error|fatal)"
)
# A word that every such line has: looked for first, because it is quick.
_ERROR_WORD = re.compile(r"ERROR|CRITICAL|FATAL|Error|Exception|NCCL WARN|NVRM: Xid|error: |level=")
# Lines of errors that say nothing by themselves.
_FRAME = re.compile(
    r"Traceback \(most recent call last\)|^\s*File \"|^\s*[\^~]+\s*$|During handling of the above exception"
    r"|The above exception was the direct cause|encountered a fatal error|failed to start\.?$"
    r"|\bERROR\b[^\]]*\]\s*(?:File \"|\^|~|$|raise |return |self\.|await )"
)


def without_colours(text: str) -> str:
    """The text without the codes that colour a terminal."""
    return _COLOURS.sub("", text) if "\x1b" in text else text


def line_around(text: str, position: int) -> tuple[int, str]:
    """Where the line with this position begins, and its text; of a very long one the part around the position."""
    begin = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    end = len(text) if end < 0 else end
    if end - begin > LONGEST_LINE:
        shown_from = max(begin, position - LONGEST_LINE // 2)
        return begin, text[shown_from : min(end, shown_from + LONGEST_LINE)]
    # A bar of progress writes over itself: what counts is the last thing that the line became.
    return begin, text[begin:end].rstrip("\r").rsplit("\r", 1)[-1] if "\r" in text[begin:end] else text[begin:end]


def bare(line: str) -> tuple[str, str]:
    """The process that the line names in front (empty where it names none), and what it says."""
    line = _DOCKER_TIME.sub("", line)
    process = ""
    match = _PROCESS.match(line)
    while match:
        process = process or match.group("name")
        line = line[match.end() :]
        match = _PROCESS.match(line)
    return process, line.strip()


def is_error(line: str) -> bool:
    """Whether the line reports an error and says which one."""
    return _ERROR.search(line) is not None and _FRAME.search(line) is None


def error_lines(text: str, before: int) -> Iterator[tuple[int, str]]:
    """The lines that report an error and begin before this position: where they begin, and what they say."""
    position = 0
    for match in _ERROR_WORD.finditer(text, 0, before):
        if match.start() < position:
            continue
        begin, line = line_around(text, match.start())
        position = begin + max(len(line), 1)
        if is_error(bare(line)[1]):
            yield begin, line
