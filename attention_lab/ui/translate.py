"""The parts of the Translate page: how the target comes about, step by step."""

from typing import Literal, get_args

import numpy as np
import pandas as pd
import streamlit as st

from attention_lab.analysis.numbers import token_ranks
from attention_lab.analysis.panel import Combine, Panel, panel
from attention_lab.beam import PENALTY, Beam
from attention_lab.figures import alignment, beam_tree, candidates, draw
from attention_lab.figures.alignment import hidden_share
from attention_lab.generation import Generation
from attention_lab.i18n import _
from attention_lab.tokens import name_of
from attention_lab.tracing.trace import Trace
from attention_lab.ui import link
from attention_lab.ui.heads import CHART, Place, part_name
from attention_lab.ui.markup import plain
from attention_lab.zoo.loaded import Model

View = Literal["attention", "alignment", "beam", "masks"]
VIEWS: tuple[View, ...] = get_args(View)
COMBINED: tuple[Combine, ...] = ("none", "mean_heads", "max_heads")
WIDTHS = range(1, 9)


def restore() -> None:
    """The state of the page from the link."""
    link.restore("show", VIEWS, "attention")
    link.restore("beam", WIDTHS, 4)
    link.restore("combine", COMBINED, "mean_heads")
    link.restore("threshold", range(0, 101), 10)
    link.restore_text("target", "")


def step_slider(n_steps: int) -> int:
    """Which decoding step is looked at, from 1; n_steps is at least 1."""
    step = link.restore("step", range(1, n_steps + 1), min(2, n_steps))
    if n_steps == 1:
        return int(step)
    return int(st.slider(_("Decoding step"), 1, n_steps, key="step", persist_state="session"))


def written_so_far(model: Model, generation: Generation, step: int) -> None:
    """The target up to this step, the token being chosen, and whether it ended by itself."""
    tokenizer = model.target_tokenizer or model.tokenizer
    done = tokenizer.decode(list(generation.ids[: step - 1]), skip_special_tokens=False)
    chosen = name_of(tokenizer, generation.steps[step - 1].id)
    text = _("Written so far: {done} · now chosen: {chosen}")
    st.caption(plain(text.format(done=done or "—", chosen=chosen)))
    if not generation.finished:
        st.warning(_("The translation was cut off at its longest length; it had not ended."))


def candidate_bars(model: Model, generation: Generation, step: int) -> None:
    """The candidates at this step with their probabilities, and what is left."""
    tokenizer = model.target_tokenizer or model.tokenizer
    chosen = generation.steps[step - 1]
    names = [name_of(tokenizer, id) for id, _value in chosen.candidates]
    alt = _("The ten likeliest tokens at step {step} with their probabilities")
    st.plotly_chart(
        candidates(chosen, names), key="candidates", config=CHART, alt=alt.format(step=step)
    )


def attention_picture(trace: Trace, place: Place, combine: Combine, step: int) -> None:
    """The chosen site's weights for what is written so far; the last row is the one that writes."""
    shown = first(panel(trace, place.site, place.head, "weights", combine), place, step)
    alt = _("{part}, layer {layer}: attention weights as a heatmap")
    alt = alt.format(part=part_name(place.part), layer=place.layer)
    st.plotly_chart(draw(shown), key="attention", config=CHART, alt=alt)
    notes = {
        "encoder.self": _("The encoder reads the whole source at once: each row sees each column."),
        "decoder.self": _(
            "The decoder sees only what it has written: grey is the future. Its last row decides "
            "the token of this step."
        ),
        "decoder.cross": _(
            "Each written token looks at the source. The last row decides the token of this step."
        ),
    }
    st.caption(notes[place.part])


def first(shown: Panel, place: Place, step: int) -> Panel:
    """What the decoder has read at this step: the start token and the tokens before it."""
    if place.part == "encoder.self":
        return shown
    return shown.first(step, step if place.part == "decoder.self" else None)


