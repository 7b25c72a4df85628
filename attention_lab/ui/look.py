"""The app's own style sheet, from the project's assets."""

from pathlib import Path

import streamlit as st

ASSETS = Path(__file__).resolve().parents[2] / "assets" / "style"
STYLE = ASSETS / "app.css"
ICON = ASSETS / "icon.png"  # a Material icon here would be fetched from outside


def use_style() -> None:
    """Put the style sheet on the page."""
    st.html(STYLE)
