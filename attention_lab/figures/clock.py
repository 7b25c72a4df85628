"""A pair of dimensions as a clock: each position is a point on a circle, one of them has a hand."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attention_lab.figures import scales
from attention_lab.figures.figure import figure
from attention_lab.i18n import _

WRITE_POSITIONS = 12


def clock(
    pairs: Float[np.ndarray, "position 2"], chosen: int, titles: tuple[str, str]
) -> go.Figure:
    """Points (x, y) of all positions on their circle, and a hand at the chosen one.

    `titles` name x and y. The dotted lines drop from the hand to the two numbers that the model
    gets.
    """
    x, y = pairs.T.astype(np.float32)
    at_x, at_y = float(x[chosen]), float(y[chosen])
    radius = float(np.hypot(x, y).max()) or 1.0
    edge = 1.25 * radius
    hover = _("position {n}: {x}, {y}").format(n="%{text}", x="%{x:.4f}", y="%{y:.4f}")
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": x,
            "y": y,
            "text": [str(i) for i in range(len(x))],
            "marker": {
                "color": np.arange(len(x), dtype=np.float32),
                "colorscale": scales.SEQUENTIAL,
                "size": 8,
                "line": {"color": scales.MASKED, "width": 1},  # seen on light and on dark
                "colorbar": scales.bar(_("position")) | {"y": -0.16},
            },
            "hovertemplate": hover + "<extra></extra>",
            "showlegend": False,
        },
        _line([0.0, at_x], [0.0, at_y], "solid", 4),
        _line([at_x, at_x], [0.0, at_y], "dot", 2),
        _line([0.0, at_x], [at_y, at_y], "dot", 2),
    ]
    circle = {
        "type": "circle",
        "x0": -radius,
        "x1": radius,
        "y0": -radius,
        "y1": radius,
        "line": {"color": scales.MASKED, "width": 1},
        "layer": "below",
    }
    axis = {"range": [-edge, edge], "zeroline": True, "showgrid": False, "automargin": True}
    layout = {
        "xaxis": axis | {"title": {"text": titles[0]}, "constrain": "domain"},
        "yaxis": axis | {"title": {"text": titles[1]}, "scaleanchor": "x", "constrain": "domain"},
        "shapes": [circle],
        "annotations": [
            _number(i, float(x[i]), float(y[i])) for i in range(min(len(x), WRITE_POSITIONS))
        ],
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "height": 420,
        "dragmode": False,
        "hovermode": "closest",
    }
    return figure(data, layout)


def _line(x: list[float], y: list[float], dash: str, width: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": {"color": scales.ACCENT, "dash": dash, "width": width},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _number(n: int, x: float, y: float) -> dict[str, Any]:
    """The position's number, outside the circle where its point is."""
    return {"x": 1.13 * x, "y": 1.13 * y, "text": str(n), "showarrow": False}
