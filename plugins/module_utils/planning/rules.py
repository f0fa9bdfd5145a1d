# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every rule that the planner knows, as data: id, when it applies, what then, why, source, vLLM versions.

Three tables, evaluated in this order for one model in one layout:

* ``REFUSALS``: what will not run. One about a parameter or variable of the user is an error that names the rule; one
  about the model or its cards rules out the layout.
* ``PARAMETERS`` and ``VARIABLES``: what is emitted, in this order; the first row that applies to a flag wins, the
  user's own flag before all. A variable with the value None is taken away.
* ``CAUTIONS``: what runs, and what the user must know about it: the plan's warnings.

``override: [rule-id]`` of a model lifts a rule that is liftable. A new generation, model family or vLLM version is a
row here, in ``hardware.py``, ``families.py``, ``quantization.py`` or ``vllm_flags.py``, and a test.
"""

from __future__ import annotations

from .cautions import CAUTIONS
from .emissions import PARAMETERS, VARIABLES
from .refusals import REFUSALS
from .rule import Rule

__all__ = ["CAUTIONS", "PARAMETERS", "REFUSALS", "VARIABLES", "all_rules"]


def all_rules() -> dict[str, Rule]:
    """One rule per id, for ``override`` and documentation; an id that several rows share stands once."""
    rules: dict[str, Rule] = {}
    for rule in (*REFUSALS, *PARAMETERS, *VARIABLES, *CAUTIONS):
        rules.setdefault(rule.id, rule)
    return rules
