"""What the server does once, before the first page."""

import gc

import plotly.graph_objects as go
import streamlit as st
import torch
from streamlit.runtime.pages_manager import PagesManager

from attention_lab.config import Limits


@st.cache_resource(max_entries=1, show_spinner=False)
def start_server() -> None:
    """Check the limits, and leave what the imports made out of every later garbage collection.

    Plotly's classes load lazily and not safely for threads, so one of each in use is made here.
    """
    torch.set_num_threads(Limits.from_environment().threads)
    go.Figure({"data": [{"type": "heatmap"}, {"type": "scatter"}, {"type": "bar"}]})
    gc.collect()
    gc.freeze()


def through_app() -> None:
    """First of all on a page: make sure that app.py runs around it.

    When a link to a page opens the first session of a server, Streamlit takes `pages/` for an app
    of its older kind and runs the page alone. Tell it better and start this session again.
    """
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()
