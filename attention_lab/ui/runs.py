"""What a page asks the engine for, and the bounded cache of the traces that answer it."""

import threading
from dataclasses import dataclass, replace

import streamlit as st
from cachetools import LRUCache, cached

from attention_lab import zoo
from attention_lab.beam import Beam, beam_search
from attention_lab.config import Limits
from attention_lab.generation import Generation, greedy
from attention_lab.tracing.edits import Ablation, ablate
from attention_lab.tracing.record import max_tokens, trace
from attention_lab.tracing.trace import Trace
from attention_lab.zoo.loaded import Model

TRACE_BYTES = 1 << 30  # all users together
TEXTS = 256  # generations that are kept


@dataclass(frozen=True)
class Request:
    """Everything a trace depends on; the cache is keyed by all of it."""

    model: str
    text: str
    target: str | None = None  # of an encoder-decoder: typed by the user …
    target_ids: tuple[int, ...] | None = None  # … or written by the model
    mask: str | None = None  # None: the model's own
    off: tuple[str, ...] = ()  # "encoder.3.self:1" a head, "encoder.3.self" all heads of the site

    @property
    def is_changed(self) -> bool:
        """Whether the run differs from the model as it was trained."""
        return self.mask is not None or bool(self.off)

    @property
    def baseline(self) -> "Request":
        """The same text through the model as it was trained."""
        return replace(self, mask=None, off=())


@st.cache_resource(max_entries=4, show_spinner=False)
def load_model(name: str) -> Model:
    """A model by its registry name, shared by all sessions. Raises `ModelError`."""
    return zoo.load(name)


@cached(
    LRUCache(TRACE_BYTES, getsizeof=lambda found: found.nbytes), condition=threading.Condition()
)
def run(request: Request) -> Trace:
    """The trace for a request: computed once, also when many ask for it at the same time."""
    model = load_model(request.model)
    limits = Limits.from_environment()
    edits = [parse_off(place) for place in request.off]
    limit = max_tokens(model.config, limits)
    target = request.target if request.target_ids is None else request.target_ids
    return trace(model, request.text, target, request.mask, edits, limit, limits)


@cached(LRUCache(TEXTS), condition=threading.Condition())
def write(model: str, text: str) -> Generation:
    """What the model writes for a text, greedily."""
    return greedy(load_model(model), text)


@cached(LRUCache(TEXTS), condition=threading.Condition())
def search(model: str, text: str, width: int) -> Beam:
    """What beam search finds for a text."""
    return beam_search(load_model(model), text, width)


def parse_off(place: str) -> Ablation:
    """ "encoder.3.self:1" → head 1 of that site off; "encoder.3.self" → all its heads."""
    site, colon, head = place.partition(":")
    return ablate(site, int(head) if colon else None)
