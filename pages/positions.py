"""Positions: how does the model know which word comes first?"""

from dataclasses import replace

import streamlit as st

from attention_lab.errors import LabError
from attention_lab.i18n import _
from attention_lab.ui import added, beyond, heads, link, order, patterns, position_views, rotary
from attention_lab.ui.markup import plain
from attention_lab.ui.runs import Request, run, write
from attention_lab.ui.sentence import sentence, token_notes
from attention_lab.ui.sidebar import Shared, sidebar
from attention_lab.ui.start import through_app


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
    try:
        with st.spinner(_("The model reads your sentence …"), show_time=True):
            target = write(shared.model.name, text) if heads.is_translator(shared.model) else None
            ids = target.ids if target else None
            request = Request(shared.model.name, text, None, ids, shared.mask, shared.off)
            order.restore(request)
    except LabError as error:
        st.error(plain(str(error)))
        return
    link.explain()
    views(request, shared)


@st.fragment
def views(request: Request, shared: Shared) -> None:
    """One view at a time; each runs the model with the positions it needs."""
    view = position_views.view_switch()
    try:
        with st.spinner(_("The model runs with these positions …"), show_time=True):
            if view == "pattern":
                position_views.pattern(request)
            elif view == "sentence":
                added.added_view(run(replace(request, position=position_views.added(shared.model))))
            elif view == "order":
                order.order_view(request)
            else:
                beyond.beyond_view(request)
    except LabError as error:
        st.error(plain(str(error)))
    position_views.formula(view)
    link.write()
    token_notes(run(request))


main()
