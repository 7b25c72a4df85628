"""What the model could have written at one step: the likeliest tokens and the rest, as bars."""

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from attention_lab.figures import scales
from attention_lab.figures.text import escape
from attention_lab.generation import Step
from attention_lab.i18n import _


def candidates(step: Step, names: Sequence[str]) -> go.Figure:
    """The probabilities of a step's candidates, named by `names`; the chosen one is accented."""
    probabilities = [math.exp(value) for _id, value in step.candidates]
    colours = [scales.ACCENT if id == step.id else scales.PLAIN for id, _value in step.candidates]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": [*probabilities, step.rest],
        "y": list(range(len(probabilities) + 1)),
        "text": [f"{value:.1%}" for value in (*probabilities, step.rest)],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": [*colours, scales.MASKED]},
        "hovertemplate": "%{y}: %{x:.6f}<extra></extra>",
    }
    labels = [*(escape(name) for name in names), _("all others")]
    layout = {
        "xaxis": {
            "range": [0, 1.12],
            "tickformat": ".0%",
            "title": {"text": _("probability of being next")},
            "zeroline": False,
        },
        "yaxis": {
            "tickvals": list(range(len(labels))),
            "ticktext": labels,
            "range": [len(labels) - 0.5, -0.5],
            "ticks": "",
            "showgrid": False,
            "automargin": True,
            "tickfont": {"family": scales.MONOSPACE, "size": 13},
        },
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "height": 340,
        "bargap": 0.25,
        "dragmode": False,
    }
    return go.Figure({"data": [bars], "layout": layout})
