"""Bars beside each other, one group a token or a number."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from attention_lab.figures import scales
from attention_lab.figures.figure import figure
from attention_lab.figures.text import escape, label_axis
from attention_lab.i18n import _

MOST_TICKS = 48


def bars(
    labels: Sequence[str],
    groups: Mapping[str, np.ndarray],
    titles: tuple[str, str],
    *,
    logarithmic: bool = False,
    chosen: int | None = None,
    height: int = 300,
) -> go.Figure:
    """A bar a label for each name of `groups`; `titles` are those of the axes.

    The bar at the place `chosen` has the accent colour.
    """
    data: list[dict[str, Any]] = []
    for (name, values), (colour, _dash) in zip(groups.items(), scales.LINES, strict=False):
        hover = _("{label}: {value}").format(label="%{x}", value="%{y:.4g}")
        colours = [scales.ACCENT if i == chosen else colour for i in range(len(labels))]
        data.append(
            {
                "type": "bar",
                "x": np.arange(len(labels), dtype=np.float32),
                "y": np.asarray(values, np.float32),
                "name": escape(name),
                "marker": {"color": colour if chosen is None else colours},
                "hovertemplate": f"{hover}<extra>{escape(name)}</extra>",
                "showlegend": len(groups) > 1,
            }
        )
    layout = {
        "xaxis": label_axis(labels, MOST_TICKS)
        | {"title": {"text": titles[0]}, "tickangle": -60 if len(labels) > 6 else 0},
        "yaxis": {
            "title": {"text": titles[1]},
            "type": "log" if logarithmic else "linear",
            "exponentformat": "power",
            "zeroline": False,
            "automargin": True,
        },
        "barmode": "group",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 16, "t": 8, "b": 8},
        "height": height,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "dragmode": False,
    }
    return figure(data, layout)
