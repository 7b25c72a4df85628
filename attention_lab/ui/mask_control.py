"""The choice of a mask: one control for all pages, in the sidebar or beside the picture."""

import streamlit as st

from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.model import masks
from attention_lab.ui import link
from attention_lab.ui.markup import plain

MOST_WIDTH = 512
MOST_APART = 64
# Each preset, and the keys of the numbers that belong to it.
PARAMETERS: dict[str, tuple[str, ...]] = {
    "own": (),
    "none": (),
    "causal": (),
    "padding": (),
    "causal+padding": (),
    "window": ("width",),
    "causal+window": ("width",),
    "dilated": ("width", "apart"),
    "prefix": ("prefix",),
    "blocks": ("blocks",),
    "global": ("globals",),
    "window|global": ("width", "globals"),
}
MASKS = tuple(PARAMETERS)
BLOCKS, GLOBALS = "4,4", "0"


def restore() -> None:
    """The choice from the link."""
    link.restore("mask", MASKS, "own")
    link.restore("width", range(MOST_WIDTH + 1), 4)
    link.restore("apart", range(1, MOST_APART + 1), 2)
    link.restore("prefix", range(MOST_WIDTH + 1), 4)
    link.restore_checked("blocks", lambda text: _is_list("blocks", text), BLOCKS)
    link.restore_checked("globals", lambda text: _is_list("global", text), GLOBALS)


def chosen() -> str | None:
    """The name of the mask that is chosen now; None for the model's own."""
    state = st.session_state
    mask = str(state.get("mask", "own"))
    if mask == "own":
        return None
    numbers = {
        "window": f"window:{state.get('width', 4)}",
        "dilated": f"dilated:{state.get('width', 4)}:{state.get('apart', 2)}",
        "prefix": f"prefix:{state.get('prefix', 4)}",
        "blocks": f"blocks:{_typed('blocks', BLOCKS)}",
        "global": f"global:{_typed('globals', GLOBALS)}",
    }
    joint = "|" if "|" in mask else "+"
    return joint.join(numbers.get(part, part) for part in mask.split(joint))


def mask_control() -> None:
    """Draw the control and what belongs to the chosen mask; `restore` comes before it."""
    names = {
        "own": _("the model's own"),
        "none": _("none"),
        "causal": _("causal"),
        "padding": _("padding"),
        "causal+padding": _("causal and padding"),
        "window": _("window of k"),
        "causal+window": _("causal, window of k"),
        "dilated": _("dilated window"),
        "prefix": _("prefix, then causal"),
        "blocks": _("packed sentences"),
        "global": _("global tokens"),
        "window|global": _("window and global tokens"),
    }
    mask = st.selectbox(
        _("Mask"),
        MASKS,
        key="mask",
        persist_state="session",
        format_func=lambda name: names[name],
        help=_("Who may look at whom. Each choice runs the model again on your sentence."),
    )
    if keys := PARAMETERS[mask]:
        with st.container(horizontal=True):
            for key in keys:
                _parameter(key, mask)


def meaning() -> str:
    """The chosen mask in one sentence, with where it comes from."""
    sentences = {
        "own": _(
            "The mask the model was trained with: an encoder sees everything, a decoder only what "
            "came before."
        ),
        "none": _("Everybody sees everybody, as in BERT."),
        "causal": _(
            "Nobody sees what comes later, as in GPT and in the decoder of “Attention Is All You "
            "Need”."
        ),
        "padding": _("Nobody sees padding, with which shorter sentences of a batch are filled up."),
        "causal+padding": _("Nobody sees what comes later, and nobody sees padding."),
        "window": _("Each token sees its neighbours up to k away (Longformer)."),
        "causal+window": _("Each token sees itself and the k tokens before it (Mistral 7B)."),
        "dilated": _(
            "Each token sees some keys on both sides, with gaps between them, and so reaches "
            "farther (Longformer)."
        ),
        "prefix": _(
            "The first tokens are seen by all; after them nobody sees what comes later (prefix "
            "language models, T5)."
        ),
        "blocks": _(
            "Several sentences packed into one text: each sees only itself. What is left over is "
            "one more."
        ),
        "global": _("Only these tokens see everything and are seen by all; nothing else is open."),
        "window|global": _(
            "Each token sees its neighbours up to k away; some see everything and are seen by all "
            "(Longformer)."
        ),
    }
    return sentences[str(st.session_state.get("mask", "own"))]


def _parameter(key: str, mask: str) -> None:
    dilated = mask == "dilated"
    numbers = {
        "width": (
            _("Keys seen on each side") if dilated else _("k: the largest distance that is seen"),
            (0, MOST_WIDTH),
        ),
        "apart": (_("Distance from one of them to the next"), (1, MOST_APART)),
        "prefix": (_("So many first tokens are seen by all"), (0, MOST_WIDTH)),
    }
    if key in numbers:
        label, (least, most) = numbers[key]
        st.number_input(label, least, most, step=1, key=key, persist_state="session")
        return
    kind, label, default = (
        ("blocks", _("Lengths of the sentences, such as 4,4"), BLOCKS)
        if key == "blocks"
        else ("global", _("Global tokens, such as 0,7"), GLOBALS)
    )
    typed = st.text_input(label, key=key, persist_state="session", max_chars=200)
    if not _is_list(kind, typed):
        text = _("These are no whole numbers with commas between them; {default} is used.")
        st.error(plain(text.format(default=default)))


def _typed(key: str, default: str) -> str:
    """What is typed, without spaces; the default where it is no list of numbers."""
    text = str(st.session_state.get(key, default))
    return _numbers(text if _is_list("blocks" if key == "blocks" else "global", text) else default)


def _numbers(text: str) -> str:
    """A list of numbers without spaces, also of one with Chinese commas."""
    return "".join(text.split()).replace("，", ",")


def _is_list(kind: str, text: str) -> bool:
    numbers = _numbers(text)
    try:
        masks.check_name(f"{kind}:{numbers}")
    except InputError:
        return False
    return not set(numbers) & set("+|^")
