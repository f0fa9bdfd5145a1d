# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA cards by PCI device id and by name: architecture and compute capability without asking a driver.

Ids are those of the PCI ID Repository (vendor 10de), names those that the driver prints, capabilities those of NVIDIA's
list of CUDA GPUs. What the driver itself says always wins; this is for hosts without one, for drivers older than branch
510, which do not tell the capability, and for tables that cut the name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

VENDOR_ID = 0x10DE

# The last driver branch that drives an architecture; the ones not listed are still driven by the newest.
LAST_DRIVER_BRANCH = {"kepler": 470, "maxwell": 580, "pascal": 580, "volta": 580}

ARCHITECTURES = {
    "3.0": "kepler",
    "3.5": "kepler",
    "3.7": "kepler",
    "5.0": "maxwell",
    "5.2": "maxwell",
    "5.3": "maxwell",
    "6.0": "pascal",
    "6.1": "pascal",
    "6.2": "pascal",
    "7.0": "volta",
    "7.2": "volta",
    "7.5": "turing",
    "8.0": "ampere",
    "8.6": "ampere",
    "8.7": "ampere",
    "8.9": "ada",
    "9.0": "hopper",
    "10.0": "blackwell",
    "10.1": "blackwell",
    "10.3": "blackwell",
    "11.0": "blackwell",
    "12.0": "blackwell",
    "12.1": "blackwell",
}
# Architectures of one capability only (of cards; Tegra chips of the same name have a device id or a name of their own).
ONLY_CAPABILITY = {"volta": "7.0", "turing": "7.5", "ada": "8.9", "hopper": "9.0"}
# MIG exists on these only; within 12.0 on some cards, so there nothing follows from the capability.
MIG_CAPABILITIES = frozenset({"8.0", "9.0", "10.0", "10.3"})
MIG_ON_SOME_CARDS = frozenset({"12.0"})

# Each chip has a range of device ids: first, last, capability. So a card is known before it is named below.
CHIPS: tuple[tuple[int, int, str], ...] = (
    (0x1340, 0x13BF, "5.0"),  # GM107, GM108
    (0x13C0, 0x15EF, "5.2"),  # GM204, GM206
    (0x15F0, 0x15FF, "6.0"),  # GP100
    (0x1600, 0x17FF, "5.2"),  # GM204M, GM200
    (0x1B00, 0x1D7F, "6.1"),  # GP102 … GP108
    (0x1D80, 0x1DFF, "7.0"),  # GV100
    (0x1E00, 0x1FFF, "7.5"),  # TU102 … TU117
    (0x2080, 0x20FF, "8.0"),  # GA100
    (0x2180, 0x21FF, "7.5"),  # TU116
    (0x2200, 0x227F, "8.6"),  # GA102
    (0x2300, 0x23FF, "9.0"),  # GH100
    (0x2400, 0x25FF, "8.6"),  # GA103 … GA107
    (0x2600, 0x28FF, "8.9"),  # AD102 … AD107
    (0x2900, 0x29FF, "10.0"),  # GB100, GB102
    (0x2B00, 0x2B7F, "11.0"),  # GB10B (Thor)
    (0x2B80, 0x2DFF, "12.0"),  # GB202, GB203, GB206, GB207
    (0x2E00, 0x2E7F, "12.1"),  # GB20B (GB10)
    (0x2F00, 0x2F7F, "12.0"),  # GB205
    (0x3180, 0x32FF, "10.3"),  # GB110, GB112
)

