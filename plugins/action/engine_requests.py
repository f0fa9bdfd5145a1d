# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shows how many requests are still in flight while the task waits."""

from __future__ import annotations

from ansible_collections.gpuops.gpustack.plugins.plugin_utils.settling import SettlingAction


class ActionModule(SettlingAction):
    module = "gpuops.gpustack.engine_requests"
    default_timeout = 0
    poll_seconds = 0.5
