# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from stack_host import A100, B200, INSTALLED, SETTINGS, V100, installed_facts, stack_facts

from ansible_collections.gpuops.gpustack.plugins.module_utils.nvidia_stack import plan


def codes(facts, **settings):
    return [problem["code"] for problem in plan(facts, {**SETTINGS, **settings}, "gpu-worker-a")["problems"]]


def names(facts, **settings):
    return [package["name"] for package in plan(facts, {**SETTINGS, **settings}, "gpu-worker-a")["packages"]]


def test_a_bare_debian_host_with_v100():
    wanted = plan(stack_facts(V100, V100, kernel={"headers": False}), SETTINGS, "gpu-worker-a")
    assert wanted["problems"] == []
    assert wanted["kernel_modules"] == "proprietary"
    assert wanted["packages"] == [
        {"name": "nvidia-kernel-dkms", "version": "580.95.05"},
        {"name": "nvidia-driver-cuda", "version": "580.95.05"},
        {"name": "nvidia-persistenced", "version": "580.95.05"},
        {"name": "linux-headers-6.1.0-40-amd64", "version": ""},
        {"name": "cuda-libraries-12-9", "version": "12.9"},
        {"name": "libnccl2", "version": "2.27.5-1+cuda12.9"},
        {"name": "nvidia-container-toolkit", "version": "1.18.2"},
        {"name": "nvidia-container-toolkit-base", "version": "1.18.2"},
        {"name": "libnvidia-container-tools", "version": "1.18.2"},
        {"name": "libnvidia-container1", "version": "1.18.2"},
    ]
    assert wanted["outdated"] == [package["name"] for package in wanted["packages"]]
    assert (wanted["load_module"], wanted["reboot"], wanted["module_stream"]) == (False, "", "")


def test_a_host_that_has_the_stack_needs_nothing():
    wanted = plan(installed_facts(V100), SETTINGS, "gpu-worker-a")
    assert (wanted["problems"], wanted["outdated"], wanted["load_module"], wanted["reboot"]) == ([], [], False, "")


def settled_facts(**other):
    """A host with the stack and with every file that the plan wants."""
    wanted = plan(installed_facts(V100), SETTINGS, "a")
    files = {one["path"]: one["content"] for name in ("pins", "settings", "repositories") for one in wanted[name]}
    keys = {one["key_path"]: "key" for one in wanted["repositories"]}
    return installed_facts(V100, files={**files, **keys}, **other)


def test_nothing_is_pending_on_a_host_that_is_as_it_should_be():
    assert plan(settled_facts(), SETTINGS, "a")["pending"] == []


@pytest.mark.parametrize(
    ("changed", "pending"),
    [
        ({"packages": {**INSTALLED, "libnccl2": "2.28.3-1+cuda13.0"}}, ["1 packages"]),
        ({"held": []}, ["9 holds"]),
        ({"services": []}, ["1 services"]),
        ({"modules": {"loaded": None, "installed": "580.95.05"}}, ["the kernel module"]),
        ({"modules": {"loaded": "580.82.07", "installed": "580.95.05"}}, ["a reboot"]),
    ],
)
def test_what_is_pending_is_said(changed, pending):
    facts = {**settled_facts(), **changed}
    facts["modules"] = {**settled_facts()["modules"], **changed.get("modules", {})}
    assert plan(facts, SETTINGS, "a")["pending"] == pending


def test_a_key_that_has_gone_is_fetched_again():
    facts = settled_facts()
    facts["files"] = {path: text for path, text in facts["files"].items() if "keyrings" not in path}
    assert plan(facts, SETTINGS, "a")["pending"] == ["keys of the repositories"]


def test_dcgm_at_its_version():
    packages = plan(stack_facts(V100), {**SETTINGS, "dcgm": True, "dcgm_version": "4.4.1"}, "a")["packages"]
    assert {"name": "datacenter-gpu-manager-4-cuda12", "version": "4.4.1"} in packages


@pytest.mark.parametrize(
    ("distribution", "cards", "driver"),
    [
        (("ubuntu", "22.04"), [V100], ["nvidia-dkms-580", "libnvidia-compute-580", "nvidia-utils-580",
                                       "nvidia-compute-utils-580"]),
        (("ubuntu", "24.04"), [A100], ["nvidia-dkms-580-open", "libnvidia-compute-580", "nvidia-utils-580",
                                       "nvidia-compute-utils-580"]),
        (("debian", "12"), [B200], ["nvidia-kernel-open-dkms", "nvidia-driver-cuda", "nvidia-persistenced"]),
        (("rocky", "9.6"), [V100], ["kmod-nvidia-latest-dkms", "nvidia-driver", "nvidia-driver-cuda",
                                    "nvidia-driver-cuda-libs", "nvidia-persistenced"]),
        (("rhel", "9.4"), [A100], ["kmod-nvidia-open-dkms", "nvidia-driver", "nvidia-driver-cuda",
                                   "nvidia-driver-cuda-libs", "nvidia-persistenced"]),
    ],
)  # fmt: skip
def test_driver_packages_by_distribution_and_card(distribution, cards, driver):
    facts = stack_facts(*cards, distribution={"id": distribution[0], "version_id": distribution[1]})
    assert names(facts)[: len(driver)] == driver


