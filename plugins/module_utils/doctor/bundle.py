# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of a support bundle: findings, facts, configurations and logs, without secrets and personal data."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from .. import masking, redaction
from ..planning.mask import MASK, is_secret_name
from .report import text_of

_README = """What this bundle holds: the doctor's findings (findings.txt, findings.json), what GPUStack told of itself
(gpustack.json), and for every host its facts, the state of its container engine and engines, and the ends of its logs.
Tokens, passwords, keys, e-mail addresses and whatever looks like a key were replaced by ********.
Look through it before you pass it on.
"""


def support_files(
    look: Mapping[str, Any], result: Mapping[str, Any], secrets: Collection[str], pseudonyms: bool = False
) -> dict[str, str]:
    """Texts by file name. ``look`` has the keys of ``Look``; with ``pseudonyms`` hosts and addresses are renamed."""
    files = {
        "README.txt": _README,
        "findings.txt": text_of(result) + "\n",
        "findings.json": _json(result),
        "gpustack.json": _json({name: look.get(name) for name in ("api", "registered", "models", "declared")}),
    }
    for host, parts in look["hosts"].items():
        for name, part in parts.items():
            if name != "logs":
                files[f"{host}/{name}.json"] = _json(part)
        for log in (parts.get("logs") or {}).get("logs") or []:
            files[f"{host}/logs/{log['source']}.log"] = log["text"] or f"{log['problem'] or 'empty'}\n"
    clean = {name: redaction.redact_text(text, secrets) for name, text in files.items()}
    if not pseudonyms:
        return clean
    names = redaction.pseudonyms(look["hosts"], clean.values())
    return {
        redaction.pseudonymise(name, names): redaction.pseudonymise(text, names) for name, text in sorted(clean.items())
    }


def _json(value: Any) -> str:
    return json.dumps(_without_secrets(value), indent=2, sort_keys=True, default=str, ensure_ascii=False) + "\n"


def _without_secrets(value: Any) -> Any:
    """The value with everything masked that stands under a name of a secret, at every depth."""
    if isinstance(value, Mapping):
        return {
            str(name): MASK
            if is_secret_name(str(name)) and isinstance(inner, str) and inner
            else _without_secrets(inner)
            for name, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        if all(isinstance(item, str) for item in value):
            return masking.mask_parameters(value)
        return [_without_secrets(item) for item in value]
    return value
