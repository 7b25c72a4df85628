"""Source and target as two rows of tokens, joined by lines as thick as the attention weight."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attention_lab.figures import scales
from attention_lab.figures.text import escape
from attention_lab.i18n import _
from attention_lab.tokens import Token

LEVELS = 12  # widths that are told apart
WIDEST = 9.0  # pixels, for a weight of 1


def alignment(
    weights: Float[np.ndarray, "target source"],
    source: Sequence[Token],
    target: Sequence[Token],
    threshold: float,
) -> go.Figure:
    """Lines for all weights of at least `threshold`; `hidden_share` says what that leaves out."""
    above, below = _places(len(source)), _places(len(target))
    data = [
        *_lines(weights, above, below, threshold),
        _row(above, 1.0, source, "top center"),
        _row(below, 0.0, target, "bottom center"),
    ]
    hidden_axis = {"visible": False, "fixedrange": True}
    layout = {
        "xaxis": hidden_axis | {"range": [0, 1]},
        "yaxis": hidden_axis | {"range": [-0.35, 1.35]},
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "height": 360,
        "showlegend": False,
        "dragmode": False,
        "hovermode": "closest",
    }
    return go.Figure({"data": data, "layout": layout})


def hidden_share(weights: Float[np.ndarray, "target source"], threshold: float) -> float:
    """The share of all attention that lies in weights below `threshold`, 0 to 1."""
    total = float(weights.sum())
    return float(weights[weights < threshold].sum()) / total if total else 0.0


def _places(n: int) -> np.ndarray:
    return (np.arange(n) + 0.5) / max(n, 1)


def _lines(
    weights: np.ndarray, above: np.ndarray, below: np.ndarray, threshold: float
) -> list[dict[str, Any]]:
    """One trace a thickness: Plotly draws a trace in one width."""
    level = np.clip(np.ceil(weights * LEVELS), 1, LEVELS)
    traces = []
    for step in range(1, LEVELS + 1):
        rows, columns = np.nonzero((weights >= threshold) & (level == step) & (weights > 0))
        if not len(rows):
            continue
        gap = np.full(len(rows), np.nan)
        share = step / LEVELS
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": np.stack([above[columns], below[rows], gap], axis=1).ravel(),
                "y": np.stack([np.ones(len(rows)), np.zeros(len(rows)), gap], axis=1).ravel(),
                "line": {"width": max(0.7, WIDEST * share), "color": scales.PLAIN},
                "opacity": 0.25 + 0.75 * share,
                "hoverinfo": "skip",
            }
        )
    return traces


def _row(x: np.ndarray, y: float, tokens: Sequence[Token], place: str) -> dict[str, Any]:
    names = [escape(token.label) for token in tokens]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": x,
        "y": np.full(len(x), y),
        "text": names,
        "textposition": place,
        "textfont": {"family": scales.MONOSPACE, "size": 14 if len(names) <= 24 else 9},
        "marker": {"size": 6, "color": scales.PLAIN},
        "cliponaxis": False,
        "hovertemplate": _("token {token}").format(token="%{text}") + "<extra></extra>",
    }
