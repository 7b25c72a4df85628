"""The models: the registry, their sources, and the conversion of other people's checkpoints."""

from attention_lab.zoo.loaded import Model, ModelCard
from attention_lab.zoo.loading import load
from attention_lab.zoo.store import NotPulledError

__all__ = ["Model", "ModelCard", "NotPulledError", "load"]
