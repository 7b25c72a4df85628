"""Clinic: what goes wrong when one line is wrong? Classic bugs, live on the user's sentence."""

import streamlit as st

from attention_lab.i18n import _
from attention_lab.ui import clinic, heads, link
from attention_lab.ui.asking import in_words, trace_of
from attention_lab.ui.markup import plain
from attention_lab.ui.runs import Request
from attention_lab.ui.sentence import sentence, token_notes
from attention_lab.ui.sidebar import Shared, sidebar
from attention_lab.ui.start import through_app


@in_words
def main() -> None:
    """State → trace → exhibit → show."""
    through_app()
    link.begin()
    st.title(_("What goes wrong when one line is wrong?"), anchor=False)
    shared = sidebar()
    text = sentence()
    if shared is None or text is None:
        return
    request = Request(shared.model.name, text)
    trace_of(request)
    heads.restore(shared.model)
    clinic.restore(request)
    link.explain()
    exhibit(request, shared)


@st.fragment
@in_words
def exhibit(request: Request, shared: Shared) -> None:
    """One bug, broken and right; another bug or head reads the same trace."""
    chosen, subject, value = clinic.pickers(shared.model, request)
    link.write()
    result = clinic.examine(request, chosen, subject, value)
    clinic.both_ways(chosen, result)
    clinic.more_numbers(result)
    clinic.check_and_cure(chosen, result)
    if shared.mask is not None or shared.off:
        text = _(
            "The clinic runs the model as it was trained: the sidebar's mask and what is switched "
            "off there play no part here."
        )
        st.caption(plain(text))
    clinic.cut(subject)
    token_notes(trace_of(request))


main()
