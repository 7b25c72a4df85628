"""Attention Lab: see what a real Transformer's attention does with your own sentence."""

from attention_lab.tracing.edits import ablate, mask, position
from attention_lab.tracing.record import trace
from attention_lab.tracing.trace import Trace

__all__ = ["Trace", "ablate", "mask", "position", "trace"]
