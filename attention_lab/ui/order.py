"""Order matters: the sentence and a reordering of it, with the model's positions on and off."""

import random
from dataclasses import replace

import numpy as np
import streamlit as st

from attention_lab.analysis.order import (
    Comparison,
    Order,
    check_order,
    compare,
    moved_places,
    order_between,
    output,
    words,
)
from attention_lab.analysis.panel import Panel, panel
from attention_lab.errors import InputError
from attention_lab.figures.heatmap import draw
from attention_lab.i18n import _
from attention_lab.tokens import Tokens
from attention_lab.tracing.record import read_text
from attention_lab.tracing.trace import Trace
from attention_lab.ui import heads, link
from attention_lab.ui.asking import trace_of
from attention_lab.ui.examples import REORDERED
from attention_lab.ui.heads import CHART, Place
from attention_lab.ui.markup import plain
from attention_lab.ui.runs import Request
from attention_lab.ui.word_order import word_order

ROUNDING = 1e-5  # of the largest output number: more than float32 loses on the way
_ORDERED = "_order_of"  # session state: the sentence and model whose order is chosen


def restore(request: Request) -> None:
    """The reordering from the link, or a prepared one, or the words from last to first."""
    tokens = trace_of(request).tokens
    n = len(words(tokens))
    default = _default(request, tokens)
    link.restore_text("order", _written(default))
    link.restore("positions", (True, False), True)
    asked, before = st.session_state["order"], st.session_state.get(_ORDERED)
    st.session_state[_ORDERED] = (request.model, request.text)
    if before not in (None, (request.model, request.text)):
        asked = _written(default)  # of another sentence
    try:
        order = check_order(_read(asked), n)
    except InputError as error:
        link.complain(str(error))
        order = default
    st.session_state["order"] = _written(order)


def _default(request: Request, tokens: Tokens) -> Order:
    other = REORDERED.get(request.text)
    found = None
    if other is not None:
        found = order_between(tokens, read_text(trace_of(request).model, other))
    return found or tuple(reversed(range(len(words(tokens)))))


def _written(order: Order) -> str:
    return ",".join(map(str, order))


def _read(text: str) -> list[int]:
    """The numbers of a link; what is none becomes -1, which no order has."""
    return [
        int(part) if part.isascii() and part.isdecimal() and len(part) < 6 else -1
        for part in text.split(",")
    ]


def order_view(request: Request) -> None:
    """The words to move, the two differences, and the attention of both."""
    order = tuple(_read(st.session_state["order"]))
    tokens = trace_of(request).tokens
    _words_to_move(tokens, order)
    places = moved_places(tokens, order)
    on, off = request, replace(request, position="none")
    part = heads.parts(trace_of(request).model.config)[0]
    columns = st.columns(3, gap="medium")
    with columns[0]:
        is_on = st.toggle(_("Positions on"), key="positions", persist_state="session")
        place = heads.layer_and_head(trace_of(request).model.config, part)
    found = {
        shown: (trace_of(asked), trace_of(replace(asked, order=places)))
        for shown, asked in ((True, on), (False, off))
    }
    compared = {shown: compare(*two, places, place.site) for shown, two in found.items()}
    with columns[1]:
        _difference_on(compared[True])
    with columns[2]:
        _difference_off(found[False][0], compared[False], place, request)
    _unknown(tokens)
    _both(*found[is_on], compared[is_on], places, place)


def _words_to_move(tokens: Tokens, order: Order) -> None:
    spans = [(tokens[unit[0]].start, tokens[unit[-1]].end) for unit in words(tokens)]
    units = [tokens.text[start:end].strip() or "␣" for start, end in spans]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(_("The same words in another order. Drag a word, or use its arrows."))
        shuffled = tuple(random.sample(order, len(order)))
        choices = {
            ("undo", _("As typed")): tuple(range(len(units))),
            ("swap_horiz", _("Reverse")): tuple(reversed(order)),
            ("shuffle", _("Shuffle")): shuffled,
        }
        for (icon, label), choice in choices.items():
            st.button(label, icon=f":material/{icon}:", on_click=_set, args=(choice,))
    word_order(units, order, "words", _set)


def _set(order: Order) -> None:
    st.session_state["order"] = _written(order)


def _difference_on(compared: Comparison) -> None:
    name = _("Largest difference, positions on")
    st.metric(name, f"{compared.largest:.3g}", help=_difference_words())
    st.caption(_("The model as it was trained: another order is another sentence."))


def _difference_words() -> str:
    return _("Of all numbers that the model puts out for a word, in one order and in the other.")


def _difference_off(text: Trace, compared: Comparison, place: Place, request: Request) -> None:
    """The number, and what it means for this model and mask."""
    stack = place.part.split(".")[0]
    size = float(np.abs(output(text, stack)).max())
    name = _("Largest difference, positions off")
    st.metric(name, f"{compared.largest:.1e}", help=_difference_words())
    if compared.largest <= ROUNDING * size:
        words = _(
            "Each token gets the same output, only at another place. What is left is rounding (the "
            "largest output number is {size:.3g})."
        ).format(size=size)
    elif stack == "decoder" and request.mask is None:
        words = _(
            "The causal mask still knows order: who stands earlier sees less. Choose the mask "
            "“none” in the sidebar, and the difference is rounding alone."
        )
    else:
        words = _("The mask in the sidebar still treats places differently.")
    st.caption(plain(words))


def _unknown(tokens: Tokens) -> None:
    unknown = sum(token.unknown for token in tokens)
    if unknown > 1:
        text = _(
            "{n} tokens are unknown to this model, which sees the same [UNK] for each: to exchange "
            "them changes nothing. smollm2 reads all scripts."
        )
        st.warning(plain(text.format(n=unknown)), icon=":material/help:")


def _both(text: Trace, reordered: Trace, compared: Comparison, order: Order, place: Place) -> None:
    """Attention of the sentence, of its reordering, and what differs word by word."""
    own = panel(text, place.site, place.head)
    tokens = tuple(text.tokens[i] for i in order)
    other = replace(panel(reordered, place.site, place.head), rows=tokens, columns=tokens)
    change = Panel(
        "weights", compared.weights[place.head], None, tokens, tokens, is_difference=True
    )
    titles = {
        "sentence": (_("As typed"), own),
        "reordered": (_("Reordered"), other),
        "change": (_("What changed for each pair of words"), change),
    }
    for column, (key, (title, shown)) in zip(
        st.columns(3, gap="small"), titles.items(), strict=True
    ):
        with column:
            st.markdown(f"**{plain(title)}**")
            alt = _("{title}: attention weights of layer {layer}, head {head}")
            alt = alt.format(title=title, layer=place.layer, head=place.head)
            figure = draw(shown, bound=1.0, is_small=True)
            st.plotly_chart(figure, key=f"order_{key}", config=CHART, alt=alt)
    st.caption(
        _(
            "On the right: the weight between two words in the reordered sentence minus that "
            "between the same two as typed. White is no change."
        )
    )
