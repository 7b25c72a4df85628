"""Simulated people: each has a browser tab that speaks Streamlit's own protocol."""
