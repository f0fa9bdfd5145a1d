# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Texts of unknown content (logs, configuration, messages) without the secrets and personal data in them. Pure.

`masking` knows the fields of GPUStack's objects; here a secret is known by its name, by its form, or by looking as
nothing but a key does. What is masked too much is a pity; what is masked too little is a leak.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from . import masking
from .planning.mask import MASK, is_secret_name, masked

_PRIVATE_KEY = re.compile(
    r"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----).*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
_AUTHORIZATION = re.compile(r"\b(bearer|basic|token)\s+(?=[A-Za-z0-9._~+/=-]*\d)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_HEADER = re.compile(
    r"((?:proxy-)?authorization|x-api-key|(?:set-)?cookie)(['\"]?\s*[:=]\s*['\"]?)(?:(?:bearer|basic|token)\s+)?[^'\"\s]+",
    re.IGNORECASE,
)
# `"name": "value"`, `name=value`, `name: value`. The value goes on to the quote, or to the end of the word.
_ASSIGNMENT = re.compile(
    r"""(?P<head>(?P<quote>["']?)(?P<name>[A-Za-z_][\w.-]{0,80})(?P=quote)\s*[:=]\s*)
        (?P<value>"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*'|[^\s"',;}\]]+)""",
    re.VERBOSE,
)
_NAMES_OF_FILES_WITH_SECRETS = frozenset({"auth", "auths", "identitytoken", "registrytoken", "pwd"})
_NO_SECRETS = frozenset({"none", "null", "true", "false", "yes", "no", "unset", MASK})
_KNOWN_FORMS = re.compile(
    r"\b(?:gpustack_[0-9a-f]{8,}_[0-9a-f]{16,}|hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}"
    r"|github_pat_\w{16,}|glpat-[\w-]{16,}|nvapi-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|A(?:KIA|SIA)[0-9A-Z]{16}"
    r"|AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
)
_EMAIL = re.compile(r"\b[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b")
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
# Digests of images and identifiers of cards are no secrets, and worth reading.
_CANDIDATE = re.compile(rf"sha256:[0-9a-f]{{64}}|(?:GPU-|MIG-)?{_UUID}|[A-Za-z0-9+/_=-]{{24,}}")
_HARMLESS_CANDIDATE = re.compile(rf"sha256:|(?:GPU-|MIG-)?{_UUID}$")
# In a random string of letters and digits the kind of character changes at about every second place; in words and
# paths, at fewer than every fourth. The longer the string, the smaller the chance that it changes less often.
_LEAST_CHANGES = 0.3
_LONG = 32
_LEAST_CHANGES_OF_LONG = 0.2

_ADDRESS = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_EVERYBODYS_ADDRESSES = re.compile(r"(?:127\.|0\.0\.0\.0$|255\.)")


def redact_text(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without secrets and e-mail addresses: the given ones, and what is named or looks like one."""
    text = _PRIVATE_KEY.sub(rf"\1 {MASK}", text)
    text = masking.redact(text, secrets)
    text = _HEADER.sub(rf"\1\2{MASK}", text)
    text = _AUTHORIZATION.sub(rf"\1 {MASK}", text)
    text = masked(text)
    text = _ASSIGNMENT.sub(_assignment, text)
    text = _KNOWN_FORMS.sub(MASK, text)
    text = _EMAIL.sub(MASK, text)
    return _CANDIDATE.sub(lambda match: MASK if looks_like_a_key(match.group()) else match.group(), text)


def looks_like_a_key(word: str) -> bool:
    """Whether a word is too irregular to be anything but a key, a token or a hash."""
    if _HARMLESS_CANDIDATE.match(word):
        return False
    kinds = [_kind(character) for character in word if character.isalnum()]
    if "digit" not in kinds or len(set(kinds)) < 2:
        return False
    changes = sum(one != other for one, other in zip(kinds, kinds[1:]))
    return changes / len(word) >= (_LEAST_CHANGES_OF_LONG if len(word) >= _LONG else _LEAST_CHANGES)


def _kind(character: str) -> str:
    if character.isdigit():
        return "digit"
    return "upper" if character.isupper() else "lower"


def _assignment(match: re.Match[str]) -> str:
    name, value = match.group("name"), match.group("value")
    quote = value[0] if value[0] in "\"'" else ""
    bare = value.strip("\"'")
    secret = is_secret_name(name) or name.lower().split(".")[-1] in _NAMES_OF_FILES_WITH_SECRETS
    if not secret:
        # `usb: password=x`, `message="password=x"`: what looks like a value may be an assignment itself.
        return match.group("head") + _ASSIGNMENT.sub(_assignment, value)
    if len(bare) < 4 or bare.lower() in _NO_SECRETS:
        return match.group()
    return f"{match.group('head')}{quote}{MASK}{quote}"


def pseudonyms(hosts: Iterable[str], texts: Iterable[str]) -> dict[str, str]:
    """A name for every host and every IPv4 address in the texts, the same one wherever it occurs.

    ``host-1``, ``ip-1`` …, in the order of hosts given and of addresses met. Loop-back and broadcast stay.
    """
    names = {host: f"host-{number}" for number, host in enumerate(dict.fromkeys(hosts), 1)}
    found = dict.fromkeys(address for text in texts for address in _ADDRESS.findall(text))
    real = [address for address in found if not _EVERYBODYS_ADDRESSES.match(address)]
    return {**names, **{address: f"ip-{number}" for number, address in enumerate(real, 1)}}


def pseudonymise(text: str, names: Mapping[str, str]) -> str:
    """The text with these names in the place of the real ones, longest first."""
    if not names:
        return text
    words = sorted(names, key=len, reverse=True)
    pattern = "|".join(re.escape(word) for word in words)
    return re.sub(rf"(?<![\w.-])(?:{pattern})(?![\w-])", lambda match: names[match.group()], text)
