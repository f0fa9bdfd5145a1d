# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What has to be done on one host, decided from its facts before anything is touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import cards, files, freeze, packages, repositories, versions
from .packages import RHEL, Package
from .problem import problem
from .settings import Settings

# By the id of /etc/os-release.
FAMILIES = {
    "debian": packages.DEBIAN,
    "ubuntu": packages.UBUNTU,
    "rhel": RHEL,
    "rocky": RHEL,
    "almalinux": RHEL,
}
RELEASES = {packages.DEBIAN: ("12",), packages.UBUNTU: ("22.04", "24.04"), RHEL: ("9",)}
# The first branch whose driver supports a CUDA release by itself.
FIRST_BRANCH_OF_CUDA = {"12-8": 570, "12-9": 575, "13-0": 580}
# CUDA releases whose compilers and libraries have no code for an architecture any more.
LAST_CUDA_MAJOR = {"maxwell": 12, "pascal": 12, "volta": 12}


def plan(facts: Mapping[str, Any], settings: Mapping[str, Any], host: str) -> dict[str, Any]:
    """The plan for a host. ``facts`` are ``gpustack_nvidia_stack`` of ``nvidia_stack_facts``.

    ``problems`` tells why nothing may be done, in the shape of preflight's problems; the rest is then empty.

    * ``kernel_modules`` (proprietary or open) and the ``reason``
    * ``packages``: ``[{"name", "version"}]``, all that are wanted; ``outdated``: the names of those that are not so
    * ``rehearse``: whether packages or repositories are going to change
    * ``repositories``: ``[{"name", "url", "key_url", "key_path", "path", "content"}]``
    * ``module_stream``: of dnf's module nvidia-driver; empty elsewhere
    * ``pins``: ``[{"path", "content"}]``, what keeps the packages where they are; ``hold``: patterns of their names;
      ``not_held``: the installed ones that are not held
    * ``settings``: ``[{"for", "path", "content"}]``, for kernel or daemons; ``differing``: paths of what is not so yet
    * ``stale_files``, ``stale_packages``: other entries for the same repositories
    * ``load_module``; ``reboot``: why, or empty
    * ``services``: the units that have to run; ``stopped``: those that do not, or not from boot on
    * ``pending``: what of all this is still to be done, in words; empty on a host that is as it should be

    Raises ValueError for settings that are none.
    """
    wanted = Settings.from_dict(settings)
    platform = list(_platform_problems(facts, host))
    choice = cards.choose(facts["cards"], wanted.branch, wanted.kernel_modules)
    problems = platform or [*_card_problems(facts, choice, host), *_version_problems(facts, wanted, host)]
    if problems:
        return {"problems": problems}
    if choice.kernel_modules is None:
        raise AssertionError("a choice without problems names its kernel modules")
    family = FAMILIES[facts["distribution"]["id"]]
    needed = _packages(facts, wanted, family, choice.kernel_modules)
    outdated = [one for one in needed if not versions.matches(one.version, facts["packages"].get(one.name))]
    driver_names = {
        one.name for one in packages.driver(family, choice.kernel_modules, wanted.branch, wanted.driver_version)
    }
    changes_driver = any(one.name in driver_names for one in outdated)
    reboot = _reboot(facts)
    problems = [*_host_problems(facts, wanted, host, changes_driver, reboot)]
    if problems:
        return {"problems": problems}
    sources = repositories.repositories(
        family,
        facts["distribution"]["version_id"],
        facts["architecture"],
        wanted.cuda_repository_url,
        wanted.container_toolkit_repository_url,
    )
    stale_files = _stale_files(facts, sources)
    shared = [path for path in stale_files if repositories.also_of_others(path, facts["files"][path])]
    if shared:
        return {"problems": [_entries_shared(shared, host)]}
    hold = freeze.held_patterns(wanted.cuda_version)
    pins, settings_files = _pins(family, wanted), _settings_files(facts)
    own = [*pins, *settings_files, *({"path": one.path, "content": repositories.entry(one)} for one in sources)]
    differing = [one["path"] for one in own if facts["files"].get(one["path"]) != one["content"]]
    missing_keys = [one.key_path for one in sources if one.key_path not in facts["files"]]
    result: dict[str, Any] = {
        "problems": [],
        "kernel_modules": choice.kernel_modules,
        "reason": choice.reason,
        "packages": [{"name": one.name, "version": one.version} for one in needed],
        "outdated": [one.name for one in outdated],
        "rehearse": bool(outdated or stale_files or missing_keys or {one.path for one in sources} & set(differing)),
        "repositories": [
            {
                "name": source.name,
                "url": source.url,
                "key_url": source.key_url,
                "key_path": source.key_path,
                "path": source.path,
                "content": repositories.entry(source),
            }
            for source in sources
        ],
        "module_stream": _module_stream(family, choice.kernel_modules, wanted.branch),
        "pins": pins,
        "settings": settings_files,
        "differing": differing,
        "hold": hold,
        "not_held": sorted(set(freeze.frozen(facts["packages"], hold)) - set(facts["held"])),
        "stale_files": stale_files,
        "stale_packages": [name for name in ("cuda-keyring",) if name in facts["packages"]],
        "load_module": bool(
            facts["modules"]["installed"] and not facts["modules"]["loaded"] and not facts["modules"]["nouveau"]
        ),
        "reboot": reboot,
        "services": _services(facts, wanted),
    }
    result["stopped"] = [unit for unit in result["services"] if unit not in facts["services"]]
    return {**result, "pending": _pending(result)}


