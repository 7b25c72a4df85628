"""One panel as a heatmap: query down, key across, masked cells grey, the scale always shown."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from attention_lab.analysis.panel import Combine, Panel, panel
from attention_lab.figures import scales
from attention_lab.figures.figure import figure
from attention_lab.figures.text import axis
from attention_lab.i18n import _
from attention_lab.tracing.site import Stage
from attention_lab.tracing.trace import Trace

WRITE_VALUES = 16  # up to this many columns each cell has its number written in it
MOST_TICKS = 40


def heatmap(
    trace: Trace,
    site: str,
    head: int = 0,
    stage: Stage = "weights",
    combine: Combine = "none",
    hide_special: bool = False,
) -> go.Figure:
    """A stage of a head as a Plotly figure. Raises `InputError` for a place that there is not."""
    return draw(panel(trace, site, head, stage, combine, hide_special))


def draw(shown: Panel, bound: float | None = None, is_small: bool = False) -> go.Figure:
    """The panel's picture; `bound` is the scale of signed values, where pictures share it.

    A small picture has no numbers in its cells, and few on its scale.
    """
    n_rows, n_columns = shown.values.shape
    data = [_cells(shown, bound, is_small)]
    if shown.blocked is not None and shown.blocked.any():
        data += _masked(shown.blocked)
    if shown.stage == "mask" and not shown.is_difference:
        data += [_legend(_("may attend"), scales.OPEN), _legend(_("blocked"), scales.MASKED)]
    x: dict[str, object] = {"showgrid": False, "zeroline": False, "ticks": ""}
    if shown.columns is not None:
        x = axis(shown.columns, MOST_TICKS) | {"tickangle": -60 if n_columns > 4 else 0}
    x |= {
        "side": "top",
        "title": {"text": column_title(shown), "standoff": 10},
        "range": [-0.5, n_columns - 0.5],
    }
    y = axis(shown.rows, MOST_TICKS) | {
        "title": {"text": row_title(shown), "standoff": 14},
        "range": [n_rows - 0.5, -0.5],
    }
    layout = {
        "xaxis": x,
        "yaxis": y,
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 24, "t": 8, "b": 8},
        "height": int(np.clip(130 + 36 * n_rows, 220, 520)),
        "legend": {"x": 1, "xanchor": "right", "y": -0.02, "yanchor": "top"},
        "hoverlabel": {"font": {"family": scales.MONOSPACE}},
        "dragmode": False,
        "uirevision": "keep",
    }
    return figure(data, layout)


def row_title(shown: Panel) -> str:
    """What a row of the panel is."""
    if shown.columns is not None:
        return _("query (looks)")
    return _("token")


def column_title(shown: Panel) -> str:
    """What a column of the panel is."""
    return _("dimension") if shown.columns is None else _("key (is looked at)")


def _cells(shown: Panel, bound: float | None, is_small: bool) -> dict[str, Any]:
    values = shown.values.astype(np.float32)
    cells: dict[str, Any] = {
        "type": "heatmap",
        "z": values,
        "hoverongaps": False,
        "hovertemplate": _hover(shown),
        "colorbar": scales.bar(bar_title(shown)),
    }
    if shown.stage == "mask" and not shown.is_difference:
        colours = [[0, scales.MASKED], [0.5, scales.MASKED], [0.5, scales.OPEN], [1, scales.OPEN]]
        cells |= {"zmin": 0, "zmax": 1, "colorscale": colours, "showscale": False}
    elif shown.signed:
        bound = bound or shown.bound
        cells |= {"zmin": -bound, "zmax": bound, "colorscale": scales.DIVERGING}
    else:
        cells |= {"zmin": 0, "zmax": 1, "colorscale": scales.SEQUENTIAL}
    if is_small:
        cells["colorbar"] |= {"nticks": 3}
    few = not is_small and shown.columns is not None and max(values.shape) <= WRITE_VALUES
    if few and shown.stage != "mask":
        cells |= {"text": _written(shown), "texttemplate": "%{text}"}
    return cells


def _written(shown: Panel) -> list[list[str]]:
    """The numbers in the cells, rounded; nothing where all digits would be zeros, for calm."""
    digits = 2 if shown.stage == "weights" else 1
    sign = "+" if shown.signed else ""

    def written(value: float) -> str:
        if np.isnan(value) or abs(value) < 0.5 * 10**-digits:
            return ""
        text = f"{value:{sign}.{digits if abs(value) < 10 else 0}f}"
        return text.replace("0.", ".", 1) if abs(value) < 1 else text

    return [[written(value) for value in row] for row in shown.values.tolist()]


def _masked(blocked: np.ndarray) -> list[dict[str, Any]]:
    """Grey cells over the gaps, and their entry in the legend."""
    grey = [[0, scales.MASKED], [1, scales.MASKED]]
    hover = _("{query} may not look at {key}: masked").format(query="%{y}", key="%{x}")
    cover = {
        "type": "heatmap",
        "z": np.where(blocked, np.float32(0), np.float32(np.nan)),
        "colorscale": grey,
        "showscale": False,
        "hoverongaps": False,
        "hovertemplate": hover + "<extra></extra>",
    }
    return [cover, _legend(_("masked"), scales.MASKED)]


def _legend(name: str, colour: str) -> dict[str, Any]:
    """An entry of the legend; a heatmap has none of its own."""
    return {
        "type": "scatter",
        "x": [None],
        "y": [None],
        "mode": "markers",
        "marker": {"symbol": "square", "size": 12, "color": colour},
        "name": name,
        "showlegend": True,
    }


def bar_title(shown: Panel) -> str:
    """The name of the values."""
    names = {
        "q": _("query vector"),
        "k": _("key vector"),
        "v": _("value vector"),
        "scores": _("score"),
        "mask": _("mask"),
        "masked_scores": _("score"),
        "weights": _("weight"),
        "z": _("z = weights · v"),
        "result": _("result"),
    }
    name = names[shown.stage]
    return _("{name}, after − before").format(name=name) if shown.is_difference else name


def _hover(shown: Panel) -> str:
    if shown.columns is None:
        text = _("{token}, dimension {dimension}: {value}")
        text = text.format(token="%{y}", dimension="%{x}", value="%{z:.6f}")
    elif shown.stage == "mask" and not shown.is_difference:
        text = _("{query} → {key}: {value} (1 = may attend)")
        text = text.format(query="%{y}", key="%{x}", value="%{z}")
    else:
        text = _("{query} looks at {key}: {value}")
        text = text.format(query="%{y}", key="%{x}", value="%{z:.6f}")
    return text + "<extra></extra>"
