"""A page with the same two pictures and the choice of a head, and nothing else: the lower bound."""

import streamlit as st

import attention_lab as lab
from attention_lab.tracing.trace import Trace
from attention_lab.ui.examples import FIRST
from attention_lab.ui.start import start_server


@st.cache_resource(max_entries=1)
def run() -> Trace:
    """The trace that the Explore page opens with."""
    return lab.trace(lab.load("minilm"), FIRST)


@st.fragment
def pictures() -> None:
    """All heads, and the chosen one."""
    left, right = st.columns([2, 3])
    head = int(left.number_input("Head", 0, 11, 1))
    left.plotly_chart(lab.figures.overview(run(), "encoder.self", (3, head)), on_select="rerun")
    right.plotly_chart(lab.figures.heatmap(run(), "encoder.3.self", head))


st.set_page_config(layout="wide")
start_server()
pictures()