def alignment_picture(trace: Trace, place: Place, combine: Combine) -> None:
    """Source and target joined by cross-attention; each target token by the row that wrote it."""
    site = f"decoder.{place.layer}.cross"
    shown = panel(trace, site, place.head, "weights", combine)
    target = (trace.target_tokens or ())[1:]
    weights = np.nan_to_num(
        shown.values[: len(target)]
    )  # row i has read i tokens and writes the next
    percent = st.slider(
        _("Hide weights below (percent)"), 0, 100, key="threshold", persist_state="session"
    )
    figure = alignment(weights, trace.tokens, target, percent / 100)
    alt = _("Source tokens above, target tokens below, joined by cross-attention weights")
    st.plotly_chart(figure, key="alignment", config=CHART, alt=alt)
    text = _(
        "Layer {layer}. Thickness is the weight with which the decoder looked at a source token "
        "when it wrote the target token. Hidden below the threshold: {share:.1%} of all attention."
    )
    share = hidden_share(weights, percent / 100)
    st.caption(plain(text.format(layer=place.layer, share=share)))


def beam_picture(model: Model, beam: Beam) -> None:
    """The tree of hypotheses."""
    tokenizer = model.target_tokenizer or model.tokenizer
    names = [name_of(tokenizer, node.id) for node in beam.nodes]
    alt = _("Beam search as a tree: steps from left to right, the winner accented")
    st.plotly_chart(beam_tree(beam, names, PENALTY), key="beam_tree", config=CHART, alt=alt)
    text = _(
        "Score = log-probability / ((5 + length) / 6)^{penalty}. The winner scores {score:.3f}: "
        "{text}. Dropped hypotheses were looked at and not among the best."
    )
    st.caption(plain(text.format(penalty=PENALTY, score=beam.score, text=beam.best.text)))


def masks_picture(trace: Trace, step: int) -> None:
    """The masks of the three kinds of attention, with their shapes at this step."""
    n, m = len(trace.tokens), step
    columns = st.columns(3)
    for column, part in zip(
        columns, ("encoder.self", "decoder.self", "decoder.cross"), strict=True
    ):
        place = Place(part, 0, 0)
        shown = first(panel(trace, place.site, 0, "mask"), place, step)
        rows, keys = (n if part.startswith("encoder") else m), (m if part == "decoder.self" else n)
        with column:
            st.markdown(f"**{part_name(part)}**")
            shape = _("mask ({rows}, {keys}): {queries} queries, {keys} keys")
            st.caption(shape.format(rows=rows, keys=keys, queries=rows))
            alt = _("Mask of {part}").format(part=part_name(part))
            st.plotly_chart(draw(shown), key=f"mask_{part}", config=CHART, alt=alt, height=380)
    config = trace.model.config
    rows_of_table = [
        (_("source ids"), "(1, source)", f"(1, {n})"),
        (_("encoder output"), "(1, source, d_model)", f"(1, {n}, {config.d_model})"),
        (_("target so far"), "(1, target)", f"(1, {m})"),
        (_("decoder output"), "(1, target, d_model)", f"(1, {m}, {config.d_model})"),
        (
            _("cross-attention scores"),
            "(1, head, target, source)",
            f"(1, {config.n_heads}, {m}, {n})",
        ),
        (_("logits"), "(1, target, d_vocab)", f"(1, {m}, {config.d_logits})"),
    ]
    table = pd.DataFrame(rows_of_table, columns=[_("tensor"), _("shape"), _("on your sentence")])
    st.dataframe(table, hide_index=True, alt=_("Shapes of this step"))


def typed_target(trace: Trace) -> None:
    """For a target that the user typed: each token's probability and rank for this model."""
    target = (trace.target_tokens or ())[1:]
    eos = trace.model.card.eos_id
    ids = [token.id for token in target] + ([eos] if eos is not None else [])
    table = token_ranks(trace, ids)
    labels = [token.label for token in target] + ([_("(end)")] if eos is not None else [])
    table.insert(0, _("token"), labels)
    st.dataframe(table, hide_index=True, alt=_("Log-probability and rank of each target token"))
    total = _("The whole target has log-probability {total:.3f}. Rank 1 is the model's own choice.")
    st.caption(plain(total.format(total=table["log-probability"].sum())))
