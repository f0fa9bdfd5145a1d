# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from stack_host import A100, B200, GH200, H100, K80, V100

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_stack import cards


@pytest.mark.parametrize(
    ("host", "branch", "kernel_modules"),
    [
        ([V100, V100], 580, "proprietary"),
        ([V100, A100], 580, "proprietary"),
        ([V100, H100], 575, "proprietary"),
        ([A100], 580, "open"),
        ([H100], 590, "open"),
        ([B200], 580, "open"),
        ([A100, B200], 590, "open"),
        ([GH200], 580, "open"),
        ([A100], 615, "open"),
    ],
)  # fmt: skip
def test_kernel_modules_follow_all_cards_of_the_host(host, branch, kernel_modules):
    choice = cards.choose(host, branch)
    assert (choice.kernel_modules, choice.refusals) == (kernel_modules, ())


@pytest.mark.parametrize(
    ("host", "branch", "preference", "code", "found"),
    [
        ([V100, B200], 580, "auto", "kernel_modules_conflict",
         "Tesla V100-PCIE-32GB, which only the proprietary kernel modules drive, beside NVIDIA B200, "
         "which only the open ones drive"),
        ([V100, GH200], 580, "auto", "kernel_modules_conflict",
         "Tesla V100-PCIE-32GB, which only the proprietary kernel modules drive, beside NVIDIA GH200 480GB, "
         "which only the open ones drive"),
        ([V100], 590, "auto", "driver_branch_too_new",
         "driver branch 590 for Tesla V100-PCIE-32GB, which it does not drive any more"),
        ([A100, V100], 595, "auto", "driver_branch_too_new",
         "driver branch 595 for Tesla V100-PCIE-32GB, which it does not drive any more"),
        ([B200], 560, "auto", "driver_branch_too_old",
         "driver branch 560 for NVIDIA B200, which it does not drive yet"),
        ([V100, V100], 580, "open", "kernel_modules_unsupported",
         "gpustack_nvidia_stack_kernel_modules is open, and the host has 2x Tesla V100-PCIE-32GB"),
        ([B200], 580, "proprietary", "kernel_modules_unsupported",
         "gpustack_nvidia_stack_kernel_modules is proprietary, and the host has NVIDIA B200"),
        ([A100], 615, "proprietary", "kernel_modules_unsupported",
         "gpustack_nvidia_stack_kernel_modules is proprietary, and the host has NVIDIA A100 80GB PCIe"),
        ([K80], 580, "auto", "card_unknown",
         "card 102d at 00000000:04:00.0, whose architecture is unknown"),
    ],
)  # fmt: skip
def test_what_no_driver_can_do_is_refused_by_card_name(host, branch, preference, code, found):
    choice = cards.choose(host, branch, preference)
    assert choice.kernel_modules is None
    assert [(refusal.code, refusal.found) for refusal in choice.refusals] == [(code, found)]


def test_the_reason_names_the_card_that_decided():
    assert cards.choose([A100, V100], 580).reason == (
        "Tesla V100-PCIE-32GB: only the proprietary kernel modules drive it"
    )
    assert cards.choose([A100, A100], 580).reason == (
        "2x NVIDIA A100 80GB PCIe: both kinds of kernel modules drive every card"
    )
    assert cards.choose([A100], 580, "proprietary").kernel_modules == "proprietary"
