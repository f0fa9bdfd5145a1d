# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plans of ``vllm_plan`` as people read them: a text block for a terminal and one HTML page.

Pure and free of Ansible: ``read`` takes dictionaries in, ``fleet`` and ``memory`` work out what is shown, ``terminal``
writes the text, ``page`` and ``drawing`` prepare what the templates beside them put on the page. Nothing here decides
anything about a model.
"""
