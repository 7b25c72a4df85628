"""Which models are here, for the picker of every page."""

import threading
from dataclasses import dataclass
from pathlib import Path

from cachetools import TTLCache, cached

from attention_lab.errors import LabError
from attention_lab.zoo import native, store


@dataclass(frozen=True)
class Found:
    """What the picker says of a model that is here; `is_trained` is None if it cannot be read."""

    is_trained: bool | None
    megabytes: float


# All pages ask for it in every run, and files are slow to ask when a hundred people do.
@cached(TTLCache(maxsize=64, ttl=1.0), lock=threading.Lock())
def look_up(name: str, folder: Path) -> Found | None:
    """What is on disk of a model, at most a second ago; None if it is not here."""
    if not store.is_here(name):
        return None
    size = sum(file.stat().st_size for file in folder.glob("*.safetensors")) / 1e6
    try:
        return Found(native.read_card(folder).trained, size)
    except LabError:
        return Found(None, size)
