"""Architecture: what is the model made of, and what shape is everything?"""

import streamlit as st

from attention_lab.i18n import _
from attention_lab.ui import architecture, link
from attention_lab.ui.asking import in_words, request_of, trace_of
from attention_lab.ui.runs import Request
from attention_lab.ui.sentence import sentence, token_notes
from attention_lab.ui.shape_table import shape_table
from attention_lab.ui.sidebar import sidebar
from attention_lab.ui.start import through_app


@in_words
def main() -> None:
    """State → trace → blocks, totals and shapes → show."""
    through_app()
    link.begin()
    st.title(_("What is the model made of, and what shape is everything?"), anchor=False)
    shared, text = sidebar(), sentence()
    if shared is None or text is None:
        return
    architecture.restore()
    link.explain()
    request = request_of(shared.model, text)
    trace_of(request)
    if shared.mask is not None or shared.off:
        st.caption(_("Shown is the model as it was trained; the sidebar's changes move no shape."))
    show(request)


@st.fragment
@in_words
def show(request: Request) -> None:
    """The drawing with the totals beside it, the shape trace under them."""
    trace = trace_of(request)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        architecture.drawing(trace)
    with right:
        view = architecture.view_switch()
        if view == "parameters":
            architecture.parameters(trace)
        elif view == "work":
            architecture.work(trace)
        else:
            architecture.sides(request)
    shape_table(trace, request)
    link.write()
    token_notes(trace)


main()
