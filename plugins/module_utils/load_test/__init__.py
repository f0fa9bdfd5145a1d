# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Load tests: what is asked of an engine, what was seen meanwhile, and what follows from it. Pure.

The traffic itself is made by a generator of its own (AIPerf); nothing in here sends a request.

``stages``       profiles and the engine's capacity → what to ask, one stage after the other
``invocation``   a stage → the generator's configuration file
``results``      the generator's report → figures
``prometheus``   an engine's metrics page → its gauges and counters
``watching``     samples of a run → stops of engines, a bounded series
``record``       all of it, for pages, comparisons and machines
``verdict``      figures, observation and limits → passed, failed, inconclusive
"""
