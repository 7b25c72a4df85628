"""The Clinic page: every exhibit on the user's sentence, its link, and what is said around it."""

from pathlib import Path
from typing import Any

import numpy as np
import plotly.io as pio
import pytest
from streamlit.testing.v1 import AppTest

import attention_lab as lab
from attention_lab.clinic.catalogue import exhibits
from attention_lab.clinic.subject import MOST, Subject
from attention_lab.ui import clinic
from tests.figures.helpers import read
from tests.ui.conftest import MODELS
from tests.ui.helpers import APP, SENTENCE, run, said

PAGE = "pages/clinic.py"


@pytest.fixture(autouse=True)
def _forget_results(home: Path) -> None:
    clinic._result.cache.clear()


def visit(**link: str) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=120)
    app.query_params["text"] = link.pop("text", SENTENCE)
    if "model" in link:
        app.query_params["model"] = link["model"]
    app.run()
    for key, value in link.items():
        app.query_params[key] = value
    app.switch_page(PAGE)
    return run(app)


def figures(app: AppTest) -> list[dict[str, Any]]:
    charts = app.get("plotly_chart")
    assert all(chart.proto.alt for chart in charts)
    return [read(pio.from_json(chart.proto.spec, skip_invalid=False)) for chart in charts]


def test_every_exhibit_shows_code_pictures_numbers_check_and_cure() -> None:
    app = visit()
    assert app.title[0].value == "What goes wrong when one line is wrong?"
    for key, exhibit in exhibits().items():
        app.selectbox(key="exhibit").set_value(key)
        run(app)
        subject = Subject(lab.trace(MODELS["minilm"], SENTENCE), 3, 1)
        value = exhibit.setting(subject).default if exhibit.setting else 0
        result = exhibit.run(subject, value)
        codes = [code.value.rstrip() for code in app.code if not code.value.startswith("python -m")]
        assert codes[:2] == [result.wrong.code, result.right.code], key
        assert "assert" in codes[2]
        wrong, right = figures(app)[:2]
        for figure, side in ((wrong, result.wrong), (right, result.right)):
            shown = np.where(
                np.isfinite(side.matrix.values) & side.matrix.open, side.matrix.values, np.nan
            )
            np.testing.assert_allclose(figure["data"][0]["z"], shown, atol=1e-6, err_msg=key)
        texts = said(app)
        for label, number in (*result.wrong.numbers, *result.right.numbers):
            assert f"{label}: **{number}**" in texts, key
        for complaint in result.wrong.complaints:
            assert complaint.text in texts
        for part in (exhibit.story, exhibit.cure, "the check fails", "Right: the check passes."):
            assert part in texts, key
        assert not app.error or result.wrong.complaints or result.right.complaints


@pytest.mark.parametrize("key", exhibits())
def test_every_exhibit_on_a_decoder_by_its_link(key: str) -> None:
    app = visit(model="smollm2", exhibit=key)
    assert app.selectbox(key="exhibit").value == key
    assert exhibits()[key].story in said(app)
    assert not app.warning
    assert len(figures(app)) >= 2


def test_cells_that_are_no_numbers_are_counted_in_words() -> None:
    app = visit(exhibit="polarity")
    n = len(lab.trace(MODELS["minilm"], SENTENCE).tokens)
    assert f"Of {n * n} cells, {n} are NaN (not a number) and 0 are infinite." in said(app)
    app.selectbox(key="exhibit").set_value("late")
    run(app)
    infinite = n * (n - 1) // 2
    assert f"0 are NaN (not a number) and {infinite} are infinite." in said(app)


def test_the_default_needs_no_place_in_the_link() -> None:
    app = visit()
    assert set(app.query_params) == {"text"}
    app.selectbox(key="exhibit").set_value("norm")
    run(app)
    app.select_slider(key="depth").set_value(9)
    run(app)
    app.number_input(key="layer").set_value(2)
    run(app)
    link = {key: app.query_params[key] for key in app.query_params}
    first = {key: value if isinstance(value, str) else value[0] for key, value in link.items()}
    assert first == {"text": SENTENCE, "exhibit": "norm", "depth": "9", "layer": "2"}
    again = visit(exhibit="norm", depth="9", layer="2")
    assert again.select_slider(key="depth").value == 9
    assert figures(again)[0]["data"][0]["z"].shape[0] == 9


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ({"exhibit": "nothing"}, "exhibit = nothing"),
        ({"exhibit": "norm", "depth": "0"}, "depth = 0"),
        ({"exhibit": "scale", "d_k": "x"}, "d_k = x"),
    ],
)
def test_a_wrong_link_falls_back_and_says_so(link: dict[str, str], wrong: str) -> None:
    app = visit(**link)
    (warning,) = app.warning
    assert wrong in warning.value.replace("\\", "")
    assert len(figures(app)) >= 2


def test_a_setting_that_hides_the_bug_is_said() -> None:
    app = visit(exhibit="divide", split="4")  # 4 heads divide 16
    assert "With this sentence and setting the two agree." in said(app)


def test_an_empty_text_is_a_message_and_the_choice_stays() -> None:
    app = visit(exhibit="view")
    app.text_input(key="text").set_value(" ")
    run(app)
    assert "empty" in app.error[0].value
    assert not app.get("plotly_chart")
    app.text_input(key="text").set_value("the cat")
    run(app)
    assert app.selectbox(key="exhibit").value == "view"
    assert len(figures(app)) == 2


def test_the_sidebars_changes_play_no_part_and_that_is_said() -> None:
    plain = visit(exhibit="axis")
    changed = visit(exhibit="axis")
    changed.selectbox(key="mask").set_value("causal")
    run(changed)
    np.testing.assert_array_equal(
        figures(plain)[1]["data"][0]["z"], figures(changed)[1]["data"][0]["z"]
    )
    assert "play no part here" in said(changed)
    assert "play no part here" not in said(plain)


def test_text_from_the_user_is_not_read_as_markup() -> None:
    app = visit(exhibit="closed", text="<b>the</b> **cat** :smile: $x$ `sat`")
    assert "Closed here is the row of" in said(app)


def test_a_long_text_is_cut_and_that_is_said() -> None:
    app = visit(model="smollm2", exhibit="leak", text="cat " * 64 + "dog")
    assert "z" in figures(app)[0]["data"][0]
    assert figures(app)[0]["data"][0]["z"].shape[1] == MOST
