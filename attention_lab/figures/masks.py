"""Pictures of masks: one to click in, and small ones with what a convention writes in the cells."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool

from attention_lab.figures import scales
from attention_lab.figures.figure import figure
from attention_lab.figures.text import label_axis
from attention_lab.i18n import _

MOST_TICKS = 40
MOST_POINTS = 64 * 64  # to click on; more make the picture slow
INK = "#1c2430"  # on both colours, whatever the page behind them
WRITE_VALUES = 12  # up to so many columns each cell has its value written in it


def mask_grid(
    mask: Bool[np.ndarray, "query key"],
    rows: Sequence[str],
    columns: Sequence[str],
    turned: Collection[tuple[int, int]] = (),
    chosen: tuple[int, int] | None = None,
) -> go.Figure:
    """A mask whose cells can be clicked; `turned` are marked, `chosen` is framed."""
    data = [_cells(mask), *_legend()]
    if turned:
        data.append(_marks(turned))
    if mask.size <= MOST_POINTS:
        data.append(_points(mask))
    layout = _layout(rows, columns, int(np.clip(130 + 36 * len(rows), 220, 520))) | {
        "shapes": [] if chosen is None else [scales.frame(*chosen)],
        "clickmode": "event+select",
        "hovermode": "closest",
        "hoverdistance": -1,
        "uirevision": "keep",
    }
    return figure(data, layout)


def written_mask(
    mask: Bool[np.ndarray, "row column"],
    rows: Sequence[str],
    columns: Sequence[str],
    values: tuple[str, str] | None = None,
    height: int = 300,
    names: tuple[str, str] | None = None,
    titles: tuple[str, str] | None = None,
) -> go.Figure:
    """A mask in the colours of all masks.

    `values` are what stands in open and in closed cells, `names` what the legend calls the two
    ("" leaves it out), `titles` those of the axes.
    """
    cells = _cells(mask)
    if values is not None and max(mask.shape) <= WRITE_VALUES:
        text = np.where(mask, values[0], values[1]).tolist()
        cells |= {"text": text, "texttemplate": "%{text}", "textfont": {"color": INK}}
    layout = _layout(rows, columns, height, titles)
    if all(label.isdecimal() for label in columns):
        for axis in (layout["xaxis"], layout["yaxis"]):  # numbers need no tilt and few ticks
            axis |= {"tickangle": 0, "tickmode": "auto", "nticks": 9}
        if not all(label.isdecimal() for label in rows):
            layout["yaxis"]["tickmode"] = "array"
    return figure([cells, *(_legend(names) if names != ("", "") else [])], layout)


def _cells(mask: Bool[np.ndarray, "query key"]) -> dict[str, Any]:
    colours = [[0, scales.MASKED], [0.5, scales.MASKED], [0.5, scales.OPEN], [1, scales.OPEN]]
    hover = _("{query} → {key}: {value} (1 = may attend)")
    return {
        "type": "heatmap",
        "z": mask.astype(np.uint8),
        "zmin": 0,
        "zmax": 1,
        "colorscale": colours,
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "hovertemplate": hover.format(query="%{y}", key="%{x}", value="%{z}") + "<extra></extra>",
    }


def _points(mask: Bool[np.ndarray, "query key"]) -> dict[str, Any]:
    """An invisible point a cell: a click on a heatmap selects nothing, a click on a point does."""
    query, key = np.divmod(np.arange(mask.size), mask.shape[1])
    says = [_("may look"), _("may not look")]
    hover = _("{query} → {key}: {state}; click to turn it over")
    return {
        "type": "scatter",
        "x": key.astype(np.int16),
        "y": query.astype(np.int16),
        "customdata": [says[0] if is_open else says[1] for is_open in mask.ravel().tolist()],
        "mode": "markers",
        "marker": {"symbol": "square", "size": 14, "opacity": 0},
        "selected": {"marker": {"opacity": 0}},
        "unselected": {"marker": {"opacity": 0}},
        "hovertemplate": hover.format(query="%{y}", key="%{x}", state="%{customdata}")
        + "<extra></extra>",
        "showlegend": False,
    }


def _marks(turned: Collection[tuple[int, int]]) -> dict[str, Any]:
    places = sorted(turned)
    line = {"color": scales.ACCENT, "width": 2}
    return {
        "type": "scatter",
        "x": [key for _query, key in places],
        "y": [query for query, _key in places],
        "mode": "markers",
        "marker": {"symbol": "diamond-open", "size": 9, "color": scales.ACCENT, "line": line},
        "hoverinfo": "skip",
        "name": _("turned over"),
        "showlegend": True,
    }


def _legend(names: tuple[str, str] | None = None) -> list[dict[str, Any]]:
    """Entries for the colours; a heatmap has none of its own."""
    titles = names or (_("may attend"), _("blocked"))
    return [
        {
            "type": "scatter",
            "x": [None],
            "y": [None],
            "mode": "markers",
            "marker": {"symbol": "square", "size": 12, "color": colour},
            "name": name,
            "showlegend": True,
        }
        for name, colour in zip(titles, (scales.OPEN, scales.MASKED), strict=True)
    ]


def _layout(
    rows: Sequence[str],
    columns: Sequence[str],
    height: int,
    titles: tuple[str, str] | None = None,
) -> dict[str, Any]:
    row_title, column_title = titles or (_("query (looks)"), _("key (is looked at)"))
    x = label_axis(columns, MOST_TICKS) | {
        "tickangle": -60 if len(columns) > 4 else 0,
        "side": "top",
        "title": {"text": column_title, "standoff": 10},
        "range": [-0.5, len(columns) - 0.5],
    }
    y = label_axis(rows, MOST_TICKS) | {
        "title": {"text": row_title, "standoff": 14},
        "range": [len(rows) - 0.5, -0.5],
    }
    return {
        "xaxis": x,
        "yaxis": y,
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 24, "t": 8, "b": 8},
        "height": height,
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": -0.02, "yanchor": "top"},
        "hoverlabel": {"font": {"family": scales.MONOSPACE}},
        "dragmode": False,
    }
