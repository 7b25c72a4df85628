"""Word and position of the user's sentence: x, PE and x + PE, and how large each is."""

import numpy as np
import streamlit as st

from attention_lab.analysis.embedding import Parts, parts
from attention_lab.figures.bars import bars
from attention_lab.figures.numbered import Titles, numbered
from attention_lab.i18n import _
from attention_lab.tracing.trace import Trace
from attention_lab.ui.heads import CHART
from attention_lab.ui.markup import plain
from attention_lab.ui.rotary import kind_name

SHOWN = 48  # tokens in the pictures
WITHIN = 0.99  # of all numbers lie within the colour scale; a few outliers would hide the rest


def added_view(trace: Trace) -> None:
    """The three tables side by side on one scale, then their lengths."""
    config = trace.model.config
    found = parts(trace, config.stacks[0])
    if trace.position != config.position:
        text = _(
            "{name} adds no positions to the words: its own are {kind}. Shown is what sinusoidal "
            "positions would add; it was not trained with them."
        )
        st.info(plain(text.format(name=trace.model.name, kind=kind_name(config.position))))
    _tables(found)
    _lengths(found)
    if len(found.tokens) > SHOWN:
        text = _("The pictures show the first {shown} of {n} tokens.")
        st.caption(text.format(shown=SHOWN, n=len(found.tokens)))
    notes = []
    if config.embed_scale:
        notes.append(
            _("x is the token's row of the embedding table times √d_model, as in the paper.")
        )
    if config.embed_norm:
        notes.append(_("The model goes on with a norm of the sum (and its segment vector)."))
    if notes:
        st.caption(plain(" ".join(notes)))


def _tables(found: Parts) -> None:
    labels = [token.label for token in found.tokens[:SHOWN]]
    tables = {
        _("x: the words"): found.word[:SHOWN],
        _("PE: their positions"): found.place[:SHOWN],
        _("x + PE: what the first layer reads"): found.total[:SHOWN],
    }
    values = np.abs(np.stack(list(tables.values())))
    bound = float(np.quantile(values, WITHIN)) or 1.0
    height = int(np.clip(150 + 20 * len(labels), 220, 480))
    for number, (column, (name, table)) in enumerate(
        zip(st.columns(3, gap="small"), tables.items(), strict=True)
    ):
        with column:
            st.markdown(f"**{plain(name)}**")
            titles = Titles(_("token"), _("dimension"), _("value"))
            figure = numbered(table, titles, rows=labels, bound=bound, height=height)
            alt = _("{name}, as a heatmap of {n} tokens and {d} dimensions")
            alt = alt.format(name=name, n=len(labels), d=table.shape[1])
            st.plotly_chart(figure, key=f"added_{number}", config=CHART, alt=alt)
    text = _(
        "One scale for all three. A few numbers are much larger than the rest: the {share:.1%} "
        "beyond ±{bound:.3g} have the last colour; hover tells each."
    )
    st.caption(plain(text.format(share=float((values > bound).mean()), bound=bound)))


def _lengths(found: Parts) -> None:
    norms = found.norms
    share = float(np.median(norms["place"] / norms["word"]))
    st.markdown(
        plain(
            _(
                "How large is the position against the word? Half of the tokens have a position "
                "vector of more than {share:.0%} of the length of their word vector."
            ).format(share=share)
        )
    )
    groups = {
        _("length of x"): norms["word"][:SHOWN],
        _("length of PE"): norms["place"][:SHOWN],
        _("length of x + PE"): norms["total"][:SHOWN],
    }
    labels = [token.label for token in found.tokens[:SHOWN]]
    figure = bars(labels, groups, (_("token"), _("length")))
    alt = _("The lengths of the three vectors of each token")
    st.plotly_chart(figure, key="lengths", config=CHART, alt=alt)
