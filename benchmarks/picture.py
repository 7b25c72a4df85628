"""Bytes and milliseconds of a picture: all heads at once, beside BertViz; and one head, large.

Ours is counted as it goes to the browser, Plotly's JSON in Streamlit's message; BertViz as the HTML
that it returns. Both start from attention weights in memory.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import plotly.graph_objects as go
import plotly.io
import torch
import typer
from streamlit.proto.PlotlyChart_pb2 import PlotlyChart

import attention_lab as lab
from attention_lab import figures
from attention_lab.tracing.trace import Trace
from attention_lab.zoo.loaded import Model
from benchmarks.capture import text_of
from benchmarks.measure import alternate, report

OURS, BERTVIZ, LARGE = "all heads", "BertViz", "one head"


def message(figure: go.Figure) -> bytes:
    """A figure as Streamlit sends it."""
    spec = plotly.io.to_json(figure, validate=False)
    sent: bytes = PlotlyChart(spec=spec, config="{}", theme="streamlit").SerializeToString()
    return sent


def bertviz(trace: Trace) -> Callable[[], bytes] | None:
    """BertViz's view of all heads as HTML; None where it is not installed."""
    try:
        from bertviz import model_view
    except ImportError:
        return None
    weights = [torch.from_numpy(trace[site].weights.copy())[None] for site in trace.sites]
    labels = list(trace.tokens.labels)

    def html() -> bytes:
        data: str = model_view(weights, labels, html_action="return").data
        return data.encode()

    return html


def measure(model: Model, n: int, rounds: int) -> dict[str, Any]:
    """One row: bytes and ms of each picture of a text of `n` tokens."""
    trace = lab.trace(model, text_of(model, n))
    kind, site = f"{model.config.kind}.self", trace.sites[-1]
    functions: dict[str, Callable[[], bytes]] = {
        OURS: lambda: message(figures.overview(trace, kind, (0, 0))),
        LARGE: lambda: message(figures.heatmap(trace, site)),
    }
    theirs = bertviz(trace)
    if theirs is not None:
        functions[BERTVIZ] = theirs
    sizes = {name: len(function()) for name, function in functions.items()}
    times = alternate(functions, rounds)
    row: dict[str, Any] = {"model": model.name, "tokens": n}
    for name in functions:
        row |= {f"{name}, KB": sizes[name] / 1e3, f"{name}, ms": times[name]}
    if theirs is not None:
        row["smaller"], row["faster"] = sizes[BERTVIZ] / sizes[OURS], times[BERTVIZ] / times[OURS]
    return row


def main(
    lengths: Annotated[list[int] | None, typer.Option("--tokens")] = None, rounds: int = 7
) -> None:
    """Measure, print a table, and write benchmarks/results/picture.json."""
    row = partial(measure, lab.load("minilm"), rounds=rounds)
    rows = [row(n) for n in lengths or [16, 64, 128]]
    notes = ["Aims at 128 tokens: at most 1,800 KB, at least 30 times smaller than BertViz."]
    report("picture", "Pictures: bytes, and medians of milliseconds", rows, notes)


if __name__ == "__main__":
    typer.run(main)
