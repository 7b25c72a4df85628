"""The heatmap of one panel, read back from the figure as the browser gets it."""

import html
import itertools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attention_lab.analysis.panel import difference, panel
from attention_lab.figures import draw, heatmap, scales
from attention_lab.figures.heatmap import _written
from attention_lab.figures.text import escape
from attention_lab.tracing.record import trace
from attention_lab.tracing.site import STAGES, Stage
from attention_lab.tracing.trace import Trace
from tests.factories import byte_tokenizer, tiny_model
from tests.figures.helpers import read

ENCODER = tiny_model()
DECODER = tiny_model("decoder")
REPEATED = "the cat sat on the mat the cat"
HOSTILE = ("<b>", "</script>", "$x$", "&amp;", "*", "_", "`", "<img src=x onerror=alert(1)>")


def data(figure: Any) -> list[dict[str, Any]]:
    traces: list[dict[str, Any]] = read(figure)["data"]
    return traces


def cells(figure: Any) -> dict[str, Any]:
    return data(figure)[0]


def layout(figure: Any) -> dict[str, Any]:
    found: dict[str, Any] = read(figure)["layout"]
    return found


@pytest.fixture(scope="module")
def encoder() -> Trace:
    return trace(ENCODER, REPEATED)


@pytest.fixture(scope="module")
def decoder() -> Trace:
    return trace(DECODER, REPEATED)


def test_query_down_key_across(encoder: Trace) -> None:
    figure = heatmap(encoder, "encoder.1.self", 3)
    np.testing.assert_array_equal(cells(figure)["z"], encoder["encoder.1.self"].weights[3])
    top, bottom = layout(figure)["yaxis"]["range"][::-1]
    assert top < bottom  # the first query stands at the top
    assert "query" in layout(figure)["yaxis"]["title"]["text"]
    assert "key" in layout(figure)["xaxis"]["title"]["text"]


@pytest.mark.parametrize("axis", ["xaxis", "yaxis"])
def test_repeated_tokens_stay_apart(encoder: Trace, axis: str) -> None:
    shown = layout(heatmap(encoder, "encoder.0.self"))[axis]
    assert "type" not in shown  # a category axis would merge equal labels
    assert shown["tickvals"] == list(range(10))
    assert shown["ticktext"] == ["[CLS]", *REPEATED.split(), "[SEP]"]
    low, high = sorted(shown["range"])
    assert (low, high) == (-0.5, 9.5)
    assert "x" not in cells(heatmap(encoder, "encoder.0.self"))


def test_many_tokens_have_fewer_ticks_and_all_their_names_on_hover() -> None:
    words = [str(i % 10) for i in range(200)]
    model = tiny_model(tokenizer=byte_tokenizer(), max_positions=256)
    shown = layout(heatmap(trace(model, "".join(words)), "encoder.0.self"))["yaxis"]
    assert len(shown["tickvals"]) <= 50
    assert shown["ticktext"] == [words[i] for i in shown["tickvals"]]
    assert shown["labelalias"] == {str(i): word for i, word in enumerate(words)}


def read_by_plotly(markup: str) -> str:
    """What Plotly draws for a label: its tags removed, its entities resolved."""
    if re.search(r"\$.*\$", markup):
        return "typeset by MathJax"
    return html.unescape(re.sub(r"</?[a-z][^>]*>", "", markup, flags=re.I))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_label_is_no_markup(text: str) -> None:
    escaped = escape(text)
    assert not set(escaped) & set("<>$")
    assert read_by_plotly(escaped) == text


@given(st.text(max_size=40))
def test_any_label_is_shown_as_typed(text: str) -> None:
    assert read_by_plotly(escape(text)) == text


def test_no_place_of_a_figure_holds_a_user_s_markup() -> None:
    model = tiny_model(tokenizer=byte_tokenizer())
    figure = heatmap(trace(model, "<b>$&*</b>"), "encoder.0.self")
    shown = read(figure)
    own_axes = [shown["layout"][axis].pop("ticktext") for axis in ("xaxis", "yaxis")]
    assert own_axes[0] == [escape(c) for c in "<b>$&*</b>"] == own_axes[1]
    assert "<b>" not in str(shown)
    assert "&lt;" not in str(shown)  # tokens stand on the axes and nowhere else


def test_weights_have_the_scale_0_to_1_whatever_they_are(encoder: Trace) -> None:
    for head in range(4):
        shown = cells(heatmap(encoder, "encoder.0.self", head))
        assert (shown["zmin"], shown["zmax"]) == (0, 1)
        assert "zauto" not in shown
        assert shown["colorscale"][0][1] == scales.SEQUENTIAL[0][1]


