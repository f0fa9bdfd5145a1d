# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of the bench, each a short list of steps."""

from __future__ import annotations

from repository import image as packages

from . import hosts, images, models, registry
from .docker import answers, docker, ensure_engine, ensure_tools, inspect, stop_own_engine
from .errors import BenchError
from .profile import Profile
from .progress import Progress
from .state import State


def up(profile: Profile, state: State, progress: Progress) -> None:
    """Brings the fleet up from whatever there is and tells what runs where."""
    ensure_engine(state, progress)
    ensure_tools({"ssh-keygen": "openssh-client"}, state, progress)
    state.make_admin_password()
    wanted = images.ensure_images(state, progress)
    hosts.ensure_network()
    local = registry.ensure_registry(wanted["registry"], progress)
    registry.push(local, wanted, state, progress)
    packages_tag = packages.ensure_image(wanted["base"], state, progress)
    packages.ensure_served(packages_tag, hosts.NETWORK, state, progress)
    hosts.ensure_hosts(profile, wanted["host"], state, progress)
    models.ensure_models(profile, progress)
    images.remove_images(keep=[*wanted.values(), packages_tag])
    progress.say("the fleet is up")
    print(_summary(profile, state, local))


def gpustack_images(state: State, progress: Progress) -> None:
    """Builds GPUStack's image of every release, pushes them where the registry runs, and prints release and image."""
    ensure_engine(state, progress)
    releases = [image for image in images.IMAGES if (image.repository or "").startswith("gpustack/gpustack:")]
    wanted = images.ensure_images(state, progress, ["base", *(image.name for image in releases)])
    container = inspect("container", registry.NAME)
    if container is not None and container["State"]["Running"]:
        registry.push(f"127.0.0.1:{registry.published_port()}", wanted, state, progress)
    for image in releases:
        print((image.repository or "").rpartition(":")[2], wanted[image.name])


def reset(profile: Profile, state: State, progress: Progress) -> None:
    """Removes the hosts with their disks and makes them again."""
    ensure_engine(state, progress)
    for name in hosts.existing():
        progress.say(f"removing {name} and its disk")
        hosts.remove(name)
    up(profile, state, progress)


def down(state: State, progress: Progress, *, with_images: bool) -> None:
    """Removes what the bench made; images and the registry's store stay unless asked for."""
    if not answers():
        raise BenchError("No Docker engine answers, so there is nothing to take down.")
    for name in hosts.existing():
        progress.say(f"removing {name} and its disk")
        hosts.remove(name)
    registry.remove(with_store=with_images)
    packages.remove()
    docker("network", "rm", hosts.NETWORK, check=False)
    if with_images:
        progress.say("removing the images")
        images.remove_images()
    stop_own_engine(state, progress)
    progress.say("the fleet is down")


def status(profile: Profile, state: State) -> None:
    """Tells what runs where, and what is missing."""
    if not answers():
        print("No Docker engine answers: the fleet is down.")
        return
    if inspect("container", registry.NAME) is None:
        print("The fleet is down.")
        return
    print(_summary(profile, state, f"127.0.0.1:{registry.published_port()}"))


def _summary(profile: Profile, state: State, local: str) -> str:
    lines = [f"profile {profile.name}"]
    for host in profile.hosts:
        container = inspect("container", host.name)
        running = "running" if container and container["State"]["Running"] else "not running"
        lines.append(f"  {host.name:<18} {host.address:<14} {running:<12} {hosts.describe(host)}")
    lines.append(f"  {'registry':<18} {registry.ADDRESS}:{registry.PORT} (here: {local})")
    lines.append(f"  {'packages':<18} http://{packages.ADDRESS}")
    lines.append(f"log in:   ssh -i {state.ssh_key} -o UserKnownHostsFile={state.known_hosts} operator@ADDRESS")
    lines.append(f"password of GPUStack's admin: {state.admin_password}")
    return "\n".join(lines)
