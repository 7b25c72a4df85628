"""The Positions page on tiny models: its numbers are the engine's, its switches run the model."""

from typing import Any

import numpy as np
import plotly.io as pio
import pytest
from streamlit.testing.v1 import AppTest

import attention_lab as lab
from attention_lab.analysis.order import compare, moved_places
from attention_lab.analysis.positions import shift_map, similarity, sinusoidal_table
from attention_lab.model.positions import alibi_bias
from attention_lab.zoo import native, store
from tests.factories import tiny_model
from tests.figures.helpers import read
from tests.ui.conftest import MODELS, write
from tests.ui.helpers import APP, SENTENCE, run, said

PAGE = "pages/positions.py"
LEARNED = tiny_model("encoder", seed=4, position="learned", max_positions=40)


@pytest.fixture
def learned(own_home: Any) -> None:
    """minilm with learned positions, as the real one."""
    write(own_home / "models" / "minilm", LEARNED)


def visit(**link: str) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=120)
    link = {"text": SENTENCE} | link
    for key in {"model", "mask", "text", "layer", "head"} & link.keys():  # Explore reads them too
        app.query_params[key] = link[key]
    app.run()
    for key, value in link.items():
        app.query_params[key] = value
    app.switch_page(PAGE)
    return run(app)


def figures(app: AppTest) -> list[dict[str, Any]]:
    charts = app.get("plotly_chart")
    return [read(pio.from_json(chart.proto.spec, skip_invalid=False)) for chart in charts]


def test_it_opens_with_fifty_positions_and_128_dimensions() -> None:
    app = visit()
    assert not app.warning
    assert not app.error
    (figure,) = figures(app)
    table = sinusoidal_table(50, 128)
    np.testing.assert_allclose(figure["data"][0]["z"], table, atol=1e-6)
    aliases = figure["layout"]["xaxis"]["labelalias"]
    assert aliases["4"] == "dimension 4: sin(pos / 10000^(4/128))"
    assert aliases["5"] == "dimension 5: cos(pos / 10000^(4/128))"
    assert "cos(1 / 10000^(2/128)) = +0.6479" in app.code[0].value


@pytest.mark.parametrize(("places", "dims"), [("2", "2"), ("512", "512"), ("37", "129")])
def test_both_sizes_can_be_chosen(places: str, dims: str) -> None:
    (figure,) = figures(visit(places=places, dims=dims))
    table = sinusoidal_table(int(places), int(dims))
    np.testing.assert_allclose(figure["data"][0]["z"], table, atol=1e-6)


def test_curves_are_columns_with_their_wavelengths() -> None:
    (figure,) = figures(visit(picture="curves", curve="8"))
    (line,) = figure["data"]
    np.testing.assert_allclose(line["y"], sinusoidal_table(50, 128)[:, 8], atol=1e-6)
    assert line["name"] == f"dimension 8, wavelength {2 * np.pi * 10_000 ** (8 / 128):.1f}"


def test_the_clock_is_a_sine_and_its_cosine() -> None:
    app = visit(picture="clock", pair="3", pos="7")
    dots, hand, *_drops = figures(app)[0]["data"]
    table = sinusoidal_table(50, 128)
    np.testing.assert_allclose(dots["x"], table[:, 7], atol=1e-6)
    np.testing.assert_allclose(dots["y"], table[:, 6], atol=1e-6)
    np.testing.assert_allclose([hand["x"][1], hand["y"][1]], table[7, [7, 6]], atol=1e-6)


def test_similarity_and_shift_are_the_engines() -> None:
    fall, square = figures(visit(picture="similarity"))
    product = similarity(sinusoidal_table(50, 128))
    np.testing.assert_allclose(square["data"][0]["z"], product, rtol=1e-5)
    np.testing.assert_allclose(fall["data"][2]["y"], product[:, 0], rtol=1e-4)
    app = visit(picture="shift", k="9")
    np.testing.assert_allclose(figures(app)[0]["data"][0]["z"], shift_map(128, 9), atol=1e-6)
    assert "Largest error over all positions: " in said(app)


def test_an_odd_number_of_dimensions_has_no_shift_and_the_page_says_so() -> None:
    app = visit(picture="shift", dims="7")
    assert "Only an even number of dimensions makes pairs" in said(app)


@pytest.mark.parametrize("picture", ["table", "curves", "clock", "similarity", "shift"])
@pytest.mark.usefixtures("learned")
def test_learned_positions_have_the_same_pictures(picture: str) -> None:
    app = visit(kind="learned", picture=picture)
    assert not app.error
    if picture == "table":
        table = LEARNED.module.encoder.embed.position.weight.numpy()  # type: ignore[union-attr]
        np.testing.assert_array_equal(figures(app)[0]["data"][0]["z"], table)


def test_a_model_that_has_learned_none_says_who_has() -> None:
    app = visit(kind="learned", model="smollm2")
    assert "Choose minilm in the sidebar" in said(app)


@pytest.mark.parametrize("turn", ["turn", "score", "speeds"])
@pytest.mark.parametrize("model", ["minilm", "smollm2"])
def test_rotary_is_shown_on_any_model_and_marked_where_it_is_not_its_own(
    model: str, turn: str
) -> None:
    app = visit(kind="rotary", model=model, turn=turn)
    assert not app.error
    assert len(figures(app)) == (2 if turn == "turn" else 1)
    own = MODELS[model].config.position == "rotary"
    assert ("was trained with" in said(app)) != own


def test_alibi_takes_the_distance_times_the_slope() -> None:
    app = visit(kind="alibi", head="2")
    _slopes, bias = figures(app)
    expected = alibi_bias(5, 15, 15)[2].numpy()
    np.testing.assert_allclose(bias["data"][0]["z"], expected, rtol=1e-5)
    assert visit(kind="none").info


