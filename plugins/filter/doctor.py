# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filters of the role doctor: what was looked at → findings → text, page and support bundle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ansible_collections.gpuops.gpustack.plugins.module_utils import doctor
from ansible_collections.gpuops.gpustack.plugins.module_utils.doctor import bundle, hosts, report
from ansible_collections.gpuops.gpustack.plugins.module_utils.templated import with_nulls

MODULE_UTILS = Path(report.__file__).parents[1]


def doctor_targets(
    host: str, workers: Mapping[str, Any], servers: Sequence[str] = (), server_url: str = "", registry: str = ""
) -> dict[str, dict[str, Any]]:
    """What the host has to reach in a running fleet."""
    try:
        return hosts.targets_of(host, workers, list(servers), server_url, registry)
    except (AttributeError, ValueError) as error:
        raise AnsibleFilterError(f"doctor_targets: {error}. Wanted are addresses by worker, and a URL.") from error


def doctor_findings(look: Any) -> dict[str, Any]:
    """Everything that is wrong with what was looked at."""
    try:
        return doctor.examine(doctor.Look(**with_nulls(look)))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise AnsibleFilterError(
            f"doctor_findings: {type(error).__name__} {error}. See the filter's documentation for the shape."
        ) from error


def doctor_text(result: Mapping[str, Any]) -> str:
    """The findings as a block of text."""
    return report.text_of(_result("doctor_text", result))


def doctor_html(result: Mapping[str, Any], generated_at: str = "") -> str:
    """The findings as a page that needs nothing else."""
    environment = Environment(
        loader=FileSystemLoader([MODULE_UTILS / "doctor/templates", MODULE_UTILS / "plan_report/templates"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    context = report.page_of(_result("doctor_html", result), str(generated_at))
    return environment.get_template("doctor.html.j2").render(context)


def doctor_support_files(
    look: Mapping[str, Any], result: Mapping[str, Any], secrets: Sequence[str] = (), pseudonyms: bool = False
) -> dict[str, str]:
    """The files of a support bundle, by name."""
    wanted = [str(secret) for secret in secrets if secret]
    return bundle.support_files(look, _result("doctor_support_files", result), wanted, bool(pseudonyms))


def _result(name: str, result: Any) -> Mapping[str, Any]:
    if not isinstance(result, Mapping) or "findings" not in result:
        raise AnsibleFilterError(f"{name}: the result of doctor_findings is wanted.")
    return result


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "doctor_findings": doctor_findings,
            "doctor_html": doctor_html,
            "doctor_support_files": doctor_support_files,
            "doctor_targets": doctor_targets,
            "doctor_text": doctor_text,
        }
