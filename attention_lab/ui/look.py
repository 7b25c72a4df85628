"""The app's own style sheet and script, from the project's assets."""

from pathlib import Path

import streamlit as st

ASSETS = Path(__file__).resolve().parents[2] / "assets" / "style"
STYLE = ASSETS / "app.css"
SCRIPT = (ASSETS / "keep.js").read_text(encoding="utf-8")
ICON = ASSETS / "icon.png"  # a Material icon here would be fetched from outside


def use_style() -> None:
    """Put the style sheet on the page, and the script that keeps a picture until the next one."""
    st.html(STYLE)
    with st.container(key="script"):
        st.html(f"<script>{SCRIPT}</script>", unsafe_allow_javascript=True)