CARDS: dict[int, str] = {
    # Maxwell
    0x13BD: "Tesla M10",
    0x13C0: "GeForce GTX 980",
    0x13F2: "Tesla M60",
    0x1431: "Tesla M4",
    0x17C2: "GeForce GTX TITAN X",
    0x17C8: "GeForce GTX 980 Ti",
    0x17FD: "Tesla M40",
    # Pascal
    0x15F0: "Quadro GP100",
    0x15F7: "Tesla P100-PCIE-12GB",
    0x15F8: "Tesla P100-PCIE-16GB",
    0x15F9: "Tesla P100-SXM2-16GB",
    0x1B00: "NVIDIA TITAN X (Pascal)",
    0x1B02: "NVIDIA TITAN Xp",
    0x1B06: "NVIDIA GeForce GTX 1080 Ti",
    0x1B30: "Quadro P6000",
    0x1B38: "Tesla P40",
    0x1B80: "NVIDIA GeForce GTX 1080",
    0x1B81: "NVIDIA GeForce GTX 1070",
    0x1B82: "NVIDIA GeForce GTX 1070 Ti",
    0x1BB0: "Quadro P5000",
    0x1BB1: "Quadro P4000",
    0x1BB3: "Tesla P4",
    0x1BB4: "Tesla P6",
    0x1C02: "NVIDIA GeForce GTX 1060 3GB",
    0x1C03: "NVIDIA GeForce GTX 1060 6GB",
    # Volta
    0x1D81: "NVIDIA TITAN V",
    0x1DB1: "Tesla V100-SXM2-16GB",
    0x1DB2: "Tesla V100-DGXS-16GB",
    0x1DB3: "Tesla V100-FHHL-16GB",
    0x1DB4: "Tesla V100-PCIE-16GB",
    0x1DB5: "Tesla V100-SXM2-32GB",
    0x1DB6: "Tesla V100-PCIE-32GB",
    0x1DB7: "Tesla V100-DGXS-32GB",
    0x1DB8: "Tesla V100-SXM3-32GB",
    0x1DBA: "Quadro GV100",
    0x1DF0: "Tesla PG500-216",
    0x1DF2: "Tesla PG503-216",
    0x1DF5: "Tesla V100-SXM2-16GB",
    0x1DF6: "Tesla V100S-PCIE-32GB",
    # Turing
    0x1E02: "NVIDIA TITAN RTX",
    0x1E04: "NVIDIA GeForce RTX 2080 Ti",
    0x1E07: "NVIDIA GeForce RTX 2080 Ti",
    0x1E30: "Quadro RTX 6000/8000",
    0x1E36: "Quadro RTX 6000",
    0x1E37: "Tesla T10",
    0x1E38: "Tesla T40 24GB",
    0x1E78: "Quadro RTX 6000/8000",
    0x1E81: "NVIDIA GeForce RTX 2080 SUPER",
    0x1E82: "NVIDIA GeForce RTX 2080",
    0x1E84: "NVIDIA GeForce RTX 2070 SUPER",
    0x1E87: "NVIDIA GeForce RTX 2080",
    0x1E89: "NVIDIA GeForce RTX 2060",
    0x1EB0: "Quadro RTX 5000",
    0x1EB1: "Quadro RTX 4000",
    0x1EB4: "NVIDIA T4G",
    0x1EB8: "Tesla T4",
    # Ampere, GA100
    0x20B0: "NVIDIA A100-SXM4-40GB",
    0x20B1: "NVIDIA A100-PCIE-40GB",
    0x20B2: "NVIDIA A100-SXM4-80GB",
    0x20B3: "NVIDIA A100-SXM-64GB",
    0x20B5: "NVIDIA A100 80GB PCIe",
    0x20B7: "NVIDIA A30",
    0x20B8: "NVIDIA A100X",
    0x20B9: "NVIDIA A30X",
    0x20C2: "NVIDIA CMP 170HX",
    0x20F1: "NVIDIA A100-PCIE-40GB",
    0x20F3: "NVIDIA A800-SXM4-80GB",
    0x20F5: "NVIDIA A800 80GB PCIe",
    0x20F6: "NVIDIA A800 40GB PCIe",
    # Ampere, GA102 … GA107
    0x2203: "NVIDIA GeForce RTX 3090 Ti",
    0x2204: "NVIDIA GeForce RTX 3090",
    0x2206: "NVIDIA GeForce RTX 3080",
    0x2208: "NVIDIA GeForce RTX 3080 Ti",
    0x220A: "NVIDIA GeForce RTX 3080",
    0x2216: "NVIDIA GeForce RTX 3080",
    0x2230: "NVIDIA RTX A6000",
    0x2231: "NVIDIA RTX A5000",
    0x2232: "NVIDIA RTX A4500",
    0x2233: "NVIDIA RTX A5500",
    0x2235: "NVIDIA A40",
    0x2236: "NVIDIA A10",
    0x2237: "NVIDIA A10G",
    0x2238: "NVIDIA A10M",
    0x2482: "NVIDIA GeForce RTX 3070 Ti",
    0x2484: "NVIDIA GeForce RTX 3070",
    0x2486: "NVIDIA GeForce RTX 3060 Ti",
    0x2488: "NVIDIA GeForce RTX 3070",
    0x2489: "NVIDIA GeForce RTX 3060 Ti",
    0x24B0: "NVIDIA RTX A4000",
    0x2503: "NVIDIA GeForce RTX 3060",
    0x2504: "NVIDIA GeForce RTX 3060",
    0x2531: "NVIDIA RTX A2000",
    0x2571: "NVIDIA RTX A2000 12GB",
    0x25B6: "NVIDIA A2/A16",
    # Hopper
    0x2321: "NVIDIA H100 NVL",
    0x2322: "NVIDIA H800 PCIe",
    0x2324: "NVIDIA H800",
    0x2329: "NVIDIA H20",
    0x2330: "NVIDIA H100 80GB HBM3",
    0x2331: "NVIDIA H100 PCIe",
    0x2335: "NVIDIA H200",
    0x233B: "NVIDIA H200 NVL",
    0x2342: "NVIDIA GH200 480GB",
    0x2348: "NVIDIA GH200 144G HBM3e",
    # Ada
    0x2684: "NVIDIA GeForce RTX 4090",
    0x2685: "NVIDIA GeForce RTX 4090 D",
    0x26B1: "NVIDIA RTX 6000 Ada Generation",
    0x26B2: "NVIDIA RTX 5000 Ada Generation",
    0x26B3: "NVIDIA RTX 5880 Ada Generation",
    0x26B5: "NVIDIA L40",
    0x26B7: "NVIDIA L20",
    0x26B8: "NVIDIA L40G",
    0x26B9: "NVIDIA L40S",
    0x26BA: "NVIDIA L20",
    0x2702: "NVIDIA GeForce RTX 4080 SUPER",
    0x2704: "NVIDIA GeForce RTX 4080",
    0x2705: "NVIDIA GeForce RTX 4070 Ti SUPER",
    0x2782: "NVIDIA GeForce RTX 4070 Ti",
    0x2783: "NVIDIA GeForce RTX 4070 SUPER",
    0x2786: "NVIDIA GeForce RTX 4070",
    0x27B0: "NVIDIA RTX 4000 SFF Ada Generation",
    0x27B1: "NVIDIA RTX 4500 Ada Generation",
    0x27B2: "NVIDIA RTX 4000 Ada Generation",
    0x27B6: "NVIDIA L2",
    0x27B8: "NVIDIA L4",
    0x2803: "NVIDIA GeForce RTX 4060 Ti",
    0x2805: "NVIDIA GeForce RTX 4060 Ti",
    0x2882: "NVIDIA GeForce RTX 4060",
    0x28B0: "NVIDIA RTX 2000 Ada Generation",
    # Blackwell
    0x2901: "NVIDIA B200",
    0x2941: "NVIDIA GB200",
    0x29BC: "NVIDIA B100",
    0x2B00: "NVIDIA Thor",
    0x2B85: "NVIDIA GeForce RTX 5090",
    0x2B87: "NVIDIA GeForce RTX 5090 D",
    0x2BB1: "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    0x2BB3: "NVIDIA RTX PRO 5000 Blackwell",
    0x2BB4: "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
    0x2BB5: "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    0x2BB9: "NVIDIA RTX 6000D",
    0x2C02: "NVIDIA GeForce RTX 5080",
    0x2C05: "NVIDIA GeForce RTX 5070 Ti",
    0x2C31: "NVIDIA RTX PRO 4500 Blackwell",
    0x2C34: "NVIDIA RTX PRO 4000 Blackwell",
    0x2C3A: "NVIDIA RTX PRO 4500 Blackwell Server Edition",
    0x2D04: "NVIDIA GeForce RTX 5060 Ti",
    0x2D05: "NVIDIA GeForce RTX 5060",
    0x2D30: "NVIDIA RTX PRO 2000 Blackwell",
    0x2E12: "NVIDIA GB10",
    0x2F04: "NVIDIA GeForce RTX 5070",
    0x3182: "NVIDIA B300 SXM6 AC",
    0x31C2: "NVIDIA GB300",
    0x31C3: "NVIDIA GB300",
}

