"""Heads: which head does what? Measures, roles, the head for a pair of tokens, how heads differ."""

from dataclasses import replace

import streamlit as st

from attention_lab.i18n import _
from attention_lab.ui import head_table, head_views, heads, link
from attention_lab.ui.asking import in_words, request_of, trace_of
from attention_lab.ui.runs import Request
from attention_lab.ui.sentence import sentence, token_notes
from attention_lab.ui.sidebar import Shared, sidebar
from attention_lab.ui.start import through_app


@in_words
def main() -> None:
    """State → trace → measures → show."""
    through_app()
    link.begin()
    st.title(_("Which head does what?"), anchor=False)
    shared, text = sidebar(), sentence()
    if shared is None or text is None:
        return
    kinds = heads.parts(shared.model.config)
    link.restore("part", kinds, kinds[-1])
    head_table.restore()
    head_views.restore()
    link.explain()
    request = replace(request_of(shared.model, text), mask=shared.mask, off=shared.off)
    trace_of(request)
    views(request, shared)


@st.fragment
@in_words
def views(request: Request, shared: Shared) -> None:
    """One view at a time; a change here runs the model on no new text."""
    trace = trace_of(request)
    with st.container(horizontal=True):
        view = head_views.view_switch()
        part = heads.part_switch(shared.model.config)
    if request.is_changed:
        text = _("The model was run again with your changes; it was not trained with them.")
        st.caption(text)
    if view == "table":
        head_table.all_heads(request, part)
    elif view == "find":
        head_views.find(trace, part)
    elif view == "flow":
        head_views.flow(trace, part)
    else:
        head_views.how_alike(request, part)
    link.write()
    token_notes(trace)


main()
