# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and say whether it would change something, without changing it.
    support: full
  diff_mode:
    description: Returns what differed, before and after, when in diff mode.
    support: full
  idempotent:
    description: Changes nothing when run again with the same options.
    support: full
"""

    # For modules that only look.
    INFO = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and say whether it would change something, without changing it.
    support: full
    details: Changes nothing.
  diff_mode:
    description: Returns what differed, before and after, when in diff mode.
    support: N/A
    details: Changes nothing.
  idempotent:
    description: Changes nothing when run again with the same options.
    support: full
    details: Changes nothing.
"""

    ACTION_GROUP = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/gpuops.gpustack.gpustack) in C(module_defaults) to set the connection once.
    support: full
    membership:
      - gpuops.gpustack.gpustack
"""
