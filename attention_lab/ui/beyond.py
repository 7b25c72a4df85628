"""Longer than trained: the same sentence, standing further and further along."""

from dataclasses import replace

import numpy as np
import streamlit as st

from attention_lab.analysis import positions as numbers
from attention_lab.analysis import rotary
from attention_lab.analysis.numbers import cosines
from attention_lab.analysis.order import output
from attention_lab.config import ModelConfig
from attention_lab.errors import InputError
from attention_lab.figures.bars import bars
from attention_lab.figures.curves import curves
from attention_lab.i18n import _
from attention_lab.tracing.trace import Trace
from attention_lab.ui import link
from attention_lab.ui.asking import trace_of
from attention_lab.ui.heads import CHART
from attention_lab.ui.markup import plain
from attention_lab.ui.rotary import kind_name
from attention_lab.ui.runs import Request

STARTS = (0, 10, 50, 100, 200, 300, 400, 500, 600, 800, 1000)
FAR = (*STARTS, 2000, 5000, 10_000, 20_000, 50_000, 100_000)


def restore() -> None:
    """The state of this view from the link."""
    link.restore("start", FAR, 600)


def beyond_view(request: Request) -> None:
    """The sentence at a chosen start on the left, at all starts on the right."""
    trace = trace_of(request)
    config = trace.model.config
    left, right = st.columns([2, 3], gap="medium")
    with left:
        start = st.select_slider(
            _("Position of the first token"), FAR, key="start", persist_state="session"
        )
        try:
            moved = trace_of(replace(request, start=int(start)))
        except InputError as error:
            st.error(plain(str(error)))
        else:
            _moved(trace, moved, int(start))
        st.markdown(plain(_words(config)))
    with right:
        _over_starts(request, trace)
        _turns(config)


def _words(config: ModelConfig) -> str:
    """What each kind does past its length, in two sentences."""
    words = {
        "learned": _(
            "Learned positions end: {n} rows were trained, and there is no row for the next token. "
            "Nothing can be computed there, so the text has to be cut or the model trained again."
        ),
        "sinusoidal": _(
            "The formula gives a vector for any position, and no two are alike. But the layers "
            "were trained on those of the first few dozen positions only: further along they read "
            "vectors that they have never seen, and the output changes."
        ),
        "rotary": _(
            "Scores depend on distance, so the sentence may stand anywhere: what is left is "
            "rounding. What is new past the trained length of {n} tokens are distances beyond it: "
            "the slow pairs then reach angles that they never had in training."
        ),
        "alibi": _("ALiBi knows distances only, so the sentence may stand anywhere."),
        "none": _("Without positions a sentence stands nowhere, and so anywhere."),
    }
    return words[config.position].format(n=config.max_positions)


def _moved(trace: Trace, moved: Trace, start: int) -> None:
    stack = trace.model.config.stacks[0]
    before, after = output(trace, stack), output(moved, stack)
    text = _(
        "Started at {start} instead of 0, an output number moves by at most {largest:.2g}; the "
        "smallest cosine similarity of a token's output is {cosine:.4f} (1 = unmoved)."
    )
    largest = float(np.abs(after - before).max())
    cosine = float(cosines(before, after).min())
    st.info(plain(text.format(start=start, largest=largest, cosine=cosine)))


def _over_starts(request: Request, trace: Trace) -> None:
    """How the output moves with the start; learned positions end where their table does."""
    stack = trace.model.config.stacks[0]
    values = []
    for start in STARTS:
        try:
            moved = trace_of(replace(request, start=start))
        except InputError:
            break  # the table of learned positions has ended
        values.append(float(cosines(output(trace, stack), output(moved, stack)).min()))
    config = trace.model.config
    marks = {}
    if config.position == "learned":
        marks = {_("here the table ends"): float(config.max_positions - len(trace.tokens))}
    st.markdown(
        "**" + plain(_("The same sentence, standing further along: is its output the same?")) + "**"
    )
    figure = curves(
        np.array(STARTS[: len(values)]),
        {kind_name(config.position): np.array(values)},
        (_("position of the first token"), _("smallest cosine similarity to start 0")),
        marks=marks,
        dots=True,
        y_range=(min(0.0, *values) - 0.05, 1.05),
    )
    alt = _("The smallest cosine similarity of an output over the position of the first token")
    st.plotly_chart(figure, key="starts", config=CHART, alt=alt)


def _turns(config: ModelConfig) -> None:
    """How many turns each pair makes within the length that the model was made for."""
    if config.position not in ("rotary", "sinusoidal"):
        return
    is_rotary = config.position == "rotary"
    waves = rotary.wavelengths(config) if is_rotary else numbers.wavelengths(config.d_model)
    turns = config.max_positions / waves
    text = _(
        "Within {n:,} positions {slow} of {all} pairs do not turn once: further along they reach "
        "angles that are new to the model."
    )
    values = {"n": config.max_positions, "slow": int((turns < 1).sum()), "all": len(waves)}
    st.markdown(plain(text.format(**values)))
    figure = bars(
        [str(i) for i in range(len(waves))],
        {_("turns"): turns},
        (_("pair of dimensions"), _("turns within the length")),
        logarithmic=True,
        height=260,
    )
    alt = _("How often each pair of dimensions turns within the length of the model")
    st.plotly_chart(figure, key="turns", config=CHART, alt=alt)