def test_from_branch_590_on_ubuntus_packages_carry_no_branch():
    facts = stack_facts(A100, distribution={"id": "ubuntu", "version_id": "24.04"})
    assert names(facts, driver_version="590.48.01")[0] == "nvidia-dkms-open"


def test_headers_of_the_next_kernel_come_with_it():
    facts = stack_facts(V100, kernel={"headers": False}, packages={"linux-image-cloud-amd64": "6.1.1"})
    assert "linux-headers-cloud-amd64" in names(facts)
    rocky = {"id": "rocky", "version_id": "9.6"}
    kernel = {"headers": False, "release": "5.14.0-570.el9.x86_64"}
    rhel = names(stack_facts(V100, distribution=rocky, kernel=kernel))
    assert {"kernel-devel", "kernel-devel-matched"} <= set(rhel)


def test_fabric_manager_only_with_nvswitch_and_at_the_drivers_version():
    assert "nvidia-fabricmanager" not in names(stack_facts(V100))
    wanted = plan(stack_facts(V100, nvswitches=6), SETTINGS, "gpu-worker-a")
    assert {"name": "nvidia-fabricmanager", "version": "580.95.05"} in wanted["packages"]
    assert wanted["services"] == ["nvidia-persistenced.service", "nvidia-fabricmanager.service"]


def test_options_take_parts_in_and_out():
    assert "datacenter-gpu-manager-4-cuda12" in names(stack_facts(V100), dcgm=True)
    assert "cuda-toolkit-12-9" in names(stack_facts(V100), cuda="toolkit")
    bare = names(stack_facts(V100), cuda="none", nccl_version="")
    assert not [name for name in bare if "cuda-l" in name or "nccl" in name]
    assert not [name for name in names(stack_facts(V100), cuda="toolkit") if name in ("cuda", "cuda-12-9")]


@pytest.mark.parametrize(
    ("architecture", "cuda", "toolkit"),
    [("x86_64", "debian12/x86_64", "deb/amd64"), ("aarch64", "debian12/sbsa", "deb/arm64")],
)
def test_repositories_by_architecture(architecture, cuda, toolkit):
    first, second = plan(stack_facts(V100, architecture=architecture), SETTINGS, "a")["repositories"]
    assert first["url"] == f"https://mirror.example.org/cuda/{cuda}"
    assert first["key_url"] == f"https://mirror.example.org/cuda/{cuda}/3bf863cc.pub"
    assert second["url"] == f"https://mirror.example.org/libnvidia-container/stable/{toolkit}"
    assert second["key_url"] == "https://mirror.example.org/libnvidia-container/gpgkey"
    assert first["content"] == (
        "# Managed by Ansible (gpuops.gpustack.nvidia_stack).\n"
        f"Types: deb\nURIs: https://mirror.example.org/cuda/{cuda}/\nSuites: /\n"
        "Signed-By: /etc/apt/keyrings/nvidia-cuda.asc\nBy-Hash: no\n"
    )


def test_every_file_and_the_stream_of_rocky_9():
    wanted = plan(stack_facts(V100, distribution={"id": "rocky", "version_id": "9.6"}), SETTINGS, "a")
    assert wanted["module_stream"] == "580-dkms"
    assert wanted["pins"] == []
    assert [(one["path"], one["key_path"]) for one in wanted["repositories"]] == [
        ("/etc/yum.repos.d/nvidia-cuda.repo", "/etc/pki/rpm-gpg/RPM-GPG-KEY-nvidia-cuda"),
        (
            "/etc/yum.repos.d/nvidia-container-toolkit.repo",
            "/etc/pki/rpm-gpg/RPM-GPG-KEY-nvidia-container-toolkit",
        ),
    ]
    assert wanted["repositories"][0]["content"] == (
        "# Managed by Ansible (gpuops.gpustack.nvidia_stack).\n[nvidia-cuda]\nname=nvidia-cuda\n"
        "baseurl=https://mirror.example.org/cuda/rhel9/x86_64\nenabled=1\ngpgcheck=1\n"
        "gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-nvidia-cuda\n"
    )
    assert plan(
        stack_facts(A100, distribution={"id": "rhel", "version_id": "9.4"}), SETTINGS, "a"
    )["module_stream"] == "580-open"  # fmt: skip


