# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an engine answers for itself, asked on its own port and not through GPUStack."""

from __future__ import annotations

from ansible.module_utils.urls import open_url


def metrics_page(address: str, timeout_seconds: int) -> str | None:
    """The metrics page of the engine at ``host:port``; None when it does not give one."""
    try:
        with open_url(f"http://{address}/metrics", timeout=timeout_seconds, use_proxy=False) as answer:
            page: bytes = answer.read()
    except Exception:  # whatever the network or the engine did, there is no page
        return None
    return page.decode("utf-8", errors="replace")