def _services(facts: Mapping[str, Any], wanted: Settings) -> list[str]:
    extra = {packages.FABRIC_MANAGER_UNIT: facts["nvswitches"] > 0, packages.DCGM_UNIT: wanted.dcgm}
    return [packages.PERSISTENCED_UNIT, *(unit for unit, needed in extra.items() if needed)]


def _pending(plan: Mapping[str, Any]) -> list[str]:
    counted = {
        "packages": plan["outdated"],
        "entries of other origin": [*plan["stale_files"], *plan["stale_packages"]],
        "files": plan["differing"],
        "holds": plan["not_held"],
        "services": plan["stopped"],
    }
    pending = [f"{len(items)} {name}" for name, items in counted.items() if items]
    if plan["rehearse"] and not pending:
        pending.append("keys of the repositories")
    if plan["load_module"]:
        pending.append("the kernel module")
    if plan["reboot"]:
        pending.append("a reboot")
    return pending


def _packages(facts: Mapping[str, Any], wanted: Settings, family: str, kernel_modules: str) -> list[Package]:
    needed = packages.driver(family, kernel_modules, wanted.branch, wanted.driver_version)
    if not facts["kernel"]["headers"]:
        needed += packages.headers(family, facts["kernel"]["release"], facts["packages"])
    if family == RHEL:
        needed.append(Package("dkms"))  # from EPEL, so it is looked for like the others
    if facts["nvswitches"]:
        needed.append(Package(packages.FABRIC_MANAGER, wanted.driver_version))
    needed += packages.cuda(wanted.cuda, wanted.cuda_version)
    if wanted.nccl_version:
        needed.append(Package(packages.NCCL[family], wanted.nccl_version))
    if wanted.dcgm:
        needed.append(Package(packages.DCGM, wanted.dcgm_version))
    needed += [Package(name, wanted.container_toolkit_version) for name in packages.CONTAINER_TOOLKIT]
    return needed


def _stale_files(facts: Mapping[str, Any], sources: list[repositories.Repository]) -> list[str]:
    """Two entries for one repository with different keys make apt refuse both."""
    own = {*files.ALL, *(path for source in sources for path in (source.path, source.key_path))}
    return sorted(set(facts["files"]) - own)