def test_pins_and_blacklist():
    preferences, blacklist = plan(stack_facts(V100), SETTINGS, "a")["pins"]
    assert preferences["path"] == "/etc/apt/preferences.d/gpustack-nvidia-stack"
    records = preferences["content"].split("\n\n")
    assert "Pin: version *\nPin-Priority: -1" in records[0]
    assert "cuda-runtime-*" in records[0]
    assert "Pin: version 580.95.05*\nPin-Priority: 1000" in records[3]
    assert "Pin: version 2.27.5-1+cuda12.9*\nPin-Priority: 1000" in records[4]
    assert blacklist["content"].splitlines()[1:4] == [
        "Unattended-Upgrade::Package-Blacklist {",
        '  "nvidia-";',
        '  "libnvidia-";',
    ]


def test_other_entries_for_the_same_repositories_go():
    files = {
        "/etc/apt/sources.list.d/cuda-debian12-x86_64.list": "deb https://example.org/compute/cuda/repos/debian12 /",
        "/etc/apt/sources.list.d/nvidia-cuda.sources": "Types: deb",
    }
    wanted = plan(stack_facts(V100, files=files, packages={"cuda-keyring": "1.1-1"}), SETTINGS, "a")
    assert wanted["stale_files"] == ["/etc/apt/sources.list.d/cuda-debian12-x86_64.list"]
    assert wanted["stale_packages"] == ["cuda-keyring"]


CUDA = "https://mirror.example.org/compute/cuda/repos/rhel9/x86_64"


@pytest.mark.parametrize(
    ("path", "content", "shared"),
    [
        ("sources.list.d/site.list", f"# ours\ndeb {CUDA} /\n\ndeb https://example.org/debian bookworm main\n", True),
        ("sources.list.d/site.list", f"# https://mirror.example.org/debian\ndeb {CUDA} /\n", False),
        ("sources.list.d/site.sources", f"Types: deb\nURIs: {CUDA}\n\nTypes: deb\nURIs: https://example.org\n", True),
        ("sources.list.d/site.sources", f"Types: deb\nURIs: {CUDA}\nSuites: /\n", False),
        ("yum.repos.d/site.repo", f"[base]\nbaseurl=https://example.org/base\n[cuda]\nbaseurl={CUDA}\n", True),
        ("yum.repos.d/cuda-rhel9.repo", f"[cuda]\nname=cuda\nbaseurl={CUDA}\n", False),
    ],
)  # fmt: skip
def test_a_file_that_also_has_entries_of_others_is_never_removed(path, content, shared):
    wanted = plan(stack_facts(V100, files={f"/etc/{path}": content}), SETTINGS, "a")
    assert [one["code"] for one in wanted["problems"]] == (["entries_shared"] if shared else [])
    if not shared:
        assert wanted["stale_files"] == [f"/etc/{path}"]


def test_a_rehearsal_wherever_packages_or_repositories_are_going_to_change():
    bare = plan(installed_facts(V100), SETTINGS, "a")
    assert (bare["outdated"], bare["rehearse"]) == ([], True)
    files = {one["path"]: one["content"] for one in bare["repositories"]}
    files.update({one["key_path"]: "a key" for one in bare["repositories"]})
    assert plan(installed_facts(V100, files=files), SETTINGS, "a")["rehearse"] is False
    moved = {**SETTINGS, "cuda_repository_url": "https://elsewhere.example.org/cuda"}
    assert plan(installed_facts(V100, files=files), moved, "a")["rehearse"] is True
    assert plan(stack_facts(V100, files=files), SETTINGS, "a")["rehearse"] is True


@pytest.mark.parametrize(
    ("facts", "settings", "code"),
    [
        (stack_facts(), {}, "gpu_missing"),
        (stack_facts(V100, B200), {}, "kernel_modules_conflict"),
        (stack_facts(V100), {"driver_version": "590.48.01"}, "driver_branch_too_new"),
        (stack_facts(A100), {"driver_version": "570.172.08"}, "driver_too_old_for_cuda"),
        (stack_facts(A100), {"nccl_version": "2.28.3-1+cuda13.0"}, "nccl_of_another_cuda"),
        (stack_facts(V100), {"nccl_version": "2.28.3-1+cuda13.0", "cuda_version": "13.0"}, "cuda_without_card"),
        (stack_facts(V100, distribution={"id": "debian", "version_id": "11"}), {}, "distribution_unsupported"),
        (stack_facts(V100, architecture="ppc64le"), {}, "architecture_unsupported"),
        (stack_facts(V100, driver_installer="/usr/bin/nvidia-uninstall"), {}, "driver_of_installer"),
        (stack_facts(V100, secure_boot=True), {}, "secure_boot"),
        (installed_facts(V100, gpu_processes=[{"pid": 7, "name": "vllm"}]), {"driver_version": "580.105.08"},
         "gpu_in_use"),
    ],
)  # fmt: skip
def test_refusals(facts, settings, code):
    assert codes(facts, **settings) == [code]


