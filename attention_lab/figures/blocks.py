"""The model drawn as blocks with its real sizes, from the tokens at the bottom to the output."""

from typing import Any

import plotly.graph_objects as go

from attention_lab.analysis.blocks import Block, Kind, columns
from attention_lab.config import ModelConfig
from attention_lab.figures.text import escape

HEIGHTS: dict[Kind, float] = {"end": 0.9, "norm": 0.52, "add": 0.34}  # others: 1
GAP, FRAME = 0.26, 0.2  # between boxes; between a layer's frame and what is in it
PIXELS = 46  # a box of height 1
FILLS: dict[Kind, str] = {
    "end": "#eef1f5",
    "table": "#c3e6d3",
    "norm": "#d8dce3",
    "attention": "#f6cdbd",
    "cross": "#f6cdbd",
    "mlp": "#c6d8ec",
    "add": "#eef1f5",
}
INK = "#1c2430"  # dark on light boxes, whatever the page behind them
LINE = "rgb(128,128,128)"


def blocks(config: ModelConfig, n_source: int, n_target: int | None = None) -> go.Figure:
    """The stacks of a model side by side, encoder left, with the sizes for this text."""
    stacks = columns(config, n_source, n_target)
    shapes: list[dict[str, Any]] = []
    arrows: list[dict[str, Any]] = []
    texts: list[tuple[float, float, str]] = []
    places = []
    for number, column in enumerate(stacks):
        left, right = _sides(number, len(stacks))
        places.append(_draw(column, left, right, shapes, arrows, texts, config.n_layers))
    if len(stacks) == 2:
        _join(stacks, places, shapes, arrows)
    top = max(place[-1][1] for place in places)
    layout = {
        "xaxis": {"visible": False, "range": [0, 1], "fixedrange": True},
        "yaxis": {"visible": False, "range": [-0.1, top + 0.5], "fixedrange": True},
        "shapes": shapes,
        "annotations": arrows,
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "height": int(PIXELS * (top + 0.6)),
        "showlegend": False,
        "dragmode": False,
        "hovermode": False,
    }
    written = {
        "type": "scatter",
        "mode": "text",
        "x": [x for x, _y, _text in texts],
        "y": [y for _x, y, _text in texts],
        "text": [text for _x, _y, text in texts],
        "textfont": {"size": 13, "color": INK},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    return go.Figure({"data": [written], "layout": layout})


def _sides(number: int, n_columns: int) -> tuple[float, float]:
    """Left and right edge of a column's boxes; outside is room for the residual connections."""
    if n_columns == 1:
        return 0.1, 0.84
    return (0.07, 0.45) if number == 0 else (0.55, 0.93)


def _draw(
    column: list[Block],
    left: float,
    right: float,
    shapes: list[dict[str, Any]],
    arrows: list[dict[str, Any]],
    texts: list[tuple[float, float, str]],
    n_layers: int,
) -> list[tuple[float, float]]:
    """Draw a column; (bottom, top) of each box."""
    middle, y = (left + right) / 2, 0.0
    side = left - 0.035 if left < 0.5 else right + 0.035  # residual connections run outside
    places: list[tuple[float, float]] = []
    before: Block | None = None
    opened = 0.0
    for block in column:
        crosses = before is not None and block.in_layer != before.in_layer
        gap = GAP + (2 * FRAME if crosses else 0)
        bottom = y + (gap if before is not None else 0)
        top = bottom + HEIGHTS.get(block.kind, 1.0)
        if before is not None:
            arrows.append(_arrow((middle, y), (middle, bottom)))
        if block.opens:
            opened = y + gap * 0.45 if not crosses else bottom - GAP * 0.55
        if block.kind == "add":
            centre = (bottom + top) / 2
            shapes += _bypass(side, middle, opened, centre)
            arrows.append(
                _arrow((side, centre), (middle + (0.02 if side > middle else -0.02), centre))
            )
        shapes.append(_box(block, left, right, bottom, top))
        texts.append((middle, (bottom + top) / 2, _label(block)))
        places.append((bottom, top))
        before, y = block, top
    inside = [place for place, block in zip(places, column, strict=True) if block.in_layer]
    frame = (inside[0][0] - GAP - FRAME * 0.4, inside[-1][1] + FRAME)
    outer = (side - 0.025, right + 0.02) if side < middle else (left - 0.02, side + 0.025)
    shapes.append(_frame(outer, frame))
    arrows.append(_times(n_layers, outer[0] if right < 0.5 else outer[1], frame[1]))
    return places


def _times(n_layers: int, x: float, y: float) -> dict[str, Any]:
    """How many layers there are, above the corner of their frame, in the page's own colour."""
    anchor = "right" if x > 0.5 else "left"
    text = f"<b>× {n_layers}</b>"
    return {"x": x, "y": y, "text": text, "showarrow": False, "xanchor": anchor, "yshift": 9}


def _label(block: Block) -> str:
    if block.kind == "add":
        return "<b>+</b>"
    title = escape(block.title)
    if not block.detail:
        return f"<span style='font-size:11px'>{title}</span>"
    return f"{title}<br><span style='font-size:11px'>{escape(block.detail)}</span>"


def _box(block: Block, left: float, right: float, bottom: float, top: float) -> dict[str, Any]:
    if block.kind == "add":
        middle = (left + right) / 2
        left, right = middle - 0.02, middle + 0.02
    return {
        "type": "circle" if block.kind == "add" else "rect",
        "x0": left,
        "x1": right,
        "y0": bottom,
        "y1": top,
        "line": {"color": LINE, "width": 1},
        "fillcolor": FILLS[block.kind],
        "layer": "below",
    }


def _bypass(side: float, middle: float, start: float, end: float) -> list[dict[str, Any]]:
    """The residual connection, but for its last piece, which is an arrow."""
    return [_line((middle, start), (side, start)), _line((side, start), (side, end))]


def _join(
    stacks: list[list[Block]],
    places: list[list[tuple[float, float]]],
    shapes: list[dict[str, Any]],
    arrows: list[dict[str, Any]],
) -> None:
    """The encoder's output goes into the cross-attention of every decoder layer."""
    number = next(i for i, block in enumerate(stacks[1]) if block.kind == "cross")
    bottom, top = places[1][number]
    into, out = (bottom + top) / 2, places[0][-1][1] - 0.1
    (left, right), (target, _right) = _sides(0, 2), _sides(1, 2)
    start, between = (left + right) / 2, (right + target) / 2
    turn = out + 0.35
    shapes.append(_line((start, out), (start, turn)))
    shapes.append(_line((start, turn), (between, turn)))
    shapes.append(_line((between, turn), (between, into)))
    arrows.append(_arrow((between, into), (target, into)))


def _frame(x: tuple[float, float], y: tuple[float, float]) -> dict[str, Any]:
    return {
        "type": "rect",
        "x0": x[0],
        "x1": x[1],
        "y0": y[0],
        "y1": y[1],
        "line": {"color": LINE, "width": 1.5, "dash": "dot"},
        "layer": "below",
    }


def _line(start: tuple[float, float], end: tuple[float, float]) -> dict[str, Any]:
    ends = {"x0": start[0], "y0": start[1], "x1": end[0], "y1": end[1]}
    return {"type": "line", **ends, "line": {"color": LINE, "width": 1.2}, "layer": "below"}


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> dict[str, Any]:
    return {
        "ax": start[0],
        "ay": start[1],
        "x": end[0],
        "y": end[1],
        "axref": "x",
        "ayref": "y",
        "xref": "x",
        "yref": "y",
        "text": "",
        "showarrow": True,
        "arrowhead": 2,
        "arrowsize": 0.9,
        "arrowwidth": 1.2,
        "arrowcolor": LINE,
    }
