# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters ``load_test_subject``, the model of a load test, and ``load_test_fingerprint``, its configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.record import (
    SubjectError,
    configuration_of,
    subject,
)


def load_test_subject(models: Any, name: Any, plan: Any = None) -> dict[str, Any]:
    """See ``load_test_subject.yml`` for shapes and errors."""
    try:
        return subject(models, str(name), plan or None)
    except SubjectError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The collection's filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"load_test_subject": load_test_subject, "load_test_fingerprint": configuration_of}
