"""The picture of all heads: small, and each number in its place."""

import re
from importlib import import_module
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_lab.figures import overview, scales
from attention_lab.figures.overview import _pool, part_sites, pooling
from attention_lab.tracing.record import trace
from attention_lab.tracing.trace import Trace
from tests.factories import byte_tokenizer, tiny_model
from tests.figures.helpers import read

TEXT = "the cat sat on the mat"
ENCODER = tiny_model(n_layers=3)
DECODER = tiny_model("decoder", n_layers=3)
STEP = 1 / 500  # half of one of 250 levels


@pytest.fixture(scope="module")
def encoder() -> Trace:
    return trace(ENCODER, TEXT)


@pytest.fixture(scope="module")
def decoder() -> Trace:
    return trace(DECODER, TEXT)


@pytest.fixture(scope="module")
def long() -> Trace:
    """As many heads as MiniLM has, on 128 tokens."""
    model = tiny_model(
        tokenizer=byte_tokenizer(), n_layers=6, n_heads=12, n_kv_heads=12, d_model=48,
        max_positions=256,
    )  # fmt: skip
    return trace(model, "abcdefgh" * 25)


class Picture:
    """What stands at which place, by the figure's own coordinates and colours."""

    def __init__(self, figure: go.Figure) -> None:
        shown = read(figure)
        self.image, self.targets = shown["data"]
        self.layout: dict[str, Any] = shown["layout"]
        n_rows, n_columns = self.image["z"].shape
        self.x = self.image["x0"] + self.image["dx"] * np.arange(n_columns)
        self.y = self.image["y0"] + self.image["dy"] * np.arange(n_rows)

    def tile(self, layer: int, head: int) -> np.ndarray:
        """The bytes that stand around (head, layer), without the gutter."""
        rows, columns = np.abs(self.y - layer) < 0.5, np.abs(self.x - head) < 0.5
        tile: np.ndarray = self.image["z"][np.ix_(rows, columns)]
        inner = tile[~(tile == 255).all(axis=1)]
        return inner[:, ~(inner == 255).all(axis=0)]

    def weights(self, layer: int, head: int) -> np.ndarray:
        return self.tile(layer, head).astype(float) / 250

    def colour(self, byte: int) -> np.ndarray:
        """Red, green, blue and opacity of a byte: a straight line between two stops."""
        at = (byte - self.image["zmin"]) / (self.image["zmax"] - self.image["zmin"])
        stops = [stop for stop, _colour in self.image["colorscale"]]
        colours = np.array([rgba(colour) for _stop, colour in self.image["colorscale"]])
        return np.array([np.interp(at, stops, channel) for channel in colours.T])


def rgba(colour: str) -> list[float]:
    if colour.startswith("#"):
        return [*(int(colour[i : i + 2], 16) for i in (1, 3, 5)), 1]
    numbers = [float(part) for part in re.findall(r"[\d.]+", colour)]
    return [*numbers, 1][:4]


def test_each_tile_is_its_own_head_s_weights(encoder: Trace) -> None:
    picture = Picture(overview(encoder, "encoder.self"))
    for layer in range(3):
        for head in range(4):
            expected = encoder[f"encoder.{layer}.self"].weights[head]
            np.testing.assert_allclose(picture.weights(layer, head), expected, atol=STEP)


def test_each_kind_of_attention_has_a_picture_of_its_own() -> None:
    found = trace(tiny_model("encoder-decoder"), TEXT, target="a dog")
    for part, shape in {
        "encoder.self": (7, 7),
        "decoder.self": (3, 3),
        "decoder.cross": (3, 7),
    }.items():
        picture = Picture(overview(found, part))
        for layer, site in enumerate(part_sites(found, part)):
            assert picture.tile(layer, 2).shape == shape
            is_open = np.broadcast_to(found[site].mask, found[site].weights.shape)[2]
            np.testing.assert_allclose(
                picture.weights(layer, 2)[is_open], found[site].weights[2][is_open], atol=STEP
            )


def test_masked_is_grey_and_weight_1_is_not(decoder: Trace) -> None:
    picture = Picture(overview(decoder, "decoder.self"))
    assert decoder["decoder.1.self"].weights[2][0, 0] == 1  # the first token sees itself alone
    tile = picture.tile(1, 2)
    np.testing.assert_array_equal(tile == 252, np.triu(np.ones_like(tile, bool), 1))
    grey = picture.colour(tile[0, 1])
    assert grey.tolist() == rgba(scales.MASKED)
    assert picture.colour(tile[0, 0]) == pytest.approx(rgba(scales.SEQUENTIAL[-1][1]), abs=3)
    assert picture.colour(0) == pytest.approx(rgba(scales.SEQUENTIAL[0][1]), abs=1)
    assert min(np.abs(picture.colour(byte) - grey).max() for byte in range(251)) > 25


