"""The Heads page on tiny models: the table, the roles, the head for two tokens, the pictures."""

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attention_lab as lab
from attention_lab.analysis.heads import head_table, rank
from attention_lab.ui import head_table as table
from attention_lab.ui import head_views, runs
from tests.ui.helpers import APP, SENTENCE, run, said

PAGE = "pages/heads.py"


@pytest.fixture(autouse=True)
def _forget_roles(home: Path) -> None:
    for cached in (table.roles_of, table.measured, head_views.alike):
        cached.cache.clear()


def is_kept(model: str) -> bool:
    return table.roles_of.cache_key(model) in table.roles_of.cache


def visit(**link: str) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=120)
    for key in {"model", "mask", "width"} & link.keys():  # the sidebar reads them on any page
        app.query_params[key] = link[key]
    app.run()
    for key, value in link.items():
        app.query_params[key] = value
    app.switch_page(PAGE).run()
    app.text_input(key="text").set_value(SENTENCE)
    return run(app)


def test_the_table_has_every_head_with_the_measures_of_this_sentence() -> None:
    app = visit()
    assert app.title[0].value == "Which head does what?"
    shown = app.dataframe[0].value
    expected = head_table(lab.trace(runs.load_model("minilm"), SENTENCE))
    assert len(shown) == len(expected) == 30
    for name in ("entropy", "distance", "first", "previous", "repeated"):
        np.testing.assert_allclose(shown[name], expected[name])
    assert "To compare: uniform weights under the same mask" in said(app)


def test_another_sentence_gives_another_table() -> None:
    app = visit()
    before = app.dataframe[0].value["entropy"].to_numpy()
    app.text_input(key="text").set_value("the cat sat on the mat")
    after = run(app).dataframe[0].value["entropy"].to_numpy()
    assert np.abs(before - after).max() > 0.01


def test_roles_are_the_measured_ones_and_say_their_threshold() -> None:
    app = visit(role="20")
    scores = table.roles_of("minilm")
    labels = scores.labels(0.2)
    shown = app.dataframe[0].value["roles"]
    assert [bool(text) for text in shown] == [bool(roles) for roles in labels]
    summary = app.dataframe[1].value
    assert set(summary["threshold"]) == {0.2}
    without = sum(not roles for roles in labels)
    assert f"{without} of 30 heads show none of these roles" in said(app)


def test_a_higher_threshold_takes_roles_away() -> None:
    app = visit(role="10")
    before = sum(map(bool, app.dataframe[0].value["roles"]))
    app.select_slider(key="role").set_value(95)
    assert sum(map(bool, run(app).dataframe[0].value["roles"])) < before


def test_roles_of_a_large_model_are_measured_when_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table, "SMALL", 1)
    app = visit()
    assert not is_kept("minilm")
    app.button(key="measure").click()
    run(app)
    assert is_kept("minilm")
    assert "show none of these roles" in said(app)


def test_find_the_head_ranks_all_heads_by_the_weight_of_two_tokens() -> None:
    app = visit(heads="find", query="9", key="3")
    expected = rank(lab.trace(runs.load_model("minilm"), SENTENCE), "encoder.self", 9, 3)
    shown = app.dataframe[0].value
    assert len(shown) == 30
    np.testing.assert_allclose(shown["weight"], expected["weight"])
    first = expected.iloc[0]
    assert f"Layer {first['layer']:.0f}, head {first['head']:.0f} looks from" in said(app)


def test_find_begins_with_it_and_animal() -> None:
    app = visit(heads="find")
    assert app.selectbox(key="query").value == SENTENCE.split().index("it") + 1
    assert app.selectbox(key="key").value == SENTENCE.split().index("animal") + 1


@pytest.mark.parametrize("flow", ["rollout", "mean"])
def test_rollout_and_mean_are_named_as_what_they_are(flow: str) -> None:
    app = visit(heads="flow", flow=flow)
    assert ("Attention rollout" if flow == "rollout" else "Raw mean") in said(app)
    assert len(app.get("plotly_chart")) == 1


def test_the_similarity_map_is_drawn_and_explained() -> None:
    app = visit(heads="similarity")
    assert len(app.get("plotly_chart")) == 1
    assert "Jensen–Shannon" in said(app)


def test_heads_that_have_no_choice_cannot_be_compared() -> None:
    app = visit(heads="similarity", mask="window", width="0")
    assert not app.get("plotly_chart")
    assert "no token has a choice" in said(app)


def test_a_decoder_has_no_next_token_to_look_at() -> None:
    shown = visit(model="smollm2").dataframe[0].value
    assert "next" not in shown
    assert len(shown) == 14 * 9


def test_the_state_is_in_the_link() -> None:
    app = visit(heads="find", query="4", key="2")
    assert app.query_params["heads"] == "find"
    assert app.query_params["query"] == "4"


def test_a_pair_that_somebody_chose_stays_with_another_text() -> None:
    app = visit(heads="find")
    app.selectbox(key="query").set_value(2)
    run(app)
    app.text_input(key="text").set_value("the cat sat on the mat .")
    assert run(app).selectbox(key="query").value == 2
    assert app.selectbox(key="key").value == 1  # nobody chose it: the first word
