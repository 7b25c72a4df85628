"""Masks: who may look at whom? Choose a mask, edit it cell by cell, and see the model run again."""

from dataclasses import replace

import streamlit as st

from attention_lab.i18n import _
from attention_lab.ui import cells, link, mask_control, mask_tests, mask_views, masks
from attention_lab.ui.asking import in_words, request_of, trace_of
from attention_lab.ui.runs import Request
from attention_lab.ui.sentence import sentence, token_notes
from attention_lab.ui.sidebar import Shared, sidebar
from attention_lab.ui.start import through_app

DRAW = {
    "edit": masks.edit,
    "padding": mask_views.padding,
    "conventions": mask_views.conventions,
    "closed": mask_tests.closed_row,
    "leak": mask_tests.leak_test,
    "cost": mask_tests.cost,
}


@in_words
def main() -> None:
    """State → trace → figures → show."""
    through_app()
    link.begin()
    st.title(_("Who may look at whom?"), anchor=False)
    shared, text = sidebar(mask=False), sentence()
    if shared is None or text is None:
        return
    masks.restore(shared)
    mask_views.restore()
    link.explain()
    trained = request_of(shared.model, text)
    trace_of(trained)
    views(trained, shared)


@st.fragment
@in_words
def views(trained: Request, shared: Shared) -> None:
    """One view at a time; the mask is chosen here, beside the picture."""
    view = masks.view_switch()
    turned = cells.now(shared.model.config)
    request = replace(trained, mask=mask_control.chosen(), off=shared.off, cells=turned)
    trace = trace_of(request)
    DRAW[view](request, shared)
    link.write()
    token_notes(trace)


main()
