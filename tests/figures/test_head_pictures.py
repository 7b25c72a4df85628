"""The pictures with one number a head, or one for each two heads, and the curves of growth."""

import numpy as np
import pandas as pd

from attention_lab.analysis.similarity import Similarity
from attention_lab.figures.growth import growth_curves
from attention_lab.figures.head_grid import head_grid
from attention_lab.figures.scales import LINES
from attention_lab.figures.similarity import similarity_map
from tests.figures.helpers import read

GRID = np.array([[0.1, 0.9, np.nan], [0.0, 0.004, 1.0]])


def test_a_grid_has_layers_down_and_heads_across_on_the_scale_of_weights() -> None:
    figure = read(head_grid(GRID, "weight"))
    cells = figure["data"][0]
    np.testing.assert_allclose(cells["z"], GRID.astype(np.float32))
    assert (cells["zmin"], cells["zmax"]) == (0, 1)
    assert cells["text"] == [[".10", ".90", ""], ["", "", "1.00"]]
    assert figure["layout"]["yaxis"]["range"][0] > figure["layout"]["yaxis"]["range"][1]


def test_every_head_can_be_clicked() -> None:
    points = read(head_grid(GRID, "weight"))["data"][1]
    assert list(zip(points["y"], points["x"], strict=True)) == [
        (layer, head) for layer in range(2) for head in range(3)
    ]
    assert points["customdata"][1] == np.float32(0.9)
    assert points["hovertemplate"] != "skip"


def test_many_heads_have_no_numbers_written_in() -> None:
    assert "text" not in read(head_grid(np.zeros((30, 9)), "weight"))["data"][0]


def places() -> tuple[tuple[int, int], ...]:
    return tuple((layer, head) for layer in range(2) for head in range(2))


def test_the_map_is_in_percent_and_names_each_head() -> None:
    values = np.array(
        [[1, 0.254, 0, 0.5], [0.254, 1, 0.1, 0.2], [0, 0.1, 1, 0.3], [0.5, 0.2, 0.3, 1]]
    )
    figure = read(similarity_map(Similarity(values, places(), 5, 6)))
    cells = figure["data"][0]
    assert cells["z"].dtype == np.uint8
    assert cells["z"][0].tolist() == [100, 25, 0, 50]
    axis = figure["layout"]["xaxis"]
    assert axis["tickvals"] == [0, 2]
    assert axis["ticktext"] == ["0", "1"]
    assert axis["labelalias"]["3"] == "layer 1, head 1"


def test_a_map_of_nothing_is_not_drawn() -> None:
    nothing = Similarity(np.full((4, 4), np.nan), places(), 0, 6)
    assert read(similarity_map(nothing))["data"][0]["visible"] is False


def test_curves_have_a_look_each_and_this_text_is_marked() -> None:
    parts = ["a", "b", "c", "d", "e", "f"]
    table = pd.DataFrame({part: [1, 2, 3] for part in parts}, index=[1, 10, 20])
    figure = read(growth_curves(table, {part: part.upper() for part in parts}, 7))
    assert [line["name"] for line in figure["data"]] == ["A", "B", "C", "D", "E", "F"]
    looks = {(line["line"]["color"], line["line"]["dash"]) for line in figure["data"]}
    assert len(looks) == len(LINES) == 6
    assert figure["data"][0]["x"].tolist() == [1, 10, 20]
    assert figure["layout"]["shapes"][0]["x0"] == 7
