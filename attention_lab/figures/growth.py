"""How the work of a model grows with the length of the text, part by part."""

import pandas as pd
import plotly.graph_objects as go

from attention_lab.figures import scales
from attention_lab.i18n import _


def growth_curves(table: pd.DataFrame, names: dict[str, str], length: int) -> go.Figure:
    """A line a column of `table` (index: length), and a mark at this text's length."""
    lengths = table.index.to_numpy()
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": lengths,
            "y": table[part].to_numpy(),
            "name": names[part],
            "line": {"color": colour, "dash": dash, "width": 2.5},
            "hovertemplate": "%{x}: %{y:.4s}<extra>" + names[part] + "</extra>",
        }
        for part, (colour, dash) in zip(map(str, table), scales.LINES, strict=False)
    ]
    mark = {
        "type": "line",
        "x0": length,
        "x1": length,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": scales.ACCENT, "width": 2, "dash": "dot"},
    }
    layout = {
        "xaxis": {"title": {"text": _("tokens")}, "zeroline": False},
        "yaxis": {
            "title": {"text": _("multiply-adds")},
            "tickformat": ".2s",
            "rangemode": "tozero",
        },
        "shapes": [mark],
        "annotations": [
            {
                "x": length,
                "yref": "paper",
                "y": 1,
                "text": _("your text"),
                "showarrow": False,
                "xanchor": "left",
                "xshift": 4,
            }
        ],
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "height": 360,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "dragmode": False,
    }
    return go.Figure({"data": data, "layout": layout})
