"""A matrix whose rows or columns are numbers (positions, dimensions), around zero."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from attention_lab.figures import scales
from attention_lab.figures.figure import figure
from attention_lab.figures.text import escape, label_axis
from attention_lab.i18n import _

MOST_TICKS = 40


class Titles(NamedTuple):
    """What the rows, the columns and the values are."""

    row: str
    column: str
    value: str


def numbered(
    values: np.ndarray,
    titles: Titles,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    bound: float | None = None,
    chosen_row: int | None = None,
    first: int = 0,
    height: int = 420,
) -> go.Figure:
    """`values` (row, column) as a heatmap; rows and columns are numbered without labels.

    `names` say on hover what each column is. `bound` is the end of the scale, where pictures share
    it. `chosen_row` is framed. `first` is the number of the first row, and of the first column.
    """
    n_rows, n_columns = values.shape
    bound = bound or float(np.abs(values).max(initial=0)) or 1.0
    row = "%{y}" if rows is not None else _("{axis} {n}").format(axis=titles.row, n="%{y}")
    column = (
        "%{x}"
        if names or columns is not None
        else _("{axis} {n}").format(axis=titles.column, n="%{x}")
    )
    hover = _("{row}, {column}: {value}").format(row=row, column=column, value="%{z:.6f}")
    cells = {
        "type": "heatmap",
        "z": values.astype(np.float32),
        "x0": first,
        "y0": first,
        "zmin": -bound,
        "zmax": bound,
        "colorscale": scales.DIVERGING,
        "colorbar": scales.bar(titles.value),
        "hovertemplate": hover + "<extra></extra>",
    }
    x: dict[str, object] = {"showgrid": False, "zeroline": False, "ticks": "", "automargin": True}
    y = x if rows is None else label_axis(rows, MOST_TICKS)
    # a tick keeps its number, only the hover says the name
    aliases = {str(i): escape(name) for i, name in enumerate(names or ())}
    named = {"labelalias": aliases, "tickmode": "array", "tickvals": _ticks(n_columns)}
    if names:
        x = x | named | {"ticktext": [str(i) for i in _ticks(n_columns)]}
    elif columns is not None:
        x = label_axis(columns, MOST_TICKS) | {"tickangle": -60 if n_columns > 4 else 0}
    layout = {
        "xaxis": x
        | {
            "side": "top",
            "title": {"text": titles.column, "standoff": 8},
            "range": [first - 0.5, first + n_columns - 0.5],
        },
        "yaxis": y
        | {
            "title": {"text": titles.row, "standoff": 12},
            "range": [first + n_rows - 0.5, first - 0.5],
        },
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 24, "t": 8, "b": 8},
        "height": height,
        "shapes": [] if chosen_row is None else [scales.frame(chosen_row, first, n_columns)],
        "dragmode": False,
        "uirevision": "keep",
    }
    return figure([cells], layout)


def _ticks(n: int) -> list[int]:
    """About eight round numbers below n."""
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if n <= 8 * s)
    return list(range(0, n, step))
