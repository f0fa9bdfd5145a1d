# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuops.gpustack.plugins.module_utils.doctor import diagnose

CHANNEL = "AttributeError: '_TorchTensorAcceleratorChannel' object has no attribute '_accelerator_group'."
UNAVAILABLE = "ray.exceptions.ActorUnavailableError: The actor is temporarily unavailable: RpcError"
TIMEOUT = "ray.exceptions.RayChannelTimeoutError: System error: Timed out waiting for object available to read."
FULL = "OSError: [Errno 28] No space left on device: '/root/.cache/vllm'"


def ids(text: str) -> list[str]:
    return [finding["id"] for finding in diagnose(text)]


def test_log_of_the_reference_report_names_the_pipeline_and_not_what_everybody_saw() -> None:
    log = "\n".join(
        [
            "(APIServer pid=1) INFO 03-18 [utils.py:233] non-default args: {'pipeline_parallel_size': 2}",
            "(EngineCore_DP0 pid=214) ERROR 03-18 [core.py:1100] EngineCore encountered a fatal error.",
            "(EngineCore_DP0 pid=214) ERROR 03-18 [core.py:1100] Traceback (most recent call last):",
            f"(EngineCore_DP0 pid=214) ERROR 03-18 [core.py:1100] {TIMEOUT}",
            *[f"(RayWorkerWrapper pid={pid}) ERROR 03-18 [x.py:643] {CHANNEL}" for pid in (388, 389, 390)],
            f"(EngineCore_DP0 pid=214) ERROR 03-18 [core.py:1109] {UNAVAILABLE}",
        ]
    )
    pipeline, timeout, channel, unavailable = diagnose(log)
    assert (pipeline["id"], pipeline["role"], pipeline["line"]) == ("pipeline-over-ray", "cause", 1)
    assert (timeout["id"], timeout["because"]) == ("ray-channel-timeout", "pipeline-over-ray")
    assert (channel["id"], channel["role"], channel["count"]) == ("ray-channel-torn-down", "consequence", 3)
    assert (channel["line"], channel["last_line"], channel["processes"]) == (5, 7, ["RayWorkerWrapper"])
    assert (unavailable["id"], unavailable["because"]) == ("ray-actor-unavailable", "pipeline-over-ray")


def test_consequence_without_a_known_cause_shows_the_first_real_error_above_it() -> None:
    log = "\n".join(
        [
            "INFO 03-18 [core.py:93] EngineCore initialized",
            "ERROR 03-18 [core.py:1100] Traceback (most recent call last):",
            'ERROR 03-18 [core.py:1100]   File "vllm/x.py", line 1, in run',
            "ERROR 03-18 [core.py:1100]     raise ValueError(",
            "ERROR 03-18 [core.py:1100] ValueError: nobody has seen this before",
            f"ERROR 03-18 [x.py:643] {CHANNEL}",
            f"ERROR 03-18 [core.py:1109] {UNAVAILABLE}",
        ]
    )
    channel, unavailable = diagnose(log)
    assert channel["because"] is None
    assert channel["first_error"] == {
        "line": 5,
        "text": "ERROR 03-18 [core.py:1100] ValueError: nobody has seen this before",
    }
    assert unavailable["first_error"] == channel["first_error"]


def test_consequence_alone_has_no_error_above_it() -> None:
    (finding,) = diagnose(f"ERROR {CHANNEL}\nERROR {CHANNEL} [repeated 3x across cluster]")
    assert (finding["first_error"], finding["count"]) == (None, 2)


def test_causes_come_first_in_the_order_in_which_they_happened() -> None:
    log = f"{UNAVAILABLE}\nTooMany: Too many open files\n{FULL}\nToo many open files"
    assert ids(log) == ["too-many-open-files", "disk-full", "ray-actor-unavailable"]


def test_cause_that_another_rank_wrote_below_its_consequence_is_still_the_cause() -> None:
    findings = {finding["id"]: finding for finding in diagnose(f"{UNAVAILABLE}\n{FULL}")}
    assert findings["ray-actor-unavailable"]["because"] == "disk-full"


def test_two_texts_of_a_signature_in_one_line_are_one_occurrence() -> None:
    (finding,) = diagnose(UNAVAILABLE)
    assert finding["count"] == 1


def test_line_is_shown_without_colours_timestamp_process_and_secrets() -> None:
    line = (
        "2026-03-18T09:12:44.1Z \x1b[1;36m(APIServer pid=7)\x1b[0;0m HF_TOKEN=hf_abcdefghijklmnopqrst exec format error"
    )
    (finding,) = diagnose(line)
    assert finding["text"] == "HF_TOKEN=******** exec format error"
    assert finding["processes"] == ["APIServer"]


def test_bar_of_progress_is_read_as_what_it_became() -> None:
    (finding,) = diagnose("Loading: 10%\rLoading: 90%\rCUDA error: invalid device ordinal\r\nINFO done")
    assert finding["text"] == "CUDA error: invalid device ordinal"


def test_very_long_line_is_cut_around_what_matters() -> None:
    (finding,) = diagnose("x" * 100_000 + " exec format error " + "y" * 100_000)
    assert finding["line"] == 1
    assert len(finding["text"]) <= 400


def test_log_that_says_nothing_wrong_gives_nothing() -> None:
    assert diagnose("") == []
    assert diagnose("INFO: Application startup complete.\n" * 50) == []


@given(st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    assert isinstance(diagnose(text), list)


@given(
    st.lists(
        st.sampled_from(
            [CHANNEL, UNAVAILABLE, TIMEOUT, FULL, "\x1b[", "\r", "\n", "(", "ERROR", "\udc80", "NVRM: Xid ("]
        )
    )
)
def test_no_mixture_of_what_it_knows_makes_it_raise(parts: list[str]) -> None:
    findings = diagnose("".join(parts))
    roles = [finding["role"] for finding in findings]
    assert roles == sorted(roles)  # cause before consequence


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_are_numbered_from_one(newline: str) -> None:
    (finding,) = diagnose(newline.join(["INFO a", "INFO b", "exec format error"]))
    assert finding["line"] == 3


def test_a_line_with_two_texts_of_a_signature_is_counted_once() -> None:
    line = "ray.exceptions.ActorUnavailableError: The actor is temporarily unavailable\n"
    assert [finding["count"] for finding in diagnose(line * 10)] == [10]