# Names of whole families, the first match counts. A model number is matched as a word, but tables cut names
# ("GeForce RTX 208..."), so the last digit may be missing, and vGPU profiles extend them ("GRID V100D-8C").
NAMES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), capability)
    for pattern, capability in (
        (r"\bGB10\b", "12.1"),
        (r"\bG?B300\b", "10.3"),
        (r"\bG?B[12]00\b", "10.0"),
        (r"\bThor\b", "11.0"),
        (r"\bRTX PRO\b|\bRTX 6000D\b|\bRTX 50[5-9]0?\b", "12.0"),
        (r"\bG?H(?:20|100|200|800)[A-Z]{0,3}\b", "9.0"),
        (r"\bL(?:2|4|16|20|30|40)[A-Z]?\b|\bAda\b|\bRTX 40[5-9]0?\b", "8.9"),
        (r"\bOrin\b", "8.7"),
        (r"\b(?:A100|A800|A30)[A-Z]{0,2}\b|\bPG506\b|\bCMP 170HX\b", "8.0"),
        (r"\bA(?:2|10|16|40)[A-Z]?\b|\bRTX ?A[0-9]{3,4}\b|\bRTX 30[5-9]0?\b|\bRTX 2050\b", "8.6"),
        (
            r"\bT(?:4|4G|10|40|400|500|550|600|1000|1200|2000)\b|\bTITAN RTX\b|\bRTX 20[678]0?\b|\bGTX 16[356]0?\b",
            "7.5",
        ),
        (r"\bRTX ?[3-8]000P?\b", "7.5"),
        (r"\bXavier\b", "7.2"),
        (r"\bV100[A-Z]{0,2}\b|\bGV100\b|\bTITAN V\b|\bPG50[03]\b|\bCMP 100\b", "7.0"),
        (r"\bP100[A-Z]?\b|\bGP100\b", "6.0"),
        (r"\bGTX TITAN X\b", "5.2"),
        (r"\bP(?:4|6|10|40)\b|\bQuadro P[0-9]{3,4}\b|\bGTX 10[1-8]0?\b|\bGT 1030\b|\bTITAN Xp?\b", "6.1"),
        (r"\bTesla M10\b", "5.0"),
        (r"\bTesla M(?:4|6|40|60)\b|\bQuadro M[456]000\b|\bGTX 9[5-8]0?\b", "5.2"),
        (r"\bK80\b", "3.7"),
        (r"\bTesla K[24]0[a-z]?\b", "3.5"),
    )
)


