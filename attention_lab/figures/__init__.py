"""Trace in, Plotly figure out: pure functions."""

from attention_lab.figures.heatmap import draw, heatmap
from attention_lab.figures.overview import overview

__all__ = ["draw", "heatmap", "overview"]
