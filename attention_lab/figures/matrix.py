"""Any matrix of numbers as a heatmap: signed around zero, or weights from 0 to 1, or a mask."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from attention_lab.figures import scales
from attention_lab.figures.text import escape
from attention_lab.i18n import _

Kind = Literal["signed", "weights", "mask"]
WRITE_CELLS = 320  # up to so many cells each has its number in it
ROW_HEIGHT = 30


def matrix(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str] | None,
    kind: Kind = "signed",
    chosen_row: int | None = None,
) -> go.Figure:
    """`values` (row, column) with labels; without column labels columns are numbered.

    -inf and NaN are grey. `chosen_row` is framed.
    """
    finite = np.where(np.isfinite(values), values, np.nan).astype(np.float32)
    cells = {
        "type": "heatmap",
        "z": finite,
        "hoverongaps": False,
        "hovertemplate": _("{row}, {column}: {value}").format(
            row="%{y}", column="%{x}", value="%{z:.6f}"
        )
        + "<extra></extra>",
        **_scale(finite, kind),
    }
    if values.size <= WRITE_CELLS and kind != "mask":
        cells |= {"text": [[_short(v) for v in row] for row in values], "texttemplate": "%{text}"}
    layout = {
        "xaxis": _axis(columns, values.shape[1])
        | {"side": "top", "tickangle": -60 if columns is not None and len(columns) > 6 else 0},
        "yaxis": _axis(rows, len(rows)) | {"range": [len(rows) - 0.5, -0.5]},
        "plot_bgcolor": scales.MASKED if not np.isfinite(values).all() else "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 24, "t": 8, "b": 8},
        "height": int(np.clip(110 + ROW_HEIGHT * len(rows), 150, 460)),
        "shapes": [] if chosen_row is None else [scales.frame(chosen_row, 0, values.shape[1])],
        "dragmode": False,
    }
    return go.Figure({"data": [cells], "layout": layout})


def _scale(finite: np.ndarray, kind: Kind) -> dict[str, object]:
    if kind == "weights":
        name = _("weight")
        return {"zmin": 0, "zmax": 1, "colorscale": scales.SEQUENTIAL, "colorbar": scales.bar(name)}
    if kind == "mask":
        colours = [[0, scales.MASKED], [0.5, scales.MASKED], [0.5, scales.OPEN], [1, scales.OPEN]]
        return {"zmin": 0, "zmax": 1, "colorscale": colours, "showscale": False}
    bound = float(np.nanmax(np.abs(finite), initial=0.0)) or 1.0
    bar = scales.bar(_("value"))
    return {"zmin": -bound, "zmax": bound, "colorscale": scales.DIVERGING, "colorbar": bar}


def _axis(labels: Sequence[str] | None, n: int) -> dict[str, object]:
    axis: dict[str, object] = {
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "automargin": True,
    }
    if labels is None:
        return axis | {"range": [-0.5, n - 0.5], "title": {"text": _("dimension")}}
    font = {"family": scales.MONOSPACE, "size": 12 if n <= 32 else 9}
    step = -(-n // 48)
    places = list(range(0, n, step))
    names = [escape(labels[i]) for i in places]
    axis["ticklabeloverflow"] = "allow"
    return axis | {"tickvals": places, "ticktext": names, "tickfont": font}


def _short(value: float) -> str:
    if np.isneginf(value):
        return "−∞"
    return "" if np.isnan(value) else f"{value:.2f}"
