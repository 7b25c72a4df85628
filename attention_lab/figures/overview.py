"""All heads of all layers in one picture: rows are layers, columns are heads, each tile a heatmap.

One tiled image instead of a subplot a head: for 72 heads it is fifty times faster to build and five
times faster to draw. Weights become one byte each; the large picture has the exact numbers.
"""

from functools import reduce
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, UInt8

from attention_lab.figures import scales
from attention_lab.figures.figure import figure
from attention_lab.i18n import _
from attention_lab.tracing.trace import Trace

TOP, GREY, GAP = 250, 252, 255  # byte levels: weight 1, masked, between tiles
GUTTER = 0.12  # of a tile's side
MOST_CELLS = 330_000  # more are pooled, so that a change of head stays light on the network


def overview(
    trace: Trace, part: str, chosen: tuple[int, int] | None = None, limit: int = 128
) -> go.Figure:
    """Every head of `part`, e.g. "encoder.self", on the first `limit` tokens; one is framed.

    `chosen` is (layer, head). Masked cells are grey. Above `MOST_CELLS` each dot is the largest of
    k × k weights; see `pooling`.
    """
    tiles = _tiles(trace, part, limit)
    n_layers, n_heads, rows, columns = tiles.shape
    gap_r, gap_c = _gutter(rows), _gutter(columns)
    image = np.full((n_layers * (rows + gap_r), n_heads * (columns + gap_c)), GAP, np.uint8)
    grid = image.reshape(n_layers, rows + gap_r, n_heads, columns + gap_c)
    grid[:, :rows, :, :columns] = tiles.transpose(0, 2, 1, 3)
    picture = {
        "type": "heatmap",
        "z": image,
        # in units of tiles, so that layer 3 stands at y = 3
        "x0": (0.5 - columns / 2) / (columns + gap_c),
        "dx": 1 / (columns + gap_c),
        "y0": (0.5 - rows / 2) / (rows + gap_r),
        "dy": 1 / (rows + gap_r),
        "zmin": 0,
        "zmax": 255,
        "colorscale": _byte_scale(),
        "showscale": False,
        "hoverinfo": "skip",
    }
    data = [picture, _targets(n_layers, n_heads)]
    return figure(data, _layout(n_layers, n_heads, chosen))


def pooling(trace: Trace, part: str, limit: int = 128) -> int:
    """How many weights a side each dot of the overview stands for: 1 = every weight shows."""
    sites = part_sites(trace, part)
    query, key = trace[sites[0]].query_tokens, trace[sites[0]].key_tokens
    cells = len(sites) * trace[sites[0]].n_heads * min(len(query), limit) * min(len(key), limit)
    return int(np.ceil(np.sqrt(cells / MOST_CELLS))) if cells > MOST_CELLS else 1


def part_sites(trace: Trace, part: str) -> list[str]:
    """The sites of a part such as "decoder.cross", by layer."""
    stack, kind = part.split(".")
    return [s for s in trace.sites if s.startswith(f"{stack}.") and s.endswith(f".{kind}")]


def _tiles(trace: Trace, part: str, limit: int) -> UInt8[np.ndarray, "layer head row column"]:
    k = pooling(trace, part, limit)
    tiles = []
    for name in part_sites(trace, part):
        site = trace[name]
        levels = _pool(_levels(site.weights[:, :limit, :limit]), k)
        is_open = _pool(site.mask[:, :limit, :limit], k)  # one for all heads, or one each
        tiles.append(np.where(is_open, levels, np.uint8(GREY)))
    return np.stack(tiles)


def _levels(
    weights: Float[np.ndarray, "head row column"],
) -> UInt8[np.ndarray, "head row column"]:
    levels: np.ndarray = np.rint(np.clip(weights, 0, 1) * TOP).astype(np.uint8)
    return levels


def _pool(array: np.ndarray, k: int) -> np.ndarray:
    """The largest of each k × k cells; the last ones may be fewer."""
    if k == 1:
        return array
    room = [(0, 0), *((0, -side % k) for side in array.shape[1:])]
    array = np.pad(array, room, mode="edge")
    array = reduce(np.maximum, [array[:, i::k] for i in range(k)])
    return reduce(np.maximum, [array[:, :, i::k] for i in range(k)])


def _gutter(side: int) -> int:
    return max(1, round(side * GUTTER))


def _byte_scale() -> list[list[Any]]:
    top, clear = (TOP + 0.5) / 255, (GREY + 1) / 255
    scale: list[list[Any]] = [[at * top, colour] for at, colour in scales.SEQUENTIAL]
    return [
        *scale,
        [top, scales.MASKED],
        [clear, scales.MASKED],
        [clear, "rgba(0,0,0,0)"],
        [1, "rgba(0,0,0,0)"],
    ]


def _targets(n_layers: int, n_heads: int) -> dict[str, Any]:
    """An invisible point a tile: a click on a heatmap selects nothing, a click on a point does."""
    layer, head = np.divmod(np.arange(n_layers * n_heads), n_heads)
    hover = _("layer {layer}, head {head}").format(layer="%{y}", head="%{x}")
    return {
        "type": "scatter",
        "x": head.astype(np.int16),
        "y": layer.astype(np.int16),
        "mode": "markers",
        "marker": {
            "symbol": "square",
            "size": 24,
            "opacity": 0,
            "color": np.zeros(len(head), np.uint8),
            "cmin": 0,
            "cmax": 1,
            "colorscale": scales.SEQUENTIAL,
            "showscale": True,
            "colorbar": scales.bar(_("weight")),
        },
        "selected": {"marker": {"opacity": 0}},
        "unselected": {"marker": {"opacity": 0}},
        "hovertemplate": hover + "<extra></extra>",
        "showlegend": False,
    }


def _layout(n_layers: int, n_heads: int, chosen: tuple[int, int] | None) -> dict[str, Any]:
    def number_axis(n: int, title: str) -> dict[str, Any]:
        return {
            "title": {"text": title, "standoff": 4},
            "dtick": 1 if n <= 12 else 2,
            "showgrid": False,
            "zeroline": False,
            "ticks": "",
            "automargin": True,
        }

    frame = []
    if chosen is not None:
        layer, head = chosen
        frame = [
            {
                "type": "rect",
                "x0": head - 0.5,
                "x1": head + 0.5,
                "y0": layer - 0.5,
                "y1": layer + 0.5,
                "line": {"color": scales.ACCENT, "width": 3},
            }
        ]
    return {
        "xaxis": number_axis(n_heads, _("head"))
        | {"side": "top", "range": [-0.55, n_heads - 0.45]},
        "yaxis": number_axis(n_layers, _("layer")) | {"range": [n_layers - 0.45, -0.55]},
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "height": 640 if n_layers > 12 else 120 + 56 * n_layers,
        "shapes": frame,
        "clickmode": "event+select",
        "dragmode": False,
        "hovermode": "closest",
        "hoverdistance": -1,
        "uirevision": "keep",
    }
