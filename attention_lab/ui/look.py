"""The app's own style sheet and script, from the project's assets."""

from pathlib import Path

import streamlit as st

ASSETS = Path(__file__).resolve().parents[2] / "assets" / "style"
STYLE = ASSETS / "app.css"
SCRIPT = (ASSETS / "keep.js").read_text(encoding="utf-8")
# The browser loads Plotly, a third of the way to the first picture, while the server still starts.
# It stands beside the page's own script, under a name that differs with each version.
LOAD = """{
  const own = document.querySelector('script[type="module"][src*="/js/"]');
  if (own) import(new URL("NAME", own.src)).catch(() => undefined);
}"""
CHUNKS = (Path(st.__file__).parent / "static" / "static" / "js").glob("PlotlyChart.*.js")
SCRIPT += "".join(LOAD.replace("NAME", chunk.name) for chunk in CHUNKS)
ICON = ASSETS / "icon.png"  # a Material icon here would be fetched from outside


def use_style() -> None:
    """Put the style sheet on the page, and the script that keeps a picture until the next one."""
    st.html(STYLE)
    with st.container(key="script"):
        st.html(f"<script>{SCRIPT}</script>", unsafe_allow_javascript=True)
