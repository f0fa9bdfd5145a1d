# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of the role's own on a host: where they are and what is in them."""

from __future__ import annotations

MANAGED = "Managed by Ansible (gpuops.gpustack.nvidia_stack)."

PREFERENCES = "/etc/apt/preferences.d/gpustack-nvidia-stack"
BLACKLIST = "/etc/apt/apt.conf.d/52gpustack-nvidia-stack"
NOUVEAU = "/etc/modprobe.d/gpustack-nouveau.conf"
PERSISTENCE = "/etc/systemd/system/nvidia-persistenced.service.d/gpustack.conf"
ALL = (PREFERENCES, BLACKLIST, NOUVEAU, PERSISTENCE)


def nouveau() -> str:
    """Keeps nouveau from the cards."""
    return f"# {MANAGED}\nblacklist nouveau\noptions nouveau modeset=0\n"


def persistence(packaged_command: str) -> str:
    """Lays the packaged command with persistence mode on over the one that switches it off; the packaged user stays."""
    command = packaged_command.replace("--no-persistence-mode", "--persistence-mode")
    return f"# {MANAGED}\n[Service]\nExecStart=\nExecStart={command}\n"
