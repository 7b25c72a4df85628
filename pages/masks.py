"""Masks: who may look at whom? Choose a mask, edit it cell by cell, and see the model run again."""

import streamlit as st

from attention_lab.errors import LabError
from attention_lab.i18n import _
from attention_lab.ui import cells, heads, link, mask_control, mask_tests, mask_views, masks
from attention_lab.ui.markup import plain
from attention_lab.ui.runs import Request, run, write
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
    try:
        target = write(shared.model.name, text) if heads.is_translator(shared.model) else None
    except LabError as error:
        st.error(plain(str(error)))
        return
    views(shared, text, target.ids if target else None)


@st.fragment
def views(shared: Shared, text: str, target_ids: tuple[int, ...] | None) -> None:
    """One view at a time; the mask is chosen here, beside the picture."""
    view = masks.view_switch()
    request = Request(
        shared.model.name,
        text,
        target_ids=target_ids,
        mask=mask_control.chosen(),
        off=shared.off,
        cells=cells.now(shared.model.config),
    )
    try:
        with st.spinner(_("The model reads your sentence …"), show_time=True):
            run(request.baseline)
            run(request)
        DRAW[view](request, shared)
    except LabError as error:
        st.error(plain(str(error)))
        return
    link.write()
    token_notes(run(request))


main()
