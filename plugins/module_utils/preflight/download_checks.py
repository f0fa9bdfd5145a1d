# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of the room for models that GPUStack is still going to download, from their plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .fleet import Finding, Fleet, comes_to


def model_space_low(fleet: Fleet) -> Iterator[Finding]:
    """A download that fills the disk ends late, and everything else on that disk with it."""
    for host, facts in fleet.worker_facts().items():
        path, free_gib, images_gib = _storage(fleet, host, facts)
        sizes = {name: size for name, size in _downloads(fleet, host).items() if size is not None}
        wanted_gib = round(sum(sizes.values()) + images_gib, 1)
        if sizes and free_gib is not None and free_gib < wanted_gib:
            models = ", ".join(f"{name} with {size:g} GiB" for name, size in sizes.items())
            beside = f", beside {images_gib:g} GiB for images" if images_gib else ""
            yield Finding(
                [host],
                f"{free_gib:g} GiB free in {path}",
                f"at least {wanted_gib:g} GiB, for what is still to be downloaded: {models}{beside}",
                "Make room; give Docker another disk (data-root in gpustack_container_engine_daemon); or put the models"
                " on the workers yourself and declare their source.local_path.",
            )


def model_size_unknown(fleet: Fleet) -> Iterator[Finding]:
    """What has no size cannot be held against a disk, and is not guessed."""
    for host, facts in fleet.worker_facts().items():
        path, free_gib, _images_gib = _storage(fleet, host, facts)
        unknown = [name for name, size in _downloads(fleet, host).items() if size is None]
        if unknown:
            yield Finding(
                [host],
                f"{', '.join(unknown)} still to be downloaded, of a size that nothing tells",
                f"room for it in {path}" + ("" if free_gib is None else f", where {free_gib:g} GiB are free"),
                "See for yourself that it fits. The size of a model that is planned (not plan: false) is known.",
            )


def _storage(fleet: Fleet, host: str, facts: Mapping[str, Any]) -> tuple[str, float | None, float]:
    """Where the worker keeps what it downloads, how much is free there, and how much of it images take, in GiB."""
    path = fleet.workers[host].get("model_storage")
    if path:
        return path, (facts.get("disk_free_gib") or {}).get(path), 0.0
    storage = facts.get("container_storage") or {}
    return storage.get("path", "Docker's directory"), storage.get("free_gib"), fleet.wanted_for_images(facts)


def _downloads(fleet: Fleet, host: str) -> dict[str, float | None]:
    """The models that a host lacks, with their sizes in GiB; a plan without a placement may come to any worker."""
    worker = fleet.workers[host].get("name") or host
    missing: dict[str, float | None] = {}
    for plan in fleet.plans.values():
        download = plan.get("download")
        if download and comes_to(plan, host) and not _present(fleet, worker, download["model"]):
            missing[download["model"]] = download["size_gib"]
    return dict(sorted(missing.items()))


def _present(fleet: Fleet, worker: str, model: str) -> bool:
    """Whether GPUStack has the model on a worker, or is fetching it there."""
    return any(
        file["worker"] == worker and model in (file["huggingface_repo_id"], file["model_scope_model_id"])
        for file in fleet.model_files
        if file["state"] != "error"
    )
