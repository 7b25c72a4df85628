"""Figures are built without Plotly's validation; here it looks at all kinds of them."""

import json
from typing import get_args

import plotly.graph_objects as go
import plotly.io as pio
import pytest

from attention_lab.figures import heatmap, overview
from attention_lab.figures.figure import figure
from attention_lab.tracing.record import trace
from attention_lab.tracing.site import Stage
from tests.factories import tiny_model

SHORT, LONG = "the cat sat", "the cat sat on the mat " * 9


def assert_valid(drawn: go.Figure) -> None:
    """Plotly accepts it and would send the same."""
    looked_at = go.Figure(drawn.to_dict())
    assert json.loads(looked_at.to_json()) == json.loads(drawn.to_json())


@pytest.mark.parametrize("mask", [None, "causal", "window:0"])
@pytest.mark.parametrize("text", [SHORT, LONG])
@pytest.mark.parametrize("stage", get_args(Stage))
def test_every_stage_is_valid(stage: Stage, text: str, mask: str | None) -> None:
    drawn = heatmap(trace(tiny_model(), text, mask=mask), "encoder.1.self", 2, stage)
    assert_valid(drawn)


def test_the_overview_is_valid() -> None:
    assert_valid(overview(trace(tiny_model(), LONG), "encoder.self", (1, 3)))


def test_a_mistake_would_be_found() -> None:
    wrong = figure([{"type": "heatmap", "colour": "red"}], {})
    with pytest.raises(ValueError, match="colour"):
        go.Figure(wrong.to_dict())


def test_a_figure_can_be_changed_as_any_other() -> None:
    drawn = heatmap(trace(tiny_model(), SHORT), "encoder.0.self")
    drawn.update_layout(height=300)
    drawn.data[0].showscale = False
    assert (drawn.layout.height, drawn.data[0].showscale) == (300, False)
    assert drawn.layout.xaxis.side == "top"


def drawings() -> dict[str, go.Figure]:
    run = trace(tiny_model(), SHORT, mask="causal")
    return {
        "overview": overview(run, "encoder.self", (1, 3)),
        "heatmap": heatmap(run, "encoder.1.self", 2),
        "vectors": heatmap(run, "encoder.1.self", 2, "q"),
    }


@pytest.mark.parametrize("name", drawings())
def test_what_is_sent_is_what_plotly_would_send(name: str) -> None:
    """Before anybody looks into the figure, and after: the same JSON."""
    drawn = drawings()[name]
    plain = json.loads(pio.to_json(drawn.to_dict(), validate=False))
    assert drawn.data  # from here on Plotly's own objects
    assert plain == json.loads(pio.to_json(drawn.to_dict(), validate=False))
    assert plain == json.loads(drawn.to_json())
    assert "template" in plain["layout"]


def test_a_figure_is_one_of_plotly_s() -> None:
    drawn = drawings()["heatmap"]
    assert isinstance(drawn, go.Figure)
    assert "template" in drawn.to_plotly_json()["layout"]
    with pytest.raises(AttributeError):
        getattr(drawings()["heatmap"], "no_such_thing")  # noqa: B009
    copy = go.Figure(drawings()["heatmap"])
    assert json.loads(copy.to_json()) == json.loads(drawn.to_json())
    assert "<div" in drawings()["overview"].to_html(include_plotlyjs=False)


def test_sending_a_figure_twice_changes_nothing() -> None:
    drawn = drawings()["heatmap"]
    first = json.loads(pio.to_json(drawn.to_dict(), validate=False))
    drawn.to_dict()["layout"]["height"] = 1
    assert json.loads(pio.to_json(drawn.to_dict(), validate=False)) == first
