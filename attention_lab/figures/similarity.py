"""How much alike all heads are: one matrix, heads on both sides, layer after layer."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from attention_lab.analysis.similarity import Similarity
from attention_lab.figures import scales
from attention_lab.i18n import _


def similarity_map(found: Similarity) -> go.Figure:
    """The similarities in percent, a byte each; the tables have the exact numbers.

    NaN, where no query has a choice, is not drawn.
    """
    percent = np.nan_to_num(np.clip(found.values, 0, 1) * 100)
    hover = _("{one} and {other}: {value} % alike")
    cells = {
        "type": "heatmap",
        "z": np.rint(percent).astype(np.uint8),
        "zmin": 0,
        "zmax": 100,
        "colorscale": scales.SEQUENTIAL,
        "colorbar": scales.bar(_("similarity in %")),
        "hovertemplate": hover.format(one="%{y}", other="%{x}", value="%{z}") + "<extra></extra>",
        "visible": bool(np.isfinite(found.values).any()),
    }
    n = len(found.places)
    layout = {
        "xaxis": _axis(found) | {"side": "top", "range": [-0.5, n - 0.5], "constrain": "domain"},
        "yaxis": _axis(found)
        | {"range": [n - 0.5, -0.5], "scaleanchor": "x", "constrain": "domain"},
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 24, "t": 8, "b": 8},
        "height": 560,
        "dragmode": False,
        "uirevision": "keep",
    }
    return go.Figure({"data": [cells], "layout": layout})


def _axis(found: Similarity) -> dict[str, Any]:
    """A tick where a layer begins; each head is named on hover."""
    starts = [i for i, (_layer, head) in enumerate(found.places) if head == 0]
    name = _("layer {layer}, head {head}")
    names = [name.format(layer=layer, head=head) for layer, head in found.places]
    return {
        "title": {"text": _("layer, and its heads in order"), "standoff": 4},
        "tickmode": "array",
        "tickvals": starts,
        "ticktext": [str(found.places[i][0]) for i in starts],
        "labelalias": {str(i): name for i, name in enumerate(names)},
        "showgrid": False,
        "zeroline": False,
        "ticks": "outside",
        "ticklen": 4,
        "automargin": True,
    }
