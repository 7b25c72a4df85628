"""Lines over a number, in the same look everywhere."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from attention_lab.figures import scales
from attention_lab.figures.figure import figure
from attention_lab.figures.text import escape
from attention_lab.i18n import _


def curves(
    x: Sequence[float] | np.ndarray,
    lines: Mapping[str, np.ndarray],
    titles: tuple[str, str],
    *,
    band: tuple[np.ndarray, np.ndarray] | None = None,
    marks: Mapping[str, float] | None = None,
    logarithmic: bool = False,
    dots: bool = False,
    y_range: tuple[float, float] | None = None,
    height: int = 320,
) -> go.Figure:
    """One line a name over `x`; `titles` are those of the axes.

    `band` is shaded from its lowest to its highest line, `marks` are upright lines with a name at
    an x.
    """
    data: list[dict[str, Any]] = [] if band is None else _band(x, band)
    for (name, y), (colour, dash) in zip(lines.items(), scales.LINES, strict=False):
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if dots else "lines",
                "x": np.asarray(x, np.float32),
                "y": np.asarray(y, np.float32),
                "name": escape(name),
                "line": {"color": colour, "dash": dash, "width": 2.5},
                "hovertemplate": f"{escape(titles[0])} %{{x}}: %{{y:.5g}}"
                + f"<extra>{escape(name)}</extra>",
                "showlegend": len(lines) > 1 or band is not None,
            }
        )
    axis: dict[str, Any] = {"zeroline": False, "automargin": True}
    layout = {
        "xaxis": axis | {"title": {"text": titles[0]}},
        "yaxis": axis
        | {
            "title": {"text": titles[1]},
            "type": "log" if logarithmic else "linear",
            "exponentformat": "power",
            **({"range": list(y_range)} if y_range else {}),
        },
        "shapes": [_mark(at) for at in (marks or {}).values()],
        "annotations": [_name(name, at) for name, at in (marks or {}).items()],
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 16, "t": 8, "b": 8},
        "height": height,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "dragmode": False,
        "hovermode": "closest",
    }
    return figure(data, layout)


def _band(
    x: Sequence[float] | np.ndarray, band: tuple[np.ndarray, np.ndarray]
) -> list[dict[str, Any]]:
    edge: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "x": np.asarray(x, np.float32),
        "line": {"width": 0, "color": scales.LINES[0][0]},
        "hoverinfo": "skip",
    }
    low, high = (np.asarray(y, np.float32) for y in band)
    fill = {"fill": "tonexty", "fillcolor": "rgba(0,114,178,0.25)"}
    return [
        edge | {"y": low, "showlegend": False},
        edge | {"y": high, "name": _("smallest to largest")} | fill,
    ]


def _mark(at: float) -> dict[str, Any]:
    line = {"color": scales.ACCENT, "width": 2, "dash": "dot"}
    return {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _name(name: str, at: float) -> dict[str, Any]:
    place = {"x": at, "yref": "paper", "y": 1, "yanchor": "top", "xanchor": "left", "xshift": 4}
    return place | {"text": escape(name), "showarrow": False}