def test_the_sentence_is_shown_as_word_place_and_sum() -> None:
    word, place, total, lengths = figures(visit(about="sentence"))
    cells = [figure["data"][0]["z"] for figure in (word, place, total)]
    np.testing.assert_allclose(cells[0] + cells[1], cells[2], atol=1e-6)
    trace = lab.trace(MODELS["minilm"], SENTENCE, edits=[lab.position("sinusoidal")])
    np.testing.assert_allclose(cells[2], trace.residual("encoder.0", "pre"), atol=1e-5)
    bars = [bar["y"] for bar in lengths["data"]]
    np.testing.assert_allclose(bars, np.linalg.norm(cells, axis=-1), rtol=1e-4)


def expected_order(order: list[int], **options: Any) -> Any:
    model = MODELS["minilm"]
    trace = lab.trace(model, SENTENCE, **options)
    places = moved_places(trace.tokens, order)
    other = lab.trace_ids(model, [trace.tokens.ids[i] for i in places], **options)
    return compare(trace, other, places, "encoder.2.self"), trace, other


@pytest.mark.parametrize("is_on", [True, False])
def test_order_is_compared_by_real_runs(is_on: bool) -> None:
    order = [3, 1, 2, 0, *range(4, 13)]
    written = ",".join(map(str, order))
    app = visit(about="order", order=written, layer="2", head="3", positions=str(is_on).lower())
    assert not app.warning
    found = {
        on: expected_order(order, edits=[] if on else [lab.position("none")])
        for on in (True, False)
    }
    numbers = [metric.value for metric in app.metric]
    assert numbers[0] == f"{found[True][0].largest:.3g}"
    assert float(numbers[1]) == pytest.approx(found[False][0].largest, abs=1e-5)
    compared, trace, other = found[is_on]
    typed, moved, change = (figure["data"][0]["z"] for figure in figures(app))
    np.testing.assert_allclose(typed, trace["encoder.2.self"].weights[3], atol=1e-6)
    np.testing.assert_allclose(moved, other["encoder.2.self"].weights[3], atol=1e-6)
    np.testing.assert_allclose(change, compared.weights[3], atol=1e-6)
    labels = figures(app)[1]["layout"]["yaxis"]["ticktext"]
    assert labels[1:5] == ["not", "animal", "did", "the"]


def test_buttons_change_the_order_and_the_link_keeps_it() -> None:
    app = visit(about="order", order=",".join(map(str, range(13))))
    assert app.metric[0].value == "0"
    next(button for button in app.button if button.label == "Reverse").click()
    run(app)
    assert app.session_state["order"] == ",".join(map(str, reversed(range(13))))
    assert float(app.metric[0].value) > 1e-2
    next(button for button in app.button if button.label == "As typed").click()
    run(app)
    assert app.query_params["order"] == ",".join(map(str, range(13)))


BAD = ["", "0", "0,0", "1,2,3", "a,b", "0," * 5000, "-1,0", "٣,1", "<script>", "9" * 5000]


@pytest.mark.parametrize("order", BAD)
def test_impossible_reorderings_in_a_link_are_refused_in_a_sentence(order: str) -> None:
    app = visit(about="order", order=order)
    assert "each place from 0 to 12 exactly once" in said(app) or not order
    assert len(figures(app)) == 3
    assert app.session_state["order"] == ",".join(map(str, reversed(range(13))))


def test_a_prepared_sentence_comes_with_its_reordering() -> None:
    app = visit(about="order", text="猫追老鼠")
    assert app.session_state["order"] == "2,3,1,0"
    app.text_input(key="text").set_value("the cat sat")
    assert run(app).session_state["order"] == "2,1,0"
    assert not app.warning


def test_further_along_the_output_is_that_of_a_run_there() -> None:
    app = visit(about="beyond", model="smollm2", start="400")
    before, after = (
        lab.trace(MODELS["smollm2"], SENTENCE, edits=edits).hidden
        for edits in ([], [lab.position(start=400)])
    )
    largest = np.abs(after - before).max()
    assert f"moves by at most {largest:.2g}" in said(app) or largest < 1e-4


@pytest.mark.usefixtures("learned")
def test_learned_positions_end_with_the_models_own_words() -> None:
    app = visit(about="beyond", start="600")
    assert "This model has learned 40 positions, and the text needs 615." in said(app)
    (curve,) = figures(app)
    assert list(curve["data"][0]["x"]) == [0, 10]  # 0 + 15 and 10 + 15 tokens fit into 40
    assert curve["layout"]["shapes"][0]["x0"] == 25


@pytest.mark.parametrize("view", ["pattern", "sentence", "order", "beyond"])
def test_the_translator_has_every_view(view: str) -> None:
    model = tiny_model("encoder-decoder", seed=3, position="sinusoidal")
    assert model.target_tokenizer is not None
    folder = store.ASSETS / "translator-en-zh"
    folder.mkdir(parents=True)
    texts = (model.tokenizer.to_str(), model.target_tokenizer.to_str())
    state = model.module.state_dict()
    native.write(folder, native.Parts(model.config, state, texts[0], model.card, texts[1]))
    app = visit(about=view, model="translator-en-zh")
    assert not app.error
    assert figures(app)


@pytest.mark.parametrize(
    "key", ["about", "kind", "picture", "places", "dims", "pos", "turn", "start"]
)
def test_hostile_values_in_a_link_give_way_to_the_default(key: str) -> None:
    app = visit(**{key: "<img src=x onerror=alert(1)>"})
    assert f"The link asks for {key} = <img src=x" in said(app)
    assert figures(app)
