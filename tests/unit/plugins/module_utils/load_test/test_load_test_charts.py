# Copyright: (c) 2026, gpuops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.gpuops.gpustack.plugins.module_utils.load_test.report.charts import HEIGHT, LEFT, WIDTH, chart

LINES = [("half", [(1.0, 2.0), (3.0, 4.0), (11.0, 7.0)]), ("most", [(1.0, 3.0), (11.0, 9.5)])]


def test_a_chart_needs_two_places_on_its_x_axis() -> None:
    assert chart("t", "x", [("only", [(1.0, 2.0)])], str) is None
    assert chart("t", "x", [], str) is None


def test_axes_go_from_zero_to_a_round_number_and_name_the_x_that_there_are() -> None:
    drawn = chart("Time", "requests", LINES, "{:g} s".format)
    assert drawn is not None
    assert [tick.label for tick in drawn.y_ticks] == ["0 s", "2.5 s", "5 s", "7.5 s", "10 s"]
    assert [tick.label for tick in drawn.x_ticks] == ["1", "3", "11"]
    assert (drawn.y_ticks[0].at, drawn.y_ticks[-1].at) == (drawn.bottom, drawn.top)


def test_lines_stay_inside_and_begin_at_the_left() -> None:
    drawn = chart("Time", "requests", LINES, str)
    assert drawn is not None
    assert [line.name for line in drawn.lines] == ["half", "most"]
    assert drawn.lines[0].path.startswith(f"M{LEFT:.1f} ")
    for line in drawn.lines:
        assert all(LEFT <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in line.dots)


@pytest.mark.parametrize(("most", "end"), [(0.0, 1), (0.83, 1.0), (4.0, 4.0), (457584, 600000), (0.043, 0.06)])
def test_the_end_of_an_axis_is_round_and_enough(most: float, end: float) -> None:
    drawn = chart("t", "x", [("line", [(0.0, 0.0), (1.0, most)])], repr)
    assert drawn is not None
    assert float(drawn.y_ticks[-1].label) == pytest.approx(end)


def test_many_points_are_a_line_without_dots() -> None:
    drawn = chart("t", "x", [("line", [(float(at), 1.0) for at in range(500)])], str)
    assert drawn is not None
    assert drawn.lines[0].dots == ()
    assert len(drawn.x_ticks) == 5


def test_bands_are_cut_to_the_chart_and_left_out_beside_it() -> None:
    bands = [(-5.0, 2.0, "first"), (3.0, 50.0, "second"), (60.0, 70.0, "later")]
    drawn = chart("t", "x", [("line", [(0.0, 1.0), (10.0, 1.0)])], str, bands=bands)
    assert drawn is not None
    assert [band.label for band in drawn.bands] == ["first", "second"]
    assert drawn.bands[0].x == LEFT
    assert drawn.bands[1].x + drawn.bands[1].width == drawn.right
