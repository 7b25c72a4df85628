"""Step by step: how does one number of attention come about?"""

from dataclasses import replace

import streamlit as st

from attention_lab.i18n import _
from attention_lab.ui import heads, link, toy, walkthrough
from attention_lab.ui.asking import in_words, request_of, trace_of
from attention_lab.ui.runs import Request
from attention_lab.ui.sentence import sentence, token_notes
from attention_lab.ui.sidebar import Shared, sidebar
from attention_lab.ui.start import through_app
from attention_lab.walk.inputs import of_trace
from attention_lab.walk.script import captured, deviations, export, script
from attention_lab.walk.stages import walk


@in_words
def main() -> None:
    """State → trace → walk → show."""
    through_app()
    link.begin()
    st.title(_("How does one number of attention come about?"), anchor=False)
    link.restore("with", ("model", "toy"), "model")
    names = {"model": _("the real model"), "toy": _("a toy to calculate by hand")}
    mode = st.segmented_control(
        _("With"),
        ("model", "toy"),
        required=True,
        key="with",
        persist_state="session",
        format_func=lambda mode: names[mode],
        label_visibility="collapsed",
    )
    if mode == "toy":
        toy.toy_mode()
        return
    shared, text = sidebar(), sentence()
    if shared is None or text is None:
        return
    request = replace(request_of(shared.model, text), mask=shared.mask)
    trace_of(request)
    heads.restore(shared.model)
    steps(request, shared)


@st.fragment
@in_words
def steps(request: Request, shared: Shared) -> None:
    """The walk; it reads the trace and runs no model."""
    trace = trace_of(request)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        place = heads.pickers(shared.model.config)
        site = trace[place.site]
        rows = [token.label for token in site.query_tokens]
        keys = [token.label for token in site.key_tokens]
        with st.container(horizontal=True):
            query = walkthrough.token_picker("query", _("Query (looks)"), rows)
            key = walkthrough.token_picker("key", _("Key (of the single score)"), keys)
    inputs = of_trace(trace, place.site)
    stages = walk(inputs, place.head, query, key)
    with right:
        stage = walkthrough.stage_switch(stages)
        st.toggle(_("Show the numbers as tables"), key="tables", persist_state="session")
        walkthrough.pictures(stage, rows, keys, place.head, query, key)
    with left:
        walkthrough.explanation(stage)
        model_numbers = captured(trace, place.site, place.head, query)
        walkthrough.accuracy(deviations(stages, model_numbers), model_numbers, bool(shared.off))
        file = f"walk-{place.site}.npz"
        walkthrough.take_away(
            script(stages, file), lambda: export(inputs, stages, place.head, query, key), file
        )
    link.explain()
    link.write()
    token_notes(trace)


main()
