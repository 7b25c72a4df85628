"""Pictures of masks and of what they do to the output."""

import numpy as np
import plotly.graph_objects as go
import pytest

from attention_lab.analysis.numbers import Candidate
from attention_lab.figures import scales
from attention_lab.figures.masks import MOST_POINTS, mask_grid, written_mask
from attention_lab.figures.shift import next_token_bars, token_bars
from tests.figures.helpers import read

LABELS = ["the", "cat", "<b>$x$", "the"]
MASK = np.tri(4, dtype=bool)


@pytest.mark.parametrize(
    "figure",
    [
        mask_grid(MASK, LABELS, LABELS, [(1, 2)], (0, 3)),
        written_mask(MASK, LABELS, LABELS, ("0", "−∞")),
        next_token_bars([Candidate(1, 0.5, 0.25)], ["cat"]),
        token_bars([0.1, 0.2], ["the", "cat"], "moved"),
    ],
)
def test_plotly_takes_every_property(figure: go.Figure) -> None:
    go.Figure(figure.to_dict())


def test_every_cell_is_a_point_to_click_at_its_place() -> None:
    grid = read(mask_grid(MASK, LABELS, LABELS))
    np.testing.assert_array_equal(grid["data"][0]["z"].astype(bool), MASK)
    points = grid["data"][-1]
    places = list(zip(points["y"].tolist(), points["x"].tolist(), strict=True))
    assert places == [(q, k) for q in range(4) for k in range(4)]
    states = [text == "may look" for text in points["customdata"]]
    assert states == MASK.ravel().tolist()
    assert points["marker"]["opacity"] == 0
    assert points.get("hoverinfo") not in ("skip", "none")  # else it cannot be clicked
    assert grid["layout"]["clickmode"] == "event+select"


def test_rows_and_columns_may_differ() -> None:
    mask = np.arange(6).reshape(2, 3) % 2 == 0
    grid = read(mask_grid(mask, LABELS[:2], LABELS[:3]))
    points = grid["data"][-1]
    assert points["y"].max() == 1
    assert points["x"].max() == 2
    assert grid["layout"]["yaxis"]["range"] == [1.5, -0.5]
    assert grid["layout"]["xaxis"]["range"] == [-0.5, 2.5]


def test_turned_cells_are_marked_and_the_chosen_one_is_framed() -> None:
    grid = read(mask_grid(MASK, LABELS, LABELS, {(3, 0), (1, 2)}, (2, 1)))
    (marks,) = [t for t in grid["data"] if t.get("name") == "turned over"]
    assert sorted(zip(marks["y"], marks["x"], strict=True)) == [(1, 2), (3, 0)]
    (frame,) = grid["layout"]["shapes"]
    assert [frame[k] for k in ("y0", "y1", "x0", "x1")] == [1.5, 2.5, 0.5, 1.5]
    assert not read(mask_grid(MASK, LABELS, LABELS))["layout"]["shapes"]


def test_a_long_sentence_has_no_points() -> None:
    side = int(MOST_POINTS**0.5) + 1
    grid = read(mask_grid(np.ones((side, side), dtype=bool), ["a"] * side, ["a"] * side))
    assert all("customdata" not in trace for trace in grid["data"])


def test_repeated_and_hostile_labels() -> None:
    """Field notes 1 and 4."""
    axis = read(mask_grid(MASK, LABELS, LABELS))["layout"]["yaxis"]
    assert axis["tickvals"] == [0, 1, 2, 3]
    assert axis["ticktext"] == ["the", "cat", "&lt;b&gt;&#36;x&#36;", "the"]


def test_values_of_a_convention_are_written_in_the_cells() -> None:
    figure = read(written_mask(MASK, LABELS, LABELS, ("0", "−1e9")))
    text = figure["data"][0]["text"]
    assert [[cell == "0" for cell in row] for row in text] == MASK.tolist()
    assert text[0][1] == "−1e9"
    wide = np.ones((20, 20), dtype=bool)
    assert "text" not in read(written_mask(wide, ["a"] * 20, ["a"] * 20, ("1", "0")))["data"][0]


def test_legends_name_the_colours() -> None:
    names = [t.get("name") for t in read(written_mask(MASK, LABELS, LABELS))["data"][1:]]
    assert names == ["may attend", "blocked"]
    figure = read(written_mask(MASK, LABELS, LABELS, names=("computed", "left out")))
    assert [t["name"] for t in figure["data"][1:]] == ["computed", "left out"]
    assert [t["marker"]["color"] for t in figure["data"][1:]] == [scales.OPEN, scales.MASKED]
    assert len(read(written_mask(MASK, LABELS, LABELS, names=("", "")))["data"]) == 1


def test_bars_have_their_numbers() -> None:
    found = [Candidate(7, 0.5, 0.25), Candidate(3, 0.125, 0.75)]
    bars = read(next_token_bars(found, ["a$", "b"]))
    assert [bar["x"] for bar in bars["data"]] == [[0.5, 0.125], [0.25, 0.75]]
    assert bars["layout"]["yaxis"]["ticktext"] == ["a&#36;", "b"]
    assert bars["layout"]["xaxis"]["range"][1] > 0.75
    moved = read(token_bars([0.25, 0.0], ["the", "the"], "moved"))
    assert moved["data"][0]["y"] == [0.25, 0.0]
    assert moved["layout"]["xaxis"]["ticktext"] == ["the", "the"]
