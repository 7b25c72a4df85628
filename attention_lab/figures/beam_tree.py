"""Beam search as the tree of its hypotheses: what was tried, kept, dropped, and what won."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from attention_lab.beam import Beam, Node, score
from attention_lab.figures import scales
from attention_lab.figures.text import escape
from attention_lab.i18n import _


def beam_tree(beam: Beam, names: Sequence[str], penalty: float) -> go.Figure:
    """Steps from left to right; at each the hypotheses from the likeliest down.

    `names` are the tokens' labels, one a node. Hover gives the log-probabilities and the score.
    """
    places = _places(beam.nodes)
    on_path = set(beam.path)
    kinds = {
        _("dropped"): ([i for i, n in enumerate(beam.nodes) if not n.kept], scales.MASKED),
        _("kept"): (
            [i for i, n in enumerate(beam.nodes) if n.kept and i not in on_path],
            scales.PLAIN,
        ),
        _("the winner"): (list(beam.path), scales.ACCENT),
    }
    data = [_edges(beam.nodes, places, indices, colour) for indices, colour in kinds.values()]
    data += [
        _dots(beam.nodes, places, indices, colour, name, names, penalty)
        for name, (indices, colour) in kinds.items()
    ]
    most = max(rank for _step, rank in places)
    layout = {
        "xaxis": {
            "title": {"text": _("step")},
            "dtick": 1,
            "showgrid": False,
            "zeroline": False,
            "range": [-1.3, max(n.step for n in beam.nodes) + 0.7],
        },
        "yaxis": {"visible": False, "range": [most + 0.7, -0.7]},
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "height": 140 + 44 * (most + 1),
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "dragmode": False,
        "hovermode": "closest",
    }
    return go.Figure({"data": data, "layout": layout})


def _places(nodes: Sequence[Node]) -> list[tuple[int, int]]:
    """(step, rank within the step); nodes come best first."""
    seen: dict[int, int] = {}
    places = []
    for node in nodes:
        rank = seen.get(node.step, 0)
        seen[node.step] = rank + 1
        places.append((node.step, rank))
    return places


def _edges(
    nodes: Sequence[Node], places: Sequence[tuple[int, int]], indices: Sequence[int], colour: str
) -> dict[str, Any]:
    x: list[float | None] = []
    y: list[float | None] = []
    for i in indices:
        parent = nodes[i].parent
        start = (-1, 0) if parent is None else places[parent]
        x += [start[0], places[i][0], None]
        y += [start[1], places[i][1], None]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": {"color": colour, "width": 3 if colour == scales.ACCENT else 1},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _dots(
    nodes: Sequence[Node],
    places: Sequence[tuple[int, int]],
    indices: Sequence[int],
    colour: str,
    kind: str,
    names: Sequence[str],
    penalty: float,
) -> dict[str, Any]:
    hover = _("log-probability {own}, of the whole {total}, score {score}")
    numbers = [
        [
            nodes[i].log_probability,
            nodes[i].total,
            score(nodes[i].total, nodes[i].step + 1, penalty),
        ]
        for i in indices
    ]
    values = {"own": "%{customdata[0]:.3f}", "total": "%{customdata[1]:.3f}"}
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [places[i][0] for i in indices],
        "y": [places[i][1] for i in indices],
        "text": [escape(names[i]) for i in indices],
        "textposition": "top center",
        "textfont": {"family": scales.MONOSPACE, "size": 13},
        "marker": {"color": colour, "size": 8},
        "customdata": numbers,
        "hovertemplate": "%{text}<br>"
        + hover.format(score="%{customdata[2]:.3f}", **values)
        + "<extra></extra>",
        "name": kind,
        "cliponaxis": False,
    }