def test_gutters_are_clear_and_all_around(encoder: Trace) -> None:
    picture = Picture(overview(encoder, "encoder.self"))
    assert picture.colour(255)[3] == 0
    between = picture.image["z"][:, np.abs(picture.x % 1 - 0.5) < 0.02]
    assert between.size
    assert (between == 255).all()


def test_the_bar_names_the_weights_and_the_scale_is_0_to_1(encoder: Trace) -> None:
    marker = Picture(overview(encoder, "encoder.self")).targets["marker"]
    assert marker["showscale"]
    assert (marker["cmin"], marker["cmax"]) == (0, 1)
    assert marker["colorbar"]["title"]["text"] == "weight"
    assert [tuple(stop) for stop in marker["colorscale"]] == [
        tuple(stop) for stop in scales.SEQUENTIAL
    ]


def test_every_tile_can_be_clicked_and_names_itself(encoder: Trace) -> None:
    targets = Picture(overview(encoder, "encoder.self")).targets
    places = set(zip(targets["y"].tolist(), targets["x"].tolist(), strict=True))
    assert places == {(layer, head) for layer in range(3) for head in range(4)}
    assert targets["hovertemplate"].startswith("layer %{y}, head %{x}")


def test_the_frame_stands_on_the_chosen_tile(encoder: Trace) -> None:
    assert not Picture(overview(encoder, "encoder.self")).layout.get("shapes")
    (frame,) = Picture(overview(encoder, "encoder.self", (2, 1))).layout["shapes"]
    assert (frame["x0"], frame["x1"]) == (0.5, 1.5)
    assert (frame["y0"], frame["y1"]) == (1.5, 2.5)


def test_layers_go_down_and_all_are_in_view(encoder: Trace) -> None:
    layout = Picture(overview(encoder, "encoder.self")).layout
    bottom, top = layout["yaxis"]["range"]
    assert top < -0.5
    assert bottom > 2.5
    left, right = layout["xaxis"]["range"]
    assert left < -0.5
    assert right > 3.5


def test_a_long_text_shows_its_first_tokens(encoder: Trace) -> None:
    picture = Picture(overview(encoder, "encoder.self", limit=5))
    expected = encoder["encoder.0.self"].weights[1][:5, :5]
    np.testing.assert_allclose(picture.weights(0, 1), expected, atol=STEP)


def test_all_heads_of_minilm_s_size_at_128_tokens_are_small(long: Trace) -> None:
    assert len(overview(long, "encoder.self", limit=128).to_json().encode()) <= 1_800_000


def test_a_pooled_dot_is_the_largest_of_its_weights(long: Trace) -> None:
    k = pooling(long, "encoder.self", 128)
    assert k == 2
    weights = long["encoder.4.self"].weights[7][:128, :128]
    expected = weights.reshape(64, 2, 64, 2).max(axis=(1, 3))
    picture = Picture(overview(long, "encoder.self", limit=128))
    np.testing.assert_allclose(picture.weights(4, 7), expected, atol=STEP)


def test_few_tokens_are_not_pooled(encoder: Trace) -> None:
    assert pooling(encoder, "encoder.self") == 1


@given(st.integers(1, 4), st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_pooling_loses_no_weight_at_the_edges(k: int, rows: int, columns: int, seed: int) -> None:
    array = np.random.default_rng(seed).random((2, rows, columns))
    pooled = _pool(array, k)
    assert pooled.shape == (2, -(-rows // k), -(-columns // k))
    for row in range(pooled.shape[1]):
        for column in range(pooled.shape[2]):
            block = array[:, row * k : (row + 1) * k, column * k : (column + 1) * k]
            np.testing.assert_array_equal(pooled[:, row, column], block.max(axis=(1, 2)))


def test_a_pooled_cell_is_grey_only_where_all_its_cells_are_masked(
    decoder: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("attention_lab.figures.overview"), "MOST_CELLS", 200)
    assert pooling(decoder, "decoder.self") == 2
    tile = Picture(overview(decoder, "decoder.self")).tile(2, 3)
    expected = [[0, 252, 252], [0, 0, 252], [0, 0, 0]]
    np.testing.assert_array_equal((tile == 252) * 252, expected)
