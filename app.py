"""Attention Lab's entry point: page config, navigation; no logic."""

import streamlit as st

from attention_lab.i18n import _
from attention_lab.ui.look import ICON, use_style
from attention_lab.ui.reconnect import come_back
from attention_lab.ui.start import start_server

st.set_page_config(
    page_title="Attention Lab",
    page_icon=ICON,
    layout="wide",
    initial_sidebar_state=300,
    menu_items={"About": "Attention Lab, Apache-2.0"},  # with it the menu offers light and dark
)
use_style()
come_back()
pages = [
    st.Page("pages/explore.py", title=_("Explore"), icon=":material/grid_on:", default=True),
    st.Page("pages/steps.py", title=_("Step by step"), icon=":material/footprint:"),
    st.Page("pages/heads.py", title=_("Heads"), icon=":material/category_search:"),
    st.Page("pages/positions.py", title=_("Positions"), icon=":material/pin:"),
    st.Page("pages/masks.py", title=_("Masks"), icon=":material/grid_off:"),
    st.Page("pages/architecture.py", title=_("Architecture"), icon=":material/account_tree:"),
    st.Page("pages/translate.py", title=_("Translate"), icon=":material/translate:"),
    st.Page("pages/clinic.py", title=_("Clinic"), icon=":material/healing:"),
]
page = st.navigation(pages)  # drawn while the server is still starting
start_server()
page.run()
