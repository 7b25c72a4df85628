"""What the server does once, before the first page."""

import gc
import pkgutil
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from attention_lab import ui
from attention_lab.config import Limits
from attention_lab.errors import InputError, LabError
from attention_lab.i18n import _
from attention_lab.ui.log import leave_texts_out
from attention_lab.ui.markup import plain

# Seconds that a busy thread may make another wait for the interpreter. A run of the model gives it
# away at each of some hundred operations, and with Python's 5 ms waits as often to get it back.
SWITCH = 0.0005
LATER = 5.0  # seconds after the first model, in which the first visitor's page goes first
_preparing, _is_ready = threading.Lock(), threading.Event()


def start_server() -> None:
    """Before the first page: check the limits, and wait until everything is imported."""
    try:
        Limits.from_environment()
    except InputError as error:
        st.error(plain(str(error)))
        st.stop()
    if not _is_ready.is_set():
        with st.spinner(_("The server is starting …"), show_time=True):
            prepare()
    _finish()


def warm_up() -> None:
    """While the server starts and the page loads in the browser: all imports, the first model.

    Then the others: whoever chooses one first would wait for seconds, and everybody with them.
    """
    prepare()
    from attention_lab.ui import examples, runs, sidebar

    for number, name in enumerate(sidebar.available()):
        with suppress(LabError):  # a page will tell
            if number == 0:
                runs.run(runs.Request(name, examples.FIRST))
                time.sleep(LATER)
            runs.load_model(name)


def prepare() -> None:
    """Import all that pages use, once; others wait here meanwhile.

    Two threads that import PyTorch at the same time could see halves of it. Plotly's classes load
    lazily and not safely for threads, so one of each in use is made here.
    """
    with _preparing:
        if _is_ready.is_set():
            return
        leave_texts_out()
        gc.disable()  # what imports make stays: looking for garbage in it is a tenth of their time
        try:
            _import_all()
        finally:
            gc.enable()
        _is_ready.set()


def _import_all() -> None:
    for module in pkgutil.iter_modules(ui.__path__):
        import_module(f"{ui.__name__}.{module.name}")
    import plotly.graph_objects as go
    import torch

    torch.set_num_threads(Limits.from_environment().threads)
    sys.setswitchinterval(SWITCH)
    go.Figure({"data": [{"type": "heatmap"}, {"type": "scatter"}, {"type": "bar"}]})


@st.cache_resource(max_entries=1, show_spinner=False)
def _finish() -> None:
    """Once the server listens. What there is by now is left out of every later collection."""
    gc.freeze()


def through_app() -> None:
    """First of all on a page: make sure that app.py runs around it.

    When a link to a page opens the first session of a server, Streamlit takes `pages/` for an app
    of its older kind and runs the page alone. Tell it better and start this session again.
    """
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()
