"""Toy mode: x and the four matrices are tables to edit, and every edit recomputes everything."""

import numpy as np
import pandas as pd
import streamlit as st

from attention_lab.errors import LabError
from attention_lab.i18n import _
from attention_lab.ui import link, walkthrough
from attention_lab.ui.markup import plain
from attention_lab.walk.stages import walk
from attention_lab.walk.toy import D_HEAD, D_MODEL, Toy, random_toy, toy_inputs, words_of

SEEDS = range(1000)
FIRST = "cats chase mice"


def toy_mode() -> None:
    """Words, matrices, and the same walk through them."""
    st.info(
        _("Untrained: these numbers are drawn with a seed and mean nothing. Edit any of them."),
        icon=":material/casino:",
    )
    words_text = link.restore_text("words", FIRST)
    link.restore("seed", SEEDS, 0)
    link.restore("toy_heads", (1, 2), 1)
    link.restore("toy_causal", (False, True), False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words_text = st.text_input(
            _("Two to five words"), key="words", live="500ms", persist_state="session"
        )
        heads = st.number_input(_("Heads"), 1, 2, key="toy_heads", persist_state="session")
        seed = st.number_input(_("Seed"), 0, 999, key="seed", persist_state="session")
        causal = st.toggle(_("causal mask"), key="toy_causal", persist_state="session")
    try:
        words = words_of(words_text)
        left, right = st.columns([2, 3], gap="medium")
        with left:
            edited = _tables(random_toy(len(words), heads, seed), words, heads, seed)
        inputs = toy_inputs(edited, heads, causal)
    except LabError as error:
        st.error(plain(str(error)))
        return
    with right:
        with st.container(horizontal=True):
            names = [_("head") for _i in range(heads)]
            head = walkthrough.token_picker("toy_head", _("Head"), names) if heads > 1 else 0
            query = walkthrough.token_picker("query", _("Query (looks)"), words)
            key = walkthrough.token_picker("key", _("Key (of the single score)"), words)
        stages = walk(inputs, head, query, key)
        stage = walkthrough.stage_switch(stages)
        walkthrough.pictures(stage, words, words, head, query, key)
        walkthrough.explanation(stage)
    link.explain()
    link.write()


def _tables(toy: Toy, words: list[str], n_heads: int, seed: int) -> Toy:
    """The five matrices as editors; another seed, size or number of words starts them anew."""
    width = [f"h{i // D_HEAD} d{i % D_HEAD}" for i in range(n_heads * D_HEAD)]
    model = [f"m{i}" for i in range(D_MODEL)]
    rows = [f"{i} {word}" for i, word in enumerate(words)]
    tables = {
        "x": (toy.x, rows, model),
        "w_q": (toy.w_q, model, width),
        "w_k": (toy.w_k, model, width),
        "w_v": (toy.w_v, model, width),
        "w_o": (toy.w_o, width, model),
    }
    edited: dict[str, np.ndarray] = {}
    for name, (array, index, columns) in tables.items():
        title = name if name == "x" else "W_" + name[-1].upper()
        st.markdown(f"**{plain(title)}**")
        frame = pd.DataFrame(array, index=index, columns=columns)
        table = st.data_editor(
            frame, key=f"toy_{name}_{len(words)}_{n_heads}_{seed}", num_rows="fixed"
        )
        edited[name] = table.to_numpy(dtype=float)
    return Toy(**edited)
