"""The parts of the Architecture page: the drawing, the totals, encoder beside decoder."""

from typing import Literal, get_args

import pandas as pd
import streamlit as st

from attention_lab.analysis import costs
from attention_lab.analysis.stacks import Side, side_by_side
from attention_lab.config import Limits
from attention_lab.figures.blocks import blocks
from attention_lab.figures.growth import growth_curves
from attention_lab.i18n import _
from attention_lab.tracing.record import max_tokens
from attention_lab.tracing.trace import Trace
from attention_lab.ui import link
from attention_lab.ui.asking import ask
from attention_lab.ui.heads import CHART
from attention_lab.ui.keep import RESULTS
from attention_lab.ui.markup import plain
from attention_lab.ui.runs import Request, run

View = Literal["parameters", "work", "sides"]
VIEWS: tuple[View, ...] = get_args(View)
POINTS = 48  # of the curves


def restore() -> None:
    """The state of the page from the link."""
    link.restore("total", VIEWS, "parameters")
    link.restore("layers", (False, True), False)


def drawing(trace: Trace) -> None:
    """The model as blocks."""
    config, target = trace.model.config, trace.target_tokens
    figure = blocks(config, len(trace.tokens), None if target is None else len(target))
    alt = _("The model as blocks from the tokens at the bottom to the output at the top")
    st.plotly_chart(figure, key="blocks", config=CHART, alt=alt)
    if config.kind == "encoder-decoder":
        text = _("The encoder's output goes into the cross-attention of each decoder layer.")
        st.caption(text)


def view_switch() -> View:
    """Which totals are shown."""
    names = {
        "parameters": _("parameters"),
        "work": _("multiply-adds"),
        "sides": _("encoder and decoder"),
    }
    view = st.segmented_control(
        _("Totals"),
        VIEWS,
        required=True,
        key="total",
        persist_state="session",
        format_func=lambda view: names[view],
        label_visibility="collapsed",
        wrap=True,
    )
    return view or "parameters"


def part_names() -> dict[str, str]:
    """The parts of a model and of its work, in words."""
    return {
        "encoder": _("encoder"),
        "decoder": _("decoder"),
        "embedding": _("token embedding"),
        "positions": _("position embedding"),
        "segments": _("segment embedding"),
        "self-attention": _("self-attention"),
        "cross-attention": _("cross-attention"),
        "feed-forward": _("feed-forward"),
        "norms": _("norms"),
        "unembedding": _("unembedding"),
        "projections": _("self-attention: W_Q, W_K, W_V, W_O"),
        "scores and mix": _("self-attention: scores and weighted sum"),
        "cross projections": _("cross-attention: W_Q, W_K, W_V, W_O"),
        "cross scores and mix": _("cross-attention: scores and weighted sum"),
    }


def parameters(trace: Trace) -> None:
    """Parameters by part, and what this trace keeps in memory."""
    table = costs.parameter_table(trace.model.module)
    total = int(table["parameters"].sum())
    table["share"] = table["parameters"] / total
    _table(table, _("Parameters by part"))
    n_bytes = sum(p.nbytes for p in trace.model.module.parameters())
    text = _(
        "{total:,} parameters in all, as many as the checkpoint holds: {size:.1f} MB in float32. "
        "The trace of your sentence keeps {trace:.2f} MB."
    )
    text = text.format(total=total, size=n_bytes / 1e6, trace=trace.nbytes / 1e6)
    st.markdown(plain(text))
    if trace.model.config.tie_embeddings:
        st.caption(_("The unembedding is the token embedding used once more; it counts once."))


def work(trace: Trace) -> None:
    """Multiply-adds by part, with formula and curve."""
    config, n = trace.model.config, len(trace.tokens)
    target = None if trace.target_tokens is None else len(trace.target_tokens)
    table = costs.work_table(config, n, target)
    total = int(table["multiply-adds"].sum())
    table.insert(3, "share", table["multiply-adds"] / total)
    text = _("{total:,} multiply-adds for one pass over your sentence.").format(total=total)
    st.markdown(plain(text))
    most = max_tokens(config, Limits.from_environment())
    lengths = sorted({*range(1, most + 1, max(1, most // POINTS)), most})
    alt = _("Multiply-adds by part for texts of 1 to {most} tokens").format(most=most)
    curves = growth_curves(costs.growth(config, lengths), part_names(), n)
    st.plotly_chart(curves, key="growth", config=CHART, alt=alt)
    _table(table, _("Multiply-adds by part"))
    text = _(
        "Scores and weighted sums grow with the square of the length, everything else in "
        "proportion to it: from {n:,} tokens on they cost more than the projections. Counted are "
        "the products of matrices, masked cells too, since they are computed like all others; "
        "norms, softmax and additions are not."
    )
    st.caption(plain(text.format(n=costs.crossover(config))))
    if target is not None:
        st.caption(_("The curves are for a source and a target of the same length."))


def sides(request: Request) -> None:
    """Encoder and decoder on the same input."""
    encoder, decoder = ask(_("Running both …"), compared, request)
    table = pd.DataFrame({_("encoder"): _facts(encoder), _("decoder"): _facts(decoder)})
    st.table(table)  # it wraps, which a dataframe does not
    if not (encoder.is_own and decoder.is_own):
        other = _("decoder") if encoder.is_own else _("encoder")
        text = _(
            "This model has one stack. The column “{other}” is no other model: it is this one's "
            "parameters, really run under the mask of a {other}. It was not trained so."
        )
        st.caption(plain(text.format(other=other)))
    else:
        st.caption(_("The encoder reads your sentence, the decoder what the model has written."))


@RESULTS.kept
def compared(request: Request) -> tuple[Side, Side]:
    """Both sides for a request, computed once."""
    return side_by_side(run(request))


def _facts(side: Side) -> dict[str, str]:
    cells, n = side.n_tokens**2, side.n_tokens
    pairs = _("{open:,} of {all:,}").format(open=side.open_cells, all=cells)
    cross = _("to {n} source tokens").format(n=side.cross_keys) if side.cross_keys else _("none")
    reads = {
        "encoder": _("all tokens in one pass"),
        "decoder": _("one more token at each step; keys and values of the others are kept"),
    }
    return {
        _("tokens"): str(n),
        _("query–key pairs that the mask opens"): pairs,
        _("keys the first token sees"): str(side.first_sees),
        _("keys the last token sees"): str(side.last_sees),
        _("mean entropy of self-attention (bits)"): f"{side.entropy:.3f}",
        _("another last word moves the first token's output by"): f"{side.moved:.4f}",
        _("cross-attention"): cross,
        _("reads"): reads[side.stack],
        _("output"): str(side.output),
    }


def _table(table: pd.DataFrame, alt: str) -> None:
    """Stack, part and their numbers; the share as a bar."""
    names = part_names()
    shown = table.assign(stack=table["stack"].map(names), part=table["part"].map(names))
    number = st.column_config.NumberColumn
    bar = st.column_config.ProgressColumn
    st.dataframe(
        shown,
        hide_index=True,
        column_order=[str(name) for name in shown if name != "stack" or shown[name].nunique() > 1],
        column_config={
            "stack": _("stack"),
            "part": _("part"),
            "parameters": number(_("parameters"), format="localized"),
            "multiply-adds": number(_("multiply-adds"), format="localized"),
            "formula": _("formula"),
            "share": bar(_("share"), format="percent", min_value=0, max_value=1),
        },
        alt=alt,
    )
