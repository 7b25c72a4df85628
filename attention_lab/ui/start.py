"""What the server does once, before the first page."""

import gc
import socket
from contextlib import suppress

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
    send_at_once()
    gc.collect()
    gc.freeze()


def send_at_once() -> None:
    """Have the server's sockets, and those they will accept, send small messages without delay.

    Streamlit leaves Nagle's algorithm on: the end of a run then waits for the browser to confirm
    its beginning, which browsers put off for 40 ms and more. It gives no access to its sockets.
    """
    for found in gc.get_objects():
        if type(found) is socket.socket and found.type == socket.SOCK_STREAM:
            with suppress(OSError):  # closed meanwhile, or no TCP
                found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def through_app() -> None:
    """First of all on a page: make sure that app.py runs around it.

    When a link to a page opens the first session of a server, Streamlit takes `pages/` for an app
    of its older kind and runs the page alone. Tell it better and start this session again.
    """
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()
