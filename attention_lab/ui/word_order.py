"""The words of a sentence in a row, to be put into another order: by dragging, or by arrows."""

from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st

from attention_lab.i18n import _

ASSETS = Path(__file__).resolve().parents[2] / "assets" / "components"
SCRIPT = (ASSETS / "word_order.js").read_text(encoding="utf-8")
STYLE = (ASSETS / "word_order.css").read_text(encoding="utf-8")


def word_order(
    words: Sequence[str],
    order: Sequence[int],
    key: str,
    on_change: Callable[[tuple[int, ...]], None],
) -> None:
    """Show `words` in `order`; `on_change` is called with a new order once the user has made one.

    The words go to the browser as data and are put on the page as text; what comes back is used
    only if it is an order of these words.
    """

    def changed() -> None:
        moved = st.session_state[key].order
        if isinstance(moved, list) and sorted(map(str, moved)) == sorted(map(str, order)):
            on_change(tuple(map(int, moved)))

    show = st.components.v2.component(
        "attention_lab.word_order", html="<ol></ol>", css=STYLE, js=SCRIPT
    )
    data = {
        "words": [{"unit": unit, "text": words[unit]} for unit in order],
        "earlier": _("Move “{word}” to the left"),
        "later": _("Move “{word}” to the right"),
        "drag": _("Drag this word to another place"),
    }
    show(key=key, data=data, on_order_change=changed)
