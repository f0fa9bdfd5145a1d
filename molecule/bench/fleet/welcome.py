# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What there is to see once site.yml has brought the fleet up."""

from __future__ import annotations

from .profile import Profile
from .state import State

API_PORT = 30080


def text(profile: Profile, state: State) -> str:
    """A block for the terminal; the password itself stays in its file."""
    server, *workers = profile.hosts
    key, known, password = (
        path.relative_to(state.checkout) for path in (state.ssh_key, state.known_hosts, state.admin_password)
    )
    login = f"ssh -i {key} -o UserKnownHostsFile={known} operator@"
    page = f"http://{server.address}:{API_PORT}"
    return f"""
Look around
  real here   GPUStack with its workers, Docker, systemd, apt; the cards, their driver and vLLM are stand-ins
  GPUStack    {page} (user admin, password: cat {password})
              from another machine: ssh -L {API_PORT}:{server.address}:{API_PORT} THIS-MACHINE,
              then http://localhost:{API_PORT}
  a host      {login}{workers[0].address if workers else server.address}
  the plan    .venv/bin/ansible-playbook playbooks/plan.yml -i inventories/demo   (writes build/plan/plan.html)
  a change    edit inventories/demo/group_vars/all/models.yml, then
              .venv/bin/ansible-playbook site.yml -i inventories/demo --check --diff
  once more   make demo        (changes nothing)
  the end     make demo-down
"""
