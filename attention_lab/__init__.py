"""Attention Lab: see what a real Transformer's attention does with your own sentence."""

from attention_lab import figures
from attention_lab.generation import generate
from attention_lab.tracing.batch import trace_batch
from attention_lab.tracing.edits import ablate, mask, position
from attention_lab.tracing.record import trace, trace_ids
from attention_lab.tracing.trace import Trace
from attention_lab.zoo import Model, load

__all__ = [
    "Model",
    "Trace",
    "ablate",
    "figures",
    "generate",
    "load",
    "mask",
    "position",
    "trace",
    "trace_batch",
    "trace_ids",
]
