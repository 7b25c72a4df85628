"""Positions: how does the model know which word comes first?"""

from dataclasses import replace

import streamlit as st

from attention_lab.i18n import _
from attention_lab.ui import added, beyond, heads, link, order, patterns, position_views, rotary
from attention_lab.ui.asking import in_words, request_of, trace_of
from attention_lab.ui.runs import Request
from attention_lab.ui.sentence import sentence, token_notes
from attention_lab.ui.sidebar import Shared, sidebar
from attention_lab.ui.start import through_app


@in_words
def main() -> None:
    """State → traces → figures → show."""
    through_app()
    link.begin()
    st.title(_("How does the model know which word comes first?"), anchor=False)
    shared, text = sidebar(), sentence()
    if shared is None or text is None:
        return
    heads.restore(shared.model)
    for view in (position_views, patterns, rotary, beyond):
        view.restore()
    request = replace(request_of(shared.model, text), mask=shared.mask, off=shared.off)
    order.restore(request)
    views(request, shared)


@st.fragment
@in_words
def views(request: Request, shared: Shared) -> None:
    """One view at a time; each runs the model with the positions it needs."""
    problems = st.container()  # of the link; the controls that read it come later
    view = position_views.view_switch()
    if view == "pattern":
        position_views.pattern(request)
    elif view == "sentence":
        kind = position_views.added(shared.model)
        added.added_view(trace_of(replace(request, position=kind)))
    elif view == "order":
        order.order_view(request)
    else:
        beyond.beyond_view(request)
    with problems:
        link.explain()
    link.write()
    position_views.formula(view)
    token_notes(trace_of(request))


main()