def _entries_shared(paths: list[str], host: str) -> dict[str, Any]:
    return problem(
        "entries_shared",
        "an entry for NVIDIA's repository stands in a file with others",
        found=", ".join(paths),
        wanted="one entry for a repository, this role's: two with different keys make apt refuse both",
        remedy="Take NVIDIA's repositories out of that file.",
        hosts=[host],
    )


def _module_stream(family: str, kernel_modules: str, branch: int) -> str:
    return f"{branch}-{'open' if kernel_modules == cards.OPEN else 'dkms'}" if family == RHEL else ""


def _pins(family: str, wanted: Settings) -> list[dict[str, str]]:
    if family == RHEL:
        return []
    pins = freeze.preferences(family, wanted.driver_version, wanted.nccl_version, wanted.container_toolkit_version)
    blacklist = freeze.unattended_upgrades_blacklist(wanted.cuda_version)
    return [{"path": files.PREFERENCES, "content": pins}, {"path": files.BLACKLIST, "content": blacklist}]


def _settings_files(facts: Mapping[str, Any]) -> list[dict[str, str]]:
    """Packages often switch persistence mode off, and only then something has to be laid over them."""
    settings = [{"for": "kernel", "path": files.NOUVEAU, "content": files.nouveau()}]
    if "--no-persistence-mode" in facts["persistenced_command"]:
        content = files.persistence(facts["persistenced_command"])
        settings.append({"for": "daemons", "path": files.PERSISTENCE, "content": content})
    return settings


def _reboot(facts: Mapping[str, Any]) -> str:
    """Why only a reboot brings the installed module in; empty where none is needed."""
    modules = facts["modules"]
    if not modules["installed"]:
        return ""
    if modules["nouveau"]:
        return "nouveau holds the cards"
    if modules["loaded"] and modules["loaded"] != modules["installed"]:
        return f"the loaded module is {modules['loaded']}, the installed one {modules['installed']}"
    kinds = modules["loaded_kind"], modules["installed_kind"]
    if all(kinds) and kinds[0] != kinds[1]:
        return f"the loaded module is the {kinds[0]} one, the installed one the {kinds[1]} one"
    return ""


def _platform_problems(facts: Mapping[str, Any], host: str) -> Iterator[dict[str, Any]]:
    distribution = facts["distribution"]
    family = FAMILIES.get(distribution["id"])
    release = distribution["version_id"]
    known = RELEASES.get(family or "", ())
    if release not in known and release.partition(".")[0] not in known:
        listed = ", ".join(f"{name} {' '.join(RELEASES[kind])}" for name, kind in FAMILIES.items())
        yield problem(
            "distribution_unsupported",
            "NVIDIA's packages for this distribution are not known here",
            found=f"{distribution['id']} {release}",
            wanted=listed,
            remedy="Install one of these, or install the driver by other means and leave this role out.",
            hosts=[host],
        )
    if facts["architecture"] not in repositories.CUDA_ARCHITECTURE:
        yield problem(
            "architecture_unsupported",
            "NVIDIA has no packages for this architecture",
            found=facts["architecture"],
            wanted=" or ".join(repositories.CUDA_ARCHITECTURE),
            remedy="Take the host out of the group of GPU hosts.",
            hosts=[host],
        )


def _card_problems(facts: Mapping[str, Any], choice: cards.Choice, host: str) -> Iterator[dict[str, Any]]:
    if not facts["cards"]:
        yield problem(
            "gpu_missing",
            "the host has no NVIDIA card",
            found="no display device of vendor 10de on the PCI bus",
            wanted="a card that a driver can be installed for",
            remedy="Take the host out of the group of GPU hosts, or look for the card's seat and power.",
            hosts=[host],
        )
        return
    for refusal in choice.refusals:
        yield problem(
            refusal.code,
            "no driver drives the host's cards as wanted",
            found=refusal.found,
            wanted=refusal.wanted,
            remedy=refusal.remedy,
            hosts=[host],
        )


