"""Offer a model that is not here: the command, and a button that pulls it with progress."""

import threading
from collections.abc import Sequence

import streamlit as st
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from attention_lab.errors import LabError
from attention_lab.i18n import _
from attention_lab.ui.asking import outside
from attention_lab.ui.look_up import look_up
from attention_lab.ui.markup import plain
from attention_lab.zoo import store
from attention_lab.zoo.registry import entry


class _Bar(store.Watcher):
    """A pull's progress on the page."""

    def __init__(self) -> None:
        self._context = get_script_run_ctx()  # a pull may report from a thread of its own
        self._bar = st.progress(0.0)
        self._text, self._total = "", 1

    def stage(self, text: str, total: int) -> None:
        add_script_run_ctx(threading.current_thread(), self._context)
        self._text, self._total = text, max(total, 1)
        self._bar.progress(0.0, text=plain(text))

    def progress(self, done: int) -> None:
        add_script_run_ctx(threading.current_thread(), self._context)
        self._bar.progress(min(done / self._total, 1.0), text=plain(self._text))

    def note(self, message: str) -> None:
        add_script_run_ctx(threading.current_thread(), self._context)
        st.info(plain(message))


def offer(names: Sequence[str]) -> None:
    """For each model that is not here: how to get it."""
    for name in names:
        wanted = entry(name)
        label = _("{title}: not pulled yet").format(title=wanted.title)
        with st.expander(plain(label), icon=":material/download:"):
            st.caption(plain(_(wanted.shows)))
            st.code(f"python -m attention_lab models pull {name}", language="bash", wrap_lines=True)
            size = wanted.size / 1e6
            text = _("Pull it now ({size:.0f} MB)").format(size=size)
            if st.button(text, key=f"pull_{name}", icon=":material/download:"):
                _pull(name)


def _pull(name: str) -> None:
    try:
        with outside():
            store.pull(name, _Bar())
    except LabError as error:
        st.error(plain(str(error)))
        return
    look_up.cache_clear()
    st.rerun()
