"""The colours of all pictures: one sequential scale, one diverging, one neutral look for masked.

Viridis and red-blue are safe for colour-blind eyes and legible on light and dark pages. Grey is in
neither of them, so that masked cells cannot be taken for small ones.
"""

from typing import Any

from plotly.colors import get_colorscale

SEQUENTIAL = get_colorscale("viridis")
DIVERGING = get_colorscale("rdbu_r")
MASKED = "rgb(160,160,160)"
ACCENT = "#e4572e"
OPEN = "#35b779"  # a cell that a mask leaves open
PLAIN = "#4c78a8"
MONOSPACE = "Source Code Pro, monospace"  # Streamlit serves it itself

# Okabe and Ito's colours for colour-blind eyes, each with a dash of its own.
LINES = (
    ("#0072b2", "solid"),
    ("#d55e00", "solid"),
    ("#cc79a7", "dash"),
    ("#e69f00", "dash"),
    ("#009e73", "dot"),
    ("#56b4e9", "dashdot"),
)


def frame(row: int, column: int, width: int = 1) -> dict[str, Any]:
    """A frame around the cells of a row that begin at a column, in the accent colour."""
    return {
        "type": "rect",
        "x0": column - 0.5,
        "x1": column - 0.5 + width,
        "y0": row - 0.5,
        "y1": row + 0.5,
        "line": {"color": ACCENT, "width": 2},
    }


def bar(title: str) -> dict[str, Any]:
    """A colour bar under the picture, with the name of what it measures."""
    return {
        "orientation": "h",
        "thickness": 10,
        "outlinewidth": 0,
        "len": 0.5,
        "x": 0,
        "xanchor": "left",
        "y": -0.01,
        "yanchor": "top",
        "title": {"text": title, "side": "top"},  # beside it, it leaves no bar on a phone
    }