def _version_problems(facts: Mapping[str, Any], wanted: Settings, host: str) -> Iterator[dict[str, Any]]:
    series = packages.series(wanted.cuda_version)
    first = FIRST_BRANCH_OF_CUDA.get(series)
    if first is not None and wanted.branch < first and wanted.cuda != "none":
        yield problem(
            "driver_too_old_for_cuda",
            "the driver's branch does not support the CUDA release",
            found=f"driver branch {wanted.branch} with CUDA {wanted.cuda_version}",
            wanted=f"branch {first} or newer",
            remedy="Set gpustack_nvidia_stack_driver_version to a newer one, or gpustack_nvidia_stack_cuda to none.",
            hosts=[host],
        )
    build = wanted.nccl_version.partition("+cuda")[2]
    majors = {"CUDA": wanted.cuda_version.partition(".")[0], "NCCL": build.partition(".")[0]}
    if build and majors["NCCL"] != majors["CUDA"] and wanted.cuda != "none":
        yield problem(
            "nccl_of_another_cuda",
            "NCCL is built for another CUDA release",
            found=f"NCCL {wanted.nccl_version} with CUDA {wanted.cuda_version}",
            wanted=f"a build with +cuda{majors['CUDA']}",
            remedy=f"Set gpustack_nvidia_stack_nccl_version to a version that ends in +cuda{wanted.cuda_version}.",
            hosts=[host],
        )
    for card in facts["cards"]:
        last = LAST_CUDA_MAJOR.get(card.get("architecture") or "")
        newest = max((int(major) for major in majors.values() if major.isdigit()), default=0)
        if last is not None and newest > last:
            yield problem(
                "cuda_without_card",
                "this CUDA release has no code for a card of the host",
                found=f"CUDA {wanted.cuda_version} and NCCL {wanted.nccl_version or 'none'} for {cards.label(card)}",
                wanted=f"CUDA {last}, the last with {card['architecture'].capitalize()}",
                remedy="Set gpustack_nvidia_stack_cuda_version to 12.9 and NCCL to a build for it.",
                hosts=[host],
            )
            return


def _host_problems(
    facts: Mapping[str, Any], wanted: Settings, host: str, changes_driver: bool, reboot: str
) -> Iterator[dict[str, Any]]:
    if facts["driver_installer"]:
        yield problem(
            "driver_of_installer",
            "a driver is installed that no package manager knows",
            found=f"{facts['driver_installer']}, which NVIDIA's .run installer leaves behind",
            wanted="no driver, or one from packages",
            remedy=f"Drain the host, run {facts['driver_installer']}, reboot, and run this again.",
            hosts=[host],
        )
    if facts["secure_boot"] and not wanted.secure_boot_key_enrolled and not facts["modules"]["loaded"]:
        yield problem(
            "secure_boot",
            "Secure Boot would reject the kernel module",
            found="Secure Boot is on; DKMS signs modules with a key that the firmware does not know yet",
            wanted="Secure Boot off, or the key of DKMS enrolled",
            remedy="Switch Secure Boot off in the firmware; or run mokutil --import on the host with the key of DKMS\n"
            "(/var/lib/shim-signed/mok/MOK.der on Ubuntu, /var/lib/dkms/mok.pub elsewhere), reboot, confirm it on the\n"
            "console, and set gpustack_nvidia_stack_secure_boot_key_enrolled to true.",
            hosts=[host],
        )
    processes = facts["gpu_processes"]
    if processes and (changes_driver or reboot) and not wanted.interrupt_gpu_processes:
        listed = ", ".join(f"{one['name']} ({one['pid']})" for one in processes[:5])
        yield problem(
            "gpu_in_use",
            "the driver is in use",
            found=f"{len(processes)} processes that have a GPU open: {listed}",
            wanted=f"no such process, because {reboot or 'the driver changes'}",
            remedy="Drain the host first (stop its GPUStack worker and engines), or set\n"
            "gpustack_nvidia_stack_interrupt_gpu_processes to true to let them end.",
            hosts=[host],
        )
