"""Translate: how does a sentence come about in another language, word by word?"""

import streamlit as st

from attention_lab.generation import Generation
from attention_lab.i18n import _
from attention_lab.ui import heads, link, translate
from attention_lab.ui.asking import ask, in_words, trace_of
from attention_lab.ui.detail import combine_switch
from attention_lab.ui.markup import plain
from attention_lab.ui.runs import Request, load_model, search, write
from attention_lab.ui.sentence import sentence, token_notes
from attention_lab.ui.sidebar import card
from attention_lab.ui.start import through_app
from attention_lab.zoo import store

MODEL = "translator-en-zh"
CROSS = "decoder.cross"


@in_words
def main() -> None:
    """State → generation and trace → figures → show."""
    through_app()
    link.begin()
    st.title(_("How does a translation come about, word by word?"), anchor=False)
    if not store.is_here(MODEL):
        st.info(_("The translator is not part of this copy of the project; train it first."))
        st.code("python -m attention_lab train translator --corpus FILE", language="bash")
        return
    text = sentence()
    if text is None:
        return
    model = ask(_("Loading the model …"), load_model, MODEL)
    with st.sidebar:
        card(model)
    heads.restore(model)
    translate.restore()
    typed = st.text_input(
        _("Target"),
        key="target",
        live="500ms",
        persist_state="session",
        placeholder=_("Leave this empty to let the model write, or type your own target"),
        label_visibility="collapsed",
    ).strip()
    generation = ask(_("The model writes …"), write, MODEL, text)
    ids = None if typed else generation.ids
    request = Request(MODEL, text, target=typed or None, target_ids=ids)
    trace_of(request)
    link.explain()
    steps(request, generation)


@st.fragment
@in_words
def steps(request: Request, generation: Generation) -> None:
    """The walk through the steps; a change here runs no model, but for a new beam width."""
    model, trace = load_model(MODEL), trace_of(request)
    st.subheader(plain(request.target or generation.text), anchor=False)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        step = translate.step_slider(
            len(trace.target_tokens or ()) if request.target else len(generation.steps)
        )
        if request.target:
            translate.typed_target(trace)
        else:
            translate.written_so_far(model, generation, step)
            translate.candidate_bars(model, generation, step)
    with right:
        names = {
            "attention": _("attention"),
            "alignment": _("alignment"),
            "beam": _("beam search"),
            "masks": _("masks and shapes"),
        }
        view = st.segmented_control(
            _("View"),
            translate.VIEWS,
            required=True,
            key="show",
            persist_state="session",
            format_func=lambda view: names[view],
            label_visibility="collapsed",
            wrap=True,
        )
        if view == "beam":
            width = st.slider(_("Beam width"), 1, 8, key="beam", persist_state="session")
            translate.beam_picture(
                model, ask(_("The model searches …"), search, MODEL, request.text, width)
            )
        elif view == "masks":
            translate.masks_picture(trace, step)
        else:
            is_cross = view == "alignment"
            config = model.config
            place = heads.layer_and_head(config, CROSS) if is_cross else heads.pickers(config)
            combine = combine_switch(translate.COMBINED)
            if is_cross:
                translate.alignment_picture(trace, place, combine)
            else:
                translate.attention_picture(trace, place, combine, step)
    link.write()
    token_notes(trace)


main()
