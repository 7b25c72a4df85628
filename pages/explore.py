"""Explore: who looks at whom? All heads of the model on the user's sentence, one of them large."""

from dataclasses import replace

import streamlit as st

from attention_lab.analysis.numbers import output_shift
from attention_lab.i18n import _
from attention_lab.ui import detail, heads, link, words
from attention_lab.ui.asking import in_words, request_of, trace_of
from attention_lab.ui.runs import Request
from attention_lab.ui.sentence import sentence, token_notes
from attention_lab.ui.sidebar import Shared, sidebar
from attention_lab.ui.start import through_app


@in_words
def main() -> None:
    """State → trace → figures → show."""
    through_app()
    link.begin()
    st.title(_("Who looks at whom?"), anchor=False)
    shared = sidebar()
    text = sentence()
    if shared is None or text is None:
        return
    heads.restore(shared.model)
    detail.restore()
    link.explain()
    trained = request_of(shared.model, text)
    request = replace(trained, mask=shared.mask, off=shared.off)
    trace_of(trained)
    trace_of(request)
    heads_and_detail(request, shared)
    words.formula()  # outside: it is the same for every head


@st.fragment
@in_words
def heads_and_detail(request: Request, shared: Shared) -> None:
    """All heads on the left, the chosen one on the right; a change here runs no model."""
    trace, baseline = trace_of(request), trace_of(request.baseline)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        place = heads.pickers(shared.model.config)
        heads.all_heads(trace, place)
        if request.is_changed:
            st.caption(_("The tiles show the model with your changes."))
    with right:
        stage = detail.stage_switch()
        combine, hide = detail.view_switches(stage)
        with st.container(horizontal=True, vertical_alignment="center"):
            words.heading(place, stage, combine)
            view = detail.change_switch() if request.is_changed else "after"
        shown, bound = detail.shown_panel(trace, baseline, place, (stage, combine, hide), view)
        link.write()
        with st.container():  # or a caption more would move the picture: hidden for a moment
            words.conditions(request, view, hide, place)
        detail.large_picture(shown, bound, place, combine)
        with st.container():
            if request.is_changed:
                words.what_moved(output_shift(baseline, trace), shared.model)
        detail.off_switches(place, shared.off)
        detail.numbers(shown, place)
    token_notes(trace)
    words.explanation(stage)


main()
