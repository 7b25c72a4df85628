"""The shape trace of the user's sentence as a table."""

import pandas as pd
import streamlit as st

from attention_lab.analysis.letters import sizes
from attention_lab.analysis.shapes import shape_trace, to_frame
from attention_lab.i18n import _
from attention_lab.tracing.trace import Trace
from attention_lab.ui.asking import ask
from attention_lab.ui.keep import RESULTS
from attention_lab.ui.markup import plain
from attention_lab.ui.runs import Request, load_model, run

SPLIT = """\
x = w_q(x)                               # batch, length, n_heads · d_head
x = x.view(batch, length, n_heads, -1)   # batch, length, n_heads, d_head: the same memory
q = x.transpose(1, 2)                    # batch, n_heads, length, d_head: heads in front
...
z = z.transpose(1, 2).flatten(-2)        # back: batch, length, n_heads · d_head
"""


def shape_table(trace: Trace, request: Request) -> None:
    """Every module that ran, in order; for calm only the first layer, or all of them."""
    st.subheader(_("Every module that ran on your sentence, in order"), anchor=False)
    table = ask(_("Noting the shape of everything …"), frame, request)
    n_layers = trace.model.config.n_layers
    label = _("All {n} layers").format(n=n_layers)
    every = n_layers == 1 or st.toggle(label, key="layers", persist_state="session")
    shown = table if every else table[_is_first(table)]
    number, words = st.column_config.NumberColumn, st.column_config.TextColumn
    numbers = {
        "mean": _("mean"),
        "std": _("standard deviation"),
        "smallest": _("smallest"),
        "largest": _("largest"),
    }
    st.dataframe(
        shown,
        hide_index=True,
        height=460,
        column_order=[str(name) for name in shown if name != "kind"],
        column_config={
            "module": words(_("module"), pinned=True, width=212),
            "operation": words(_("operation"), width=140),
            "input letters": words(_("input"), width=160),
            "input": words(_("in numbers"), width=98),
            "output letters": words(_("output"), width=200),
            "output": words(_("in numbers"), width=98),
            "parameters": number(_("parameters"), format="localized", width=90),
            **{name: number(label, format="%.4g") for name, label in numbers.items()},
            "non-finite": number(_("not finite"), format="localized"),
        },
        alt=_("Every module that ran, with its shapes"),
    )
    if not every:
        text = _("Layers 1 to {last} have the same shapes as layer 0, and other numbers.")
        st.caption(text.format(last=n_layers - 1))
    _explain(trace, table)
    st.download_button(
        _("Download as CSV"),
        lambda: table.to_csv(index=False),
        file_name=f"shapes-{trace.model.name}.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
    )


@RESULTS.kept
def frame(request: Request) -> pd.DataFrame:
    """The shape trace of a request, computed once. Never changed by those who share it."""
    trace = run(request)
    target = None if trace.target_tokens is None else trace.target_tokens.ids
    return to_frame(shape_trace(load_model(request.model), trace.tokens.ids, target))


def _is_first(table: pd.DataFrame) -> "pd.Series[bool]":
    """The rows outside of layers, and those of layer 0."""
    layer = table["module"].str.extract(r"\.layers\.(\d+)", expand=False)
    return layer.isna() | (layer == "0")


def _explain(trace: Trace, table: pd.DataFrame) -> None:
    target = None if trace.target_tokens is None else len(trace.target_tokens)
    numbers = sizes(trace.model.config, len(trace.tokens), target)
    shown = ", ".join(f"{letter} {number:,}" for letter, number in numbers.items() if number)
    st.caption(plain(_("Letters: {letters}.").format(letters=shown)))
    text = _(
        "{n} rows, {parameters:,} parameters in all; each counts where it is used first. The rows "
        "without parameters are points where the model can be watched, dropouts (off), and the "
        "views and transposes that split and merge the heads: they move no number."
    )
    st.caption(plain(text.format(n=len(table), parameters=int(table["parameters"].sum()))))
    with st.expander(_("Splitting and merging heads in PyTorch"), icon=":material/function:"):
        st.code(SPLIT, language="python")
