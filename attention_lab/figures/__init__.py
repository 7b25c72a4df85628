"""Trace in, Plotly figure out: pure functions."""

from attention_lab.figures.alignment import alignment
from attention_lab.figures.beam_tree import beam_tree
from attention_lab.figures.candidates import candidates
from attention_lab.figures.heatmap import draw, heatmap
from attention_lab.figures.overview import overview

__all__ = ["alignment", "beam_tree", "candidates", "draw", "heatmap", "overview"]