@dataclass(frozen=True)
class Card:
    """What is known of a card, ``None`` where nothing tells; ``mig_capable`` also where only some cards have MIG."""

    name: str | None
    architecture: str | None
    compute_capability: str | None
    mig_capable: bool | None


def _capability_of_id(device_id: int | None) -> str | None:
    if device_id is None:
        return None
    return next((capability for first, last, capability in CHIPS if first <= device_id <= last), None)


def _capability_of_name(name: str | None) -> str | None:
    return next((capability for pattern, capability in NAMES if pattern.search(name or "")), None)


def identify(
    device_id: int | None = None,
    name: str | None = None,
    architecture: str | None = None,
    compute_capability: str | None = None,
) -> Card:
    """The card of a PCI device id and a name; the architecture and capability that a driver told are believed first."""
    candidates = (_capability_of_id(device_id), _capability_of_name(name), ONLY_CAPABILITY.get(architecture or ""))
    fitting = (c for c in candidates if c and architecture in (None, ARCHITECTURES[c]))
    capability = compute_capability or next(fitting, None)
    family = architecture or ARCHITECTURES.get(capability or "")
    mig_capable = None if capability is None or capability in MIG_ON_SOME_CARDS else capability in MIG_CAPABILITIES
    if capability is None and family in ("kepler", "maxwell", "pascal"):
        mig_capable = False
    return Card(CARDS.get(device_id or 0), family, capability, mig_capable)
