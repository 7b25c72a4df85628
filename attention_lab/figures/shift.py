"""What a change did to the output, as bars: next tokens before and after, or how far each moved."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from attention_lab.analysis.numbers import Candidate
from attention_lab.figures import scales
from attention_lab.figures.figure import figure
from attention_lab.figures.text import label_axis
from attention_lab.i18n import _

MOST_TICKS = 40


def next_token_bars(found: Sequence[Candidate], names: Sequence[str]) -> go.Figure:
    """The probability of each candidate in both runs, side by side."""
    sides = [
        (_("before"), scales.PLAIN, [each.before for each in found]),
        (_("after"), scales.ACCENT, [each.after for each in found]),
    ]
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "x": values,
            "y": list(range(len(found))),
            "text": [f"{value:.1%}" for value in values],
            "textposition": "outside",
            "cliponaxis": False,
            "marker": {"color": colour},
            "name": name,
            "hovertemplate": f"%{{y}}, {name}: %{{x:.6f}}<extra></extra>",
        }
        for name, colour, values in sides
    ]
    most = max((max(each.before, each.after) for each in found), default=1.0)
    x = {
        "range": [0, 1.2 * most],
        "tickformat": ".0%",
        "title": {"text": _("probability of being next")},
    }
    y = label_axis(names, MOST_TICKS) | {"range": [len(found) - 0.5, -0.5]}
    return figure(data, _layout(x, y, 110 + 34 * len(found)))


def token_bars(values: Sequence[float], labels: Sequence[str], title: str) -> go.Figure:
    """One number a token, e.g. how far its output moved."""
    bars = {
        "type": "bar",
        "x": list(range(len(values))),
        "y": list(values),
        "marker": {"color": scales.PLAIN},
        "hovertemplate": f"%{{x}}, {title}: %{{y:.6g}}<extra></extra>",
    }
    x = label_axis(labels, MOST_TICKS) | {
        "tickangle": -60 if len(labels) > 4 else 0,
        "range": [-0.6, len(labels) - 0.4],
    }
    y = {"title": {"text": title}, "rangemode": "tozero", "automargin": True}
    return figure([bars], _layout(x, y, 260))


def _layout(x: dict[str, Any], y: dict[str, Any], height: int) -> dict[str, Any]:
    return {
        "xaxis": {"zeroline": False, "automargin": True} | x,
        "yaxis": y,
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "height": height,
        "bargap": 0.25,
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.02,
            "yanchor": "bottom",
            "traceorder": "normal",
        },
        "dragmode": False,
    }
