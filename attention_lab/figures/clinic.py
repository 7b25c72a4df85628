"""The clinic's pictures: a matrix in which NaN and infinities are seen, and two curves."""

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from attention_lab.clinic.exhibit import Curves, Matrix
from attention_lab.figures import scales
from attention_lab.figures.text import label_axis
from attention_lab.i18n import _

NOT_A_NUMBER = "#e377c2"  # neither this nor the next is in the scales of the other numbers
INFINITE = "#ff7f0e"
WRITE_VALUES = 14  # up to so many rows and columns each cell has its number in it
MOST_TICKS = 40


def draw_matrix(shown: Matrix, largest: float) -> go.Figure:
    """The picture of `shown`; `largest` is the end of its scale, where it is not 0 to 1.

    Cells that are NaN, infinite or closed have a colour and an entry of the legend each.
    """
    values = shown.values.astype(np.float32)
    n_rows, n_columns = values.shape
    infinite = np.isinf(values) & shown.open
    covers = [
        (~shown.open, scales.MASKED, shown.closed_title, ""),
        (np.isnan(values) & shown.open, NOT_A_NUMBER, "NaN", "NaN"),
        (infinite & (values > 0), INFINITE, "∞", "∞"),
        (infinite & (values < 0), INFINITE, "−∞", "−∞"),
    ]
    data = [_numbers(shown, values, largest)]
    for cells, colour, name, text in covers:
        if cells.any():
            data += _cover(cells, colour, name, text if _is_small(values) else "")
    row_title, column_title, _value = shown.titles
    x = label_axis(shown.columns, MOST_TICKS) | {
        "tickangle": -60 if n_columns > 4 else 0,
        "side": "top",
        "title": {"text": column_title, "standoff": 6},
        "range": [-0.5, n_columns - 0.5],
    }
    y = label_axis(shown.rows, MOST_TICKS) | {
        "title": {"text": row_title, "standoff": 14},
        "range": [n_rows - 0.5, -0.5],
    }
    layout = {
        "xaxis": x,
        "yaxis": y,
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 16, "t": 8, "b": 8},
        "height": int(np.clip(140 + 15 * n_rows, 240, 460)),
        "legend": {"x": 1, "xanchor": "right", "y": -0.02, "yanchor": "top"},
        "hoverlabel": {"font": {"family": scales.MONOSPACE}},
        "dragmode": False,
    }
    return go.Figure({"data": data, "layout": layout})


def _numbers(shown: Matrix, values: np.ndarray, largest: float) -> dict[str, Any]:
    finite = np.where(np.isfinite(values) & shown.open, values, np.float32(np.nan))
    top = 1.0 if shown.scale == "share" else largest or 1.0
    signed = shown.scale == "signed"
    hover = _("{row}, {column}: {value}")
    cells: dict[str, Any] = {
        "type": "heatmap",
        "z": finite,
        "zmin": -top if signed else 0,
        "zmax": top,
        "colorscale": scales.DIVERGING if signed else scales.SEQUENTIAL,
        "colorbar": scales.bar(shown.titles[2]),
        "hoverongaps": False,
        "hovertemplate": hover.format(row="%{y}", column="%{x}", value="%{z:.6f}")
        + "<extra></extra>",
    }
    if _is_small(values):
        text = [[_short(value) for value in row] for row in finite.tolist()]
        cells |= {"text": text, "texttemplate": "%{text}"}
    return cells


def _cover(cells: np.ndarray, colour: str, name: str, text: str) -> list[dict[str, Any]]:
    """Cells of one colour over the gaps, and their entry in the legend."""
    hover = _("{row}, {column}: {value}").format(row="%{y}", column="%{x}", value=name)
    cover = {
        "type": "heatmap",
        "z": np.where(cells, np.float32(0), np.float32(np.nan)),
        "colorscale": [[0, colour], [1, colour]],
        "showscale": False,
        "hoverongaps": False,
        "hovertemplate": hover + "<extra></extra>",
    }
    if text:
        cover |= {
            "text": [[text if cell else "" for cell in row] for row in cells],
            "texttemplate": "%{text}",
        }
    marker = {"symbol": "square", "size": 12, "color": colour}
    entry = {
        "type": "scatter",
        "x": [None],
        "y": [None],
        "mode": "markers",
        "marker": marker,
        "name": name,
        "showlegend": True,
    }
    return [cover, entry]


def _is_small(values: np.ndarray) -> bool:
    return bool(max(values.shape) <= WRITE_VALUES)


def _short(value: float) -> str:
    """Two digits; nothing where they would be zeros, for calm."""
    if math.isnan(value) or abs(value) < 0.005:
        return ""
    text = f"{value:.2f}" if abs(value) < 9.995 else f"{value:.0f}"
    return text.replace("0.", ".", 1) if abs(value) < 0.995 else text


def draw_curves(shown: Curves) -> go.Figure:
    """Both ways as lines; what is not finite is left out."""
    lines = [
        (_("wrong"), shown.wrong, {"color": scales.ACCENT, "dash": "dash", "width": 3}, "x"),
        (_("right"), shown.right, {"color": scales.PLAIN, "width": 3}, "circle"),
    ]
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": list(shown.x),
            "y": [value if math.isfinite(value) else None for value in values],
            "name": name,
            "line": line,
            "marker": {"symbol": symbol, "size": 8},
            "hovertemplate": f"{name}, {shown.x_title} %{{x}}: %{{y:.4g}}<extra></extra>",
        }
        for name, values, line, symbol in lines
    ]
    powers = shown.x[-1] > 4 * len(shown.x)  # 2, 4, 8, …
    axis: dict[str, Any] = {"zeroline": False, "automargin": True}
    x = axis | {"title": {"text": shown.x_title}, "type": "log" if powers else "linear"}
    if powers:
        x |= {"tickvals": list(shown.x), "ticktext": list(map(str, shown.x))}
    layout = {
        "xaxis": x,
        "yaxis": axis
        | {"type": "log" if shown.logarithmic else "linear", "exponentformat": "power"},
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 16, "t": 8, "b": 8},
        "height": 240,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "dragmode": False,
        "hovermode": "closest",
    }
    return go.Figure({"data": data, "layout": layout})