@pytest.mark.parametrize("stage", ["q", "k", "v", "scores", "masked_scores", "z", "result"])
def test_signed_stages_have_a_scale_symmetric_around_zero(decoder: Trace, stage: Stage) -> None:
    shown = cells(heatmap(decoder, "decoder.0.self", 1, stage))
    largest = np.nanmax(np.abs(shown["z"]))
    assert shown["zmax"] == -shown["zmin"] == pytest.approx(largest)
    middle = shown["colorscale"][len(shown["colorscale"]) // 2]
    assert middle[0] == 0.5
    assert min(map(int, re.findall(r"\d+", middle[1]))) > 240  # zero is nearly white


def test_before_and_after_share_their_scale(encoder: Trace) -> None:
    shown = panel(encoder, "encoder.0.self", 0, "scores")
    for bound in (5.0, 50.0):
        found = cells(draw(shown, bound))
        assert (found["zmin"], found["zmax"]) == (-bound, bound)
    weights = cells(draw(panel(encoder, "encoder.0.self"), 0.5))
    assert (weights["zmin"], weights["zmax"]) == (0, 1)


@pytest.mark.parametrize("stage", STAGES)
def test_what_the_colours_mean_is_always_shown(decoder: Trace, stage: Stage) -> None:
    figure = heatmap(decoder, "decoder.0.self", 0, stage)
    if stage == "mask":
        named = {t["name"]: t["marker"]["color"] for t in data(figure) if t.get("showlegend")}
        assert set(named.values()) == {scales.OPEN, scales.MASKED}
        return
    assert cells(figure).get("showscale", True)
    assert cells(figure)["colorbar"]["title"]["text"]


def rgb(colour: str) -> list[int]:
    if colour.startswith("#"):
        return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return [int(float(part)) for part in re.findall(r"[\d.]+", colour)[:3]]


@pytest.mark.parametrize("scale", [scales.SEQUENTIAL, scales.DIVERGING])
def test_masked_is_a_colour_of_neither_scale(scale: list[list[Any]]) -> None:
    """Not even on the way between two colours of it."""
    grey = np.array(rgb(scales.MASKED), float)
    stops = [np.array(rgb(colour), float) for _at, colour in scale]
    for a, b in itertools.pairwise(stops):
        for t in np.linspace(0, 1, 33):
            assert np.linalg.norm(a + t * (b - a) - grey) > 25


def test_masked_cells_are_grey_and_named_in_the_legend(decoder: Trace) -> None:
    figure = heatmap(decoder, "decoder.0.self", 2)
    weights, cover, legend = data(figure)
    future = np.triu(np.ones((8, 8), bool), 1)
    np.testing.assert_array_equal(np.isnan(weights["z"]), future)
    np.testing.assert_array_equal(np.isnan(cover["z"]), ~future)
    assert {colour for _at, colour in cover["colorscale"]} == {scales.MASKED}
    assert not cover["showscale"]
    assert legend["showlegend"]
    assert "masked" in legend["name"]
    assert legend["marker"]["color"] == scales.MASKED


def test_nothing_is_greyed_out_in_a_bidirectional_model(encoder: Trace) -> None:
    """The causal triangle is no decoration: without a mask there is none."""
    assert len(data(heatmap(encoder, "encoder.0.self"))) == 1
    causal = trace(ENCODER, REPEATED, mask="causal")
    assert len(data(heatmap(causal, "encoder.0.self"))) == 3


def test_the_mask_is_computed_and_not_painted_over(encoder: Trace) -> None:
    """Open cells get the weight of the closed ones: rows sum to 1 again."""
    causal = trace(ENCODER, REPEATED, mask="causal")
    before = cells(heatmap(encoder, "encoder.0.self"))["z"]
    after = cells(heatmap(causal, "encoder.0.self"))["z"]
    np.testing.assert_allclose(np.nansum(after, axis=1), 1, atol=1e-5)
    is_open = ~np.isnan(after)
    assert np.abs(after - before)[is_open].max() > 0.01


def test_hover_names_both_tokens_and_the_exact_value(encoder: Trace) -> None:
    hover = cells(heatmap(encoder, "encoder.0.self"))["hovertemplate"]
    assert re.search(r"%\{y\}.*%\{x\}.*%\{z:\.6f\}", hover)


def written(figure: Any) -> tuple[np.ndarray, np.ndarray]:
    """The numbers in the cells, and the values they stand for; an empty cell means zero."""
    shown = cells(figure)
    texts = np.ravel(shown["text"])
    return np.array([float(text or 0) for text in texts]), np.nan_to_num(shown["z"].ravel())


@pytest.mark.parametrize("text", ["cat", REPEATED])
def test_few_cells_have_their_number_written_in_them(text: str) -> None:
    numbers, values = written(heatmap(trace(ENCODER, text), "encoder.0.self"))
    np.testing.assert_allclose(numbers, values, atol=0.005 + 1e-7)


def test_a_difference_of_weights_is_written_to_the_hundredth(encoder: Trace) -> None:
    causal = trace(ENCODER, REPEATED, mask="causal")
    shown = difference(panel(causal, "encoder.0.self"), panel(encoder, "encoder.0.self"))
    numbers, values = written(draw(shown))
    np.testing.assert_allclose(numbers, values, atol=0.005 + 1e-7)


@given(st.lists(st.floats(-1e5, 1e5, width=32), min_size=9, max_size=9))
@example([9.97, -9.95, 0.96, 0.949, -0.06, 10.4, 99.6, -0.949, -9.999])
def test_no_written_number_is_another_than_the_value(encoder: Trace, numbers: list[float]) -> None:
    shown = panel(encoder, "encoder.0.self", 0, "scores")
    values = np.array(numbers, np.float32).reshape(3, 3)
    texts = np.ravel(_written(replace(shown, values=values)))
    found = np.array([float(text or 0) for text in texts])
    allowed = np.where(np.abs(values) < 10, 0.0501, 0.501).ravel()
    assert (np.abs(found - values.ravel()) <= allowed).all()


def test_many_cells_are_not_written_in() -> None:
    long = trace(ENCODER, " ".join(["cat"] * 20))
    assert "texttemplate" not in cells(heatmap(long, "encoder.0.self"))
