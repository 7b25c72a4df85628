"""The Explore page: what it shows is what the engine computed, and a change is computed anew."""

import io

import numpy as np
import pandas as pd
import pytest

import attention_lab as lab
from attention_lab.analysis.panel import COMBINES
from attention_lab.tracing import run as tracing_run
from attention_lab.tracing.trace import Trace
from attention_lab.ui.detail import STAGES
from tests.ui.conftest import MODELS
from tests.ui.helpers import SENTENCE, Explore

ENCODER, DECODER = MODELS["minilm"], MODELS["smollm2"]


@pytest.fixture
def page() -> Explore:
    return Explore({"text": SENTENCE})


def weights(trace: Trace, site: str, head: int) -> np.ndarray:
    return np.where(trace[site].mask[0], trace[site].weights[head], np.nan)


def test_the_first_visit_shows_a_filled_page() -> None:
    page = Explore()
    assert page.app.title[0].value == "Who looks at whom?"
    assert page.widget("text").value.startswith("The animal didn't cross")
    assert len(page.charts) == 2
    assert all(chart.proto.alt for chart in page.charts)
    assert "Layer 3, head 1: weights" in page.texts  # the head worth looking at first
    expected = lab.trace(ENCODER, page.widget("text").value)["encoder.3.self"].weights[1]
    np.testing.assert_array_equal(page.values, expected)
    assert page.link == {}
    assert not page.app.warning


def test_it_says_whether_the_model_is_trained(page: Explore) -> None:
    assert "untrained" in page.widget("model").options[0]
    assert "untrained" in page.app.sidebar.caption[0].value


def test_it_says_what_attention_is_and_is_not(page: Explore) -> None:
    assert "not by themselves an explanation" in page.texts


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_shows_its_own_numbers(page: Explore, stage: str) -> None:
    page.set(layer=2, head=4, stage=stage)
    array = lab.trace(ENCODER, SENTENCE)["encoder.2.self"].stage(stage)
    np.testing.assert_array_equal(page.values, array[4 if len(array) > 1 else 0])
    assert f"Layer 2, head 4: {stage.replace('_', ' ')}" in page.texts
    assert stage.split("_")[-1] in page.charts[1].proto.alt


def test_the_frame_in_the_overview_follows_the_choice(page: Explore) -> None:
    page.set(layer=5, head=0)
    (frame,) = page.figure(0)["layout"]["shapes"]
    assert ((frame["y0"] + frame["y1"]) / 2, (frame["x0"] + frame["x1"]) / 2) == (5, 0)


def test_another_mask_is_run_and_said(page: Explore) -> None:
    page.set(mask="causal")
    trace = lab.trace(ENCODER, SENTENCE, mask="causal")
    np.testing.assert_array_equal(page.values, weights(trace, "encoder.3.self", 1))
    assert "run again" in page.texts
    assert "not trained" in page.texts
    assert "masked" in str([t.get("name") for t in page.figure(1)["data"]])


def test_a_window_has_a_width(page: Explore) -> None:
    page.set(mask="window", width=2)
    trace = lab.trace(ENCODER, SENTENCE, mask="window:2")
    np.testing.assert_array_equal(page.values, weights(trace, "encoder.3.self", 1))
    page.set(mask="causal+window")
    trace = lab.trace(ENCODER, SENTENCE, mask="causal+window:2")
    np.testing.assert_array_equal(page.values, weights(trace, "encoder.3.self", 1))
    assert not page.set(mask="causal").shows("width")


def test_a_causal_model_without_its_mask(page: Explore) -> None:
    page.set(model="smollm2")
    own = weights(lab.trace(DECODER, SENTENCE), "decoder.13.self", 8)
    np.testing.assert_array_equal(page.values, own)
    page.set(mask="none")
    trace = lab.trace(DECODER, SENTENCE, mask="none")
    np.testing.assert_array_equal(page.values, trace["decoder.13.self"].weights[8])
    assert "Likeliest next token before" in page.texts


def test_a_head_is_switched_off_and_put_back(page: Explore) -> None:
    before = page.values
    page.set(layer=2, head=3).click("Switch this head off")
    assert page.widget("off").value == ["encoder.2.self:3"]
    trace = lab.trace(ENCODER, SENTENCE, edits=[lab.ablate("encoder.2.self", head=3)])
    page.set(layer=3, head=1)
    np.testing.assert_array_equal(page.values, trace["encoder.3.self"].weights[1])
    assert np.abs(page.values - before).max() > 1e-4
    assert "The output moved" in page.texts
    page.click("Put everything back")
    np.testing.assert_array_equal(page.values, before)
    assert page.widget("off").value == []
    assert "The output moved" not in page.texts


def test_a_head_that_is_off_shows_why_its_own_weights_stay(page: Explore) -> None:
    page.click("Switch this head off")
    assert "switched off" in page.texts
    page.set(stage="z")
    np.testing.assert_array_equal(page.values, 0)
    page.click("Switch this head on")
    assert np.abs(page.values).max() > 0


def test_a_whole_layer_is_switched_off(page: Explore) -> None:
    page.set(layer=0).click("Switch the whole layer off")
    trace = lab.trace(ENCODER, SENTENCE, edits=[lab.ablate("encoder.0.self")])
    page.set(layer=3, head=1)
    np.testing.assert_array_equal(page.values, trace["encoder.3.self"].weights[1])


def test_before_after_and_their_difference(page: Explore) -> None:
    before = page.values
    page.set(off=["encoder.0.self", "encoder.1.self:2"])
    after = page.values
    page.set(view="before")
    np.testing.assert_array_equal(page.values, before)
    assert "before your changes" in page.texts
    page.set(view="difference")
    np.testing.assert_allclose(page.values, after - before, atol=1e-7)
    assert "red" in page.texts
    cells = page.figure(1)["data"][0]
    assert cells["zmin"] == -cells["zmax"]