def test_processes_on_a_gpu_are_no_reason_while_the_driver_stays():
    busy = {"gpu_processes": [{"pid": 7, "name": "vllm"}]}
    assert codes(installed_facts(V100, **busy)) == []
    assert codes(installed_facts(V100, **busy), container_toolkit_version="1.19.0") == []
    assert codes(installed_facts(V100, **busy), driver_version="580.105.08", interrupt_gpu_processes=True) == []


def test_secure_boot_with_an_enrolled_key_or_a_loaded_module():
    assert codes(stack_facts(V100, secure_boot=True), secure_boot_key_enrolled=True) == []
    assert codes(installed_facts(V100, secure_boot=True)) == []


@pytest.mark.parametrize(
    ("modules", "reboot", "load"),
    [
        ({"installed": "580.95.05", "loaded": None}, "", True),
        ({"installed": "580.95.05", "loaded": None, "nouveau": True}, "nouveau holds the cards", False),
        ({"installed": "580.105.08", "loaded": "580.95.05"},
         "the loaded module is 580.95.05, the installed one 580.105.08", False),
        ({"installed": "580.95.05", "loaded": "580.95.05", "installed_kind": "proprietary", "loaded_kind": "open"},
         "the loaded module is the open one, the installed one the proprietary one", False),
        ({"installed": None, "loaded": None, "nouveau": True}, "", False),
    ],
)  # fmt: skip
def test_a_reboot_only_where_it_brings_the_installed_module_in(modules, reboot, load):
    wanted = plan(installed_facts(V100, modules=modules), SETTINGS, "a")
    assert (wanted["reboot"], wanted["load_module"]) == (reboot, load)


def settings_of(**facts):
    return {one["path"]: one["content"] for one in plan(installed_facts(V100, **facts), SETTINGS, "a")["settings"]}


def test_persistence_mode_is_switched_on_and_the_packaged_user_kept():
    drop_in = "/etc/systemd/system/nvidia-persistenced.service.d/gpustack.conf"
    packaged = "/usr/bin/nvidia-persistenced --user nvidia-persistenced --no-persistence-mode --verbose"
    assert settings_of(persistenced_command=packaged)[drop_in].splitlines()[2:] == [
        "ExecStart=",
        "ExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --persistence-mode --verbose",
    ]
    assert drop_in not in settings_of(persistenced_command="/usr/bin/nvidia-persistenced --user nvidia-persistenced")


def test_nouveau_is_kept_from_the_cards():
    path = "/etc/modprobe.d/gpustack-nouveau.conf"
    assert settings_of()[path].splitlines()[1:] == ["blacklist nouveau", "options nouveau modeset=0"]
    assert path in plan(installed_facts(V100), SETTINGS, "a")["differing"]
    assert path not in plan(installed_facts(V100, files={path: settings_of()[path]}), SETTINGS, "a")["differing"]


def test_what_is_installed_and_not_held():
    packages = {**INSTALLED, "libcublas-12-9": "12.9.1.4-1", "bash": "5.2"}
    assert plan(installed_facts(V100, packages=packages), SETTINGS, "a")["not_held"] == ["libcublas-12-9"]
    assert plan(installed_facts(V100), SETTINGS, "a")["not_held"] == []


def test_only_what_moved_is_outdated():
    packages = {**INSTALLED, "nvidia-driver-cuda": "590.48.01-1", "libnccl2": "2.28.3-1+cuda13.0"}
    assert plan(installed_facts(V100, packages=packages), SETTINGS, "a")["outdated"] == [
        "nvidia-driver-cuda",
        "libnccl2",
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"driver_version": "newest"}, "the driver version 'newest' is none"),
        ({"nccl_version": "2.27"}, "the NCCL version '2.27' is none"),
        ({"cuda_version": 12}, "the CUDA version '12' is none"),
        ({"cuda": "all"}, "cuda is 'all': wanted is one of toolkit, libraries, none"),
        ({"kernel_modules": "closed"}, "kernel_modules is 'closed'"),
        ({"driver": "580"}, "unknown settings driver"),
    ],
)
def test_settings_that_are_none(settings, message):
    with pytest.raises(ValueError, match=message):
        plan(stack_facts(V100), {**SETTINGS, **settings}, "a")
