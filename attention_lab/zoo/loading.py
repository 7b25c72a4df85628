"""`load`: a model by its name in the registry, from a folder, or from the hub."""

import re
from contextlib import suppress
from pathlib import Path

from attention_lab.errors import ModelError
from attention_lab.i18n import _
from attention_lab.zoo import folder, native, store
from attention_lab.zoo.loaded import Model
from attention_lab.zoo.registry import ENTRIES


def load(name_or_path: str | Path) -> Model:
    """A model ready to run: "minilm", a folder ("./my-model"), or a hub repository ("org/name").

    Raises `NotPulledError` for a model of the registry that is not in the cache, `SourceError` if
    the hub does not give it, `ModelError` for a model that cannot be used.
    """
    name = str(name_or_path)
    if name in ENTRIES:
        return native.read(store.require(name), name, copy=False)
    path = _folder(name_or_path)
    if path is not None:
        return _from_folder(path, path.name)
    if re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", name):
        from attention_lab.zoo import sources  # imports a lot, and few ask the hub

        return _from_folder(sources.hub_folder(name, store.home() / "hub"), name)
    message = _(
        "There is no model {name!r}; allowed: {allowed}, a folder with config.json, "
        "model.safetensors and tokenizer.json, or a hub repository such as org/name."
    )
    raise ModelError(message.format(name=name, allowed=", ".join(ENTRIES)))


def _folder(name_or_path: str | Path) -> Path | None:
    with suppress(OSError, RuntimeError, ValueError):  # too long, an unknown "~user", a null byte
        path = Path(name_or_path).expanduser().resolve()
        return path if name_or_path and path.is_dir() else None
    return None


def _from_folder(path: Path, name: str) -> Model:
    if native.is_native(path):
        return native.read(path, name)
    return native.build(name, folder.convert(path, name))