def test_before_and_after_of_signed_stages_share_their_scale(page: Explore) -> None:
    page.set(off=["encoder.0.self"], stage="scores")
    bounds = [page.set(view=view).figure(1)["data"][0]["zmax"] for view in ("before", "after")]
    assert bounds[0] == bounds[1]


@pytest.mark.parametrize("combine", COMBINES[1:])
def test_means_and_maxima_are_labelled_as_such(page: Explore, combine: str) -> None:
    page.set(combine=combine)
    trace = lab.trace(ENCODER, SENTENCE)
    over = "heads" if combine.endswith("heads") else "layers"
    arrays = (
        trace["encoder.3.self"].weights
        if over == "heads"
        else np.stack([trace[site].weights[1] for site in trace.sites])
    )
    name, reduce = ("mean", np.mean) if combine.startswith("mean") else ("maximum", np.max)
    np.testing.assert_allclose(page.values, reduce(arrays, axis=0), atol=1e-6)
    assert f"{name} over all {over}: weights" in page.texts
    assert name in page.charts[1].proto.alt


def test_hiding_special_tokens_is_said_and_changes_no_value(page: Explore) -> None:
    before = page.values
    page.set(hide=True)
    np.testing.assert_array_equal(page.values, before[1:-1, 1:-1])
    assert page.labels == SENTENCE.split()
    assert "Special tokens are left out of the picture" in page.texts


def test_the_numbers_as_a_table_and_a_file(page: Explore) -> None:
    assert len(page.app.dataframe) == 0
    page.set(table=True)
    statistics, table = (frame.value for frame in page.app.dataframe)
    np.testing.assert_allclose(table.to_numpy(), page.values, atol=1e-7)
    assert list(statistics.columns) == [
        *("position", "token", "smallest", "largest", "mean", "entropy")
    ]
    np.testing.assert_allclose(statistics["largest"], page.values.max(axis=1))
    (button,) = page.app.get("download_button")
    assert button.label == "Download as CSV"


def test_entropy_is_left_out_where_rows_are_no_distributions(page: Explore) -> None:
    page.set(table=True, hide=True)
    assert "entropy" not in page.app.dataframe[0].value
    assert "do not sum to 1" in page.texts


def test_a_file_reads_back_to_the_picture() -> None:
    from attention_lab.analysis.numbers import as_table
    from attention_lab.analysis.panel import panel

    shown = panel(lab.trace(ENCODER, SENTENCE), "encoder.3.self", 1)
    file = pd.read_csv(io.StringIO(as_table(shown).to_csv()), index_col=0)
    np.testing.assert_array_equal(file.to_numpy(np.float32), shown.values)


def test_a_head_change_costs_no_forward_pass(
    page: Explore, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0
    real = tracing_run.execute

    def counted(*arguments: object, **options: object) -> object:
        nonlocal count
        count += 1
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("attention_lab.tracing.record.execute", counted)
    page.set(layer=0, head=4, stage="scores", hide=True)
    page.set(stage="weights", combine="max_layers", table=True)
    assert count == 0
    page.set(mask="causal")
    assert count == 1  # the run before the change is still there
    page.set(view="difference", layer=1)
    assert count == 1
    page.set(text="the dog")
    assert count == 3  # before and after


def test_another_model_resets_what_it_does_not_have(page: Explore) -> None:
    page.set(model="smollm2", layer=12, head=7, off=["decoder.12.self:7"])
    page.set(model="minilm")
    assert (page.widget("layer").max, page.widget("head").max) == (5, 4)
    assert (page.widget("layer").value, page.widget("head").value) == (3, 1)
    assert page.widget("off").value == []
    assert not page.app.warning  # nobody followed a link here
    page.set(model="smollm2")
    assert (page.widget("layer").max, page.widget("head").max) == (13, 8)
    assert (page.widget("layer").value, page.widget("head").value) == (13, 8)


def test_examples_are_clicked_into_the_box(page: Explore) -> None:
    pills = page.app.main.get("button_group")[0]
    assert {"猫追老鼠", "老鼠追猫"} <= {option.content for option in pills.proto.options}
    pills.set_value("老鼠追猫")
    page.run()
    assert page.widget("text").value == "老鼠追猫"
    assert page.labels == ["[CLS]", *"老鼠追猫", "[SEP]"]


def test_it_says_how_many_tokens_were_left_out() -> None:
    page = Explore({"text": "cat " * 100})  # the tiny model has 64 positions
    assert len(page.values) == 64
    assert "its last 38 tokens were left out" in page.texts


def test_tiles_show_the_first_tokens_of_a_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTION_LAB_OVERVIEW_TOKENS", "8")
    page = Explore({"text": SENTENCE})
    assert f"The tiles show the first 8 of {len(page.values)} tokens" in page.texts


def test_unknown_tokens_are_counted() -> None:
    assert "2 tokens are unknown" in Explore({"text": "the zebra sat on the giraffe"}).texts


def test_two_sessions_never_mix() -> None:
    texts = ["the cat sat", "a dog was too tired"]
    pages = [Explore({"text": text}) for text in texts]
    pages[0].set(mask="causal")
    pages[1].set(off=["encoder.0.self"])
    for _ in range(2):
        for page, text in zip(pages, texts, strict=True):
            page.run()
            assert page.labels == ["[CLS]", *text.split(), "[SEP]"]
    assert pages[1].widget("mask").value == "own"
    assert pages[0].widget("off").value == []
    assert not np.isnan(pages[1].values).any()
