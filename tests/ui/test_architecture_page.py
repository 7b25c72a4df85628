"""The Architecture page on tiny models: drawing, totals, encoder beside decoder, shape trace."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import attention_lab as lab
from attention_lab.analysis.costs import parameter_table, work_table
from attention_lab.analysis.stacks import side_by_side
from attention_lab.ui import architecture, runs, shape_table
from attention_lab.zoo import native, store
from tests.factories import tiny_model
from tests.ui.helpers import APP, SENTENCE, run, said


@pytest.fixture(autouse=True)
def _forget(home: Path) -> None:
    for cached in (architecture.compared, shape_table.frame):
        cached.cache.clear()


def visit(model: str = "minilm", **link: str) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=120)
    app.query_params["model"] = model
    app.run()
    for key, value in link.items():
        app.query_params[key] = value
    app.switch_page("pages/architecture.py").run()
    app.text_input(key="text").set_value(SENTENCE)
    return run(app)


def test_it_draws_the_model_and_counts_its_parameters() -> None:
    app = visit()
    assert "What is the model made of" in app.title[0].value
    module = runs.load_model("minilm").module
    total = sum(p.numel() for p in module.parameters())
    assert f"{total:,} parameters in all, as many as the checkpoint holds" in said(app)
    shown = app.dataframe[0].value
    assert shown["parameters"].tolist() == parameter_table(module)["parameters"].tolist()
    assert len(app.get("plotly_chart")) == 1


def test_the_shape_trace_lists_what_ran_for_the_first_layer_or_all() -> None:
    app = visit()
    first = app.dataframe[1].value
    assert not first["module"].str.contains(r"layers\.[1-9]").any()
    app.toggle(key="layers").set_value(True)
    every = run(app).dataframe[1].value
    assert every["module"].str.extract(r"layers\.(\d+)", expand=False).nunique() == 6
    module = runs.load_model("minilm").module
    assert every["parameters"].sum() == sum(p.numel() for p in module.parameters())
    assert app.query_params["layers"] == "true"


def test_another_sentence_has_other_shapes() -> None:
    app = visit()
    before = app.dataframe[1].value["output"].iloc[0]
    app.text_input(key="text").set_value("a cat")
    assert run(app).dataframe[1].value["output"].iloc[0] == "(1, 4, 16)" != before


def test_multiply_adds_with_formula_and_curve() -> None:
    app = visit("smollm2", total="work")
    config = runs.load_model("smollm2").config
    table = work_table(config, len(SENTENCE.split()))
    assert f"{table['multiply-adds'].sum():,} multiply-adds" in said(app)
    assert app.dataframe[0].value["formula"].tolist() == table["formula"].tolist()
    assert len(app.get("plotly_chart")) == 2


def test_a_model_of_one_stack_says_that_the_other_column_is_its_own_parameters() -> None:
    app = visit(total="sides")
    trace = lab.trace(runs.load_model("minilm"), SENTENCE)
    encoder, decoder = side_by_side(trace)
    table = app.table[0].value
    moved = table.loc["another last word moves the first token's output by"]
    assert moved["encoder"] == f"{encoder.moved:.4f}"
    assert moved["decoder"] == f"{decoder.moved:.4f}" == "0.0000"
    assert "The column “decoder” is no other model" in said(app)


def test_a_mask_of_the_sidebar_moves_no_shape_and_the_page_says_so() -> None:
    app = visit()
    before = app.dataframe[1].value
    app.selectbox(key="mask").set_value("causal")
    assert run(app).dataframe[1].value.equals(before)
    assert "the sidebar's changes move no shape" in said(app)


def test_an_encoder_decoder_shows_both_stacks() -> None:
    model = tiny_model("encoder-decoder", seed=3, max_positions=24)
    folder = store.ASSETS / "translator-en-zh"
    folder.mkdir(parents=True)
    assert model.target_tokenizer is not None
    source, target = model.tokenizer.to_str(), model.target_tokenizer.to_str()
    state = model.module.state_dict()
    native.write(folder, native.Parts(model.config, state, source, model.card, target))
    app = visit("translator-en-zh", total="sides")
    table = app.table[0].value
    assert (
        table.loc["cross-attention", "decoder"] == f"to {len(SENTENCE.split()) + 1} source tokens"
    )
    assert "The encoder reads your sentence" in said(app)
    modules = app.dataframe[0].value["module"]
    assert modules.str.contains("cross_attn").any()
