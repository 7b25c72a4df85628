"""Attention Lab: see what a real Transformer's attention does with your own sentence."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

# Imported at first use: the app's page is there before PyTorch is.
_MODULES = {
    "Model": "zoo",
    "load": "zoo",
    "Trace": "tracing.trace",
    "trace": "tracing.record",
    "trace_batch": "tracing.batch",
    "trace_ids": "tracing.record",
    "ablate": "tracing.edits",
    "mask": "tracing.edits",
    "position": "tracing.edits",
    "generate": "generation",
}


def __getattr__(name: str) -> object:
    if name == "figures":
        return import_module("attention_lab.figures")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"attention_lab.{_MODULES[name]}"), name)
    globals()[name] = found
    return found
