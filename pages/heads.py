"""Heads: which head does what? Measures, roles, the head for a pair of tokens, how heads differ."""

import streamlit as st

from attention_lab.errors import LabError
from attention_lab.i18n import _
from attention_lab.ui import head_table, head_views, heads, link
from attention_lab.ui.markup import plain
from attention_lab.ui.runs import Request, run, write
from attention_lab.ui.sentence import sentence, token_notes
from attention_lab.ui.sidebar import Shared, sidebar
from attention_lab.ui.start import through_app


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
    try:
        with st.spinner(_("The model reads your sentence …"), show_time=True):
            target = write(shared.model.name, text) if heads.is_translator(shared.model) else None
            ids = target.ids if target else None
            request = Request(shared.model.name, text, None, ids, shared.mask, shared.off)
            run(request)
    except LabError as error:
        st.error(plain(str(error)))
        return
    views(request, shared)


@st.fragment
def views(request: Request, shared: Shared) -> None:
    """One view at a time; a change here runs the model on no new text."""
    trace = run(request)
    with st.container(horizontal=True):
        view = head_views.view_switch()
        part = heads.part_switch(shared.model.config)
    if request.is_changed:
        text = _("The model was run again with your changes; it was not trained with them.")
        st.caption(text)
    try:
        if view == "table":
            head_table.all_heads(request, part)
        elif view == "find":
            head_views.find(trace, part)
        elif view == "flow":
            head_views.flow(trace, part)
        else:
            head_views.how_alike(request, part)
    except LabError as error:
        st.error(plain(str(error)))
    link.write()
    token_notes(trace)


main()
