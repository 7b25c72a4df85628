"""The clinic's pictures: what is no number is seen, and both ways share a scale."""

import math

import numpy as np
import pytest

from attention_lab.clinic.exhibit import Curves, Matrix, Scale
from attention_lab.figures import scales
from attention_lab.figures.clinic import INFINITE, NOT_A_NUMBER, draw_curves, draw_matrix
from tests.figures.helpers import read

VALUES = np.array([[0.5, np.nan, np.inf], [-2.0, -np.inf, 0.25]])
CLOSED = np.array([[False, False, False], [False, False, True]])


def matrix(scale: Scale = "signed", values: np.ndarray = VALUES) -> Matrix:
    rows = ("the", "<b>$the$</b>")
    columns = tuple(map(str, range(values.shape[1])))
    return Matrix(values, rows, columns, ("query", "key", "weight"), scale, CLOSED, "masked")


def test_each_kind_of_cell_has_its_own_look_and_a_place_in_the_legend() -> None:
    data = read(draw_matrix(matrix(), 2.0))["data"]
    np.testing.assert_array_equal(data[0]["z"], [[0.5, np.nan, np.nan], [-2, np.nan, np.nan]])
    covers = {d["colorscale"][0][1]: d["z"] for d in data[1:] if d["type"] == "heatmap"}
    assert set(covers) == {scales.MASKED, NOT_A_NUMBER, INFINITE}
    np.testing.assert_array_equal(~np.isnan(covers[scales.MASKED]), CLOSED)
    np.testing.assert_array_equal(np.isfinite(covers[NOT_A_NUMBER]), np.isnan(VALUES) & ~CLOSED)
    names = [d["name"] for d in data if d["type"] == "scatter"]
    assert names == ["masked", "NaN", "∞", "−∞"]
    written = [text for d in data[1:] if "text" in d for row in d["text"] for text in row if text]
    assert written == ["NaN", "∞", "−∞"]


@pytest.mark.parametrize(
    ("scale", "largest", "ends", "colours"),
    [
        ("share", 7.0, (0, 1), scales.SEQUENTIAL),
        ("size", 7.0, (0, 7), scales.SEQUENTIAL),
        ("signed", 7.0, (-7, 7), scales.DIVERGING),
        ("signed", 0.0, (-1, 1), scales.DIVERGING),
    ],
)
def test_the_scale_is_the_one_asked_for(
    scale: Scale, largest: float, ends: tuple[float, float], colours: list[object]
) -> None:
    cells = draw_matrix(matrix(scale), largest).data[0]
    assert (cells.zmin, cells.zmax) == ends
    assert [list(pair) for pair in cells.colorscale] == [list(pair) for pair in colours]
    assert cells.colorbar.title.text == "weight"


def test_labels_are_not_read_as_markup_and_repeated_ones_stay() -> None:
    axis = read(draw_matrix(matrix(), 1.0))["layout"]["yaxis"]
    assert axis["ticktext"] == ["the", "&lt;b&gt;&#36;the&#36;&lt;/b&gt;"]
    assert list(axis["tickvals"]) == [0, 1]


def test_wide_pictures_have_no_numbers_in_their_cells() -> None:
    wide = np.full((2, 15), np.nan)
    shown = Matrix(wide, ("a", "b"), tuple("abcdefghijklmno"), ("r", "c", "v"))
    assert not any("text" in d for d in read(draw_matrix(shown, 1.0))["data"])


def test_curves_leave_out_what_is_not_finite() -> None:
    curves = Curves(
        "deviation", "blocks", (1, 2, 3), (1.0, math.inf, math.nan), (1.0, 2.0, 3.0), True
    )
    wrong, right = read(draw_curves(curves))["data"]
    assert list(wrong["y"]) == [1.0, None, None]
    assert list(right["y"]) == [1.0, 2.0, 3.0]
    assert (wrong["name"], right["name"]) == ("wrong", "right")
    assert wrong["line"]["dash"] == "dash"  # not by colour alone


def test_sizes_in_powers_of_two_stand_on_a_logarithmic_axis() -> None:
    sizes = (2, 4, 8, 16, 32, 64)
    figure = draw_curves(Curves("entropy", "d_k", sizes, (1.0,) * 6, (2.0,) * 6))
    assert figure.layout.xaxis.type == "log"
    assert figure.layout.yaxis.type == "linear"
    depths = tuple(range(1, 49))
    assert (
        draw_curves(Curves("x", "n", depths, (1.0,) * 48, (1.0,) * 48)).layout.xaxis.type
        == "linear"
    )
