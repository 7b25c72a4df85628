"""The user's sentence: a box, examples to click, and what the tokenizer makes of it."""

import streamlit as st

from attention_lab.config import Limits
from attention_lab.errors import LabError
from attention_lab.i18n import _
from attention_lab.tokens import check_text
from attention_lab.tracing.trace import Trace
from attention_lab.ui import link
from attention_lab.ui.examples import FIRST, examples
from attention_lab.ui.markup import plain


def sentence() -> str | None:
    """The sentence, or None, with a message, when there is none that can be used."""
    link.restore_text("text", FIRST)
    text = st.text_input(
        _("Your sentence"),
        key="text",
        live="500ms",
        persist_state="session",
        label_visibility="collapsed",
        placeholder=_("Type a sentence in any language"),
    )
    st.pills(
        _("Examples"),
        list(examples()),
        key="example",
        on_change=_use_example,
        label_visibility="collapsed",
    )
    try:
        check_text(text, Limits.from_environment())
    except LabError as error:
        link.write(leave_out=["text"])  # nobody can use such a link, and browsers refuse long ones
        st.error(plain(str(error)))
        return None
    return text


def _use_example() -> None:
    label = st.session_state.get("example")
    if label is not None:
        st.session_state["text"] = examples()[label]
        st.session_state["example"] = None


def token_notes(trace: Trace) -> None:
    """How many tokens the model reads, how many it does not know, and how many were left out."""
    tokens = trace.tokens
    special = sum(token.special for token in tokens)
    text = _("The model reads {n} tokens; {special} of them are special tokens of its own.")
    st.caption(text.format(n=len(tokens), special=special))
    if trace.target_tokens is not None:
        text = _("It has written: {target}")
        st.caption(plain(text.format(target=trace.target_tokens.text or "—")))
    unknown = sum(token.unknown for token in tokens)
    if unknown:
        text = _("{n} tokens are unknown to this model: it sees the same token [UNK] for each.")
        st.caption(plain(text.format(n=unknown)))
    if tokens.left_out:
        text = _("The text is too long for this model here: its last {n} tokens were left out.")
        st.warning(text.format(n=tokens.left_out), icon=":material/content_cut:")
