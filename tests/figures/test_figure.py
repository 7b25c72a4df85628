"""Figures are built without Plotly's validation; here it looks at all kinds of them."""

import json
from typing import get_args

import plotly.graph_objects as go
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
