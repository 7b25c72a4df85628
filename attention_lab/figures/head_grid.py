"""One number a head: rows are layers, columns heads; a click chooses one."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attention_lab.figures import scales
from attention_lab.i18n import _

WRITE_CELLS = 120  # up to so many heads each cell has its number in it


def head_grid(values: Float[np.ndarray, "layer head"], name: str) -> go.Figure:
    """`values` from 0 to 1, called `name` on the scale; NaN stays empty."""
    n_layers, n_heads = values.shape
    cells: dict[str, Any] = {
        "type": "heatmap",
        "z": values.astype(np.float32),
        "zmin": 0,
        "zmax": 1,
        "colorscale": scales.SEQUENTIAL,
        "colorbar": scales.bar(name),
        "hoverinfo": "skip",
        "xgap": 1,
        "ygap": 1,
    }
    if values.size <= WRITE_CELLS:
        cells |= {
            "text": [[_short(v) for v in row] for row in values.tolist()],
            "texttemplate": "%{text}",
        }
    layout = {
        "xaxis": _axis(n_heads, _("head")) | {"side": "top", "range": [-0.55, n_heads - 0.45]},
        "yaxis": _axis(n_layers, _("layer")) | {"range": [n_layers - 0.45, -0.55]},
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "height": int(np.clip(130 + 34 * n_layers, 230, 560)),
        "clickmode": "event+select",
        "dragmode": False,
        "hovermode": "closest",
        "hoverdistance": -1,
        "uirevision": "keep",
    }
    return go.Figure({"data": [cells, _targets(values)], "layout": layout})


def _targets(values: np.ndarray) -> dict[str, Any]:
    """An invisible point a head: a heatmap selects nothing on a click."""
    layer, head = np.divmod(np.arange(values.size), values.shape[1])
    hover = _("layer {layer}, head {head}: {value}")
    hover = hover.format(layer="%{y}", head="%{x}", value="%{customdata:.4f}")
    return {
        "type": "scatter",
        "x": head.astype(np.int16),
        "y": layer.astype(np.int16),
        "customdata": values.ravel().astype(np.float32),
        "mode": "markers",
        "marker": {"symbol": "square", "size": 24, "opacity": 0},
        "selected": {"marker": {"opacity": 0}},
        "unselected": {"marker": {"opacity": 0}},
        "hovertemplate": hover + "<extra></extra>",
        "showlegend": False,
    }


def _axis(n: int, title: str) -> dict[str, Any]:
    return {
        "title": {"text": title, "standoff": 4},
        "dtick": 1 if n <= 16 else 2,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "automargin": True,
    }


def _short(value: float) -> str:
    """Two digits; nothing where both would be zeros, for calm."""
    return "" if np.isnan(value) or value < 0.005 else f"{value:.2f}".replace("0.", ".", 1)
