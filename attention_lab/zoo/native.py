"""The project's own folder format: what bundled and converted models are stored as.

`config.json`, `model.safetensors`, `tokenizer.json` (an encoder-decoder also has
`tokenizer.target.json`), `card.json`, and `manifest.json` with the SHA-256 of each.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_type_hints

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor

from attention_lab.config import ModelConfig
from attention_lab.errors import ModelError
from attention_lab.i18n import _
from attention_lab.tokens import parse_tokenizer, tokenize
from attention_lab.zoo import files, parameters
from attention_lab.zoo.loaded import Model, ModelCard

FORMAT = 1  # raised when an older converted folder can no longer be read
MANIFEST = "manifest.json"
SAMPLE = "It's 42 猫!"  # a tokenizer that fails on this is broken


@dataclass(frozen=True)
class Parts:
    """Everything a model is made of, before it is one."""

    config: ModelConfig
    state: dict[str, Tensor]
    tokenizer: str  # the text of a tokenizer.json
    card: ModelCard
    target_tokenizer: str | None = None


def build(name: str, parts: Parts) -> Model:
    """A model that runs. Raises `ModelError` where the parts do not fit together."""
    config = parts.config
    module = parameters.assign(config, parts.state)
    tokenizer = parse_tokenizer(parts.tokenizer)
    check_vocabulary(tokenizer, config.d_vocab)
    target = None
    if config.kind == "encoder-decoder":
        if parts.target_tokenizer is None:
            raise ModelError(_("The model has no tokenizer.target.json."))
        target = parse_tokenizer(parts.target_tokenizer)
        check_vocabulary(target, config.d_vocab_target)
    return Model(name, config, module, tokenizer, target, parts.card)


def check_vocabulary(tokenizer: Tokenizer, d_vocab: int) -> None:
    """Raise `ModelError` if the tokenizer can give an id for which there is no embedding."""
    ids = [*tokenizer.get_vocab().values(), *tokenize(tokenizer, SAMPLE).ids]
    if ids and max(ids) >= d_vocab:
        message = _("The model's tokenizer has {n:,} tokens; its embedding has {d_vocab:,} rows.")
        raise ModelError(message.format(n=max(ids) + 1, d_vocab=d_vocab))


def write(folder: Path, parts: Parts) -> None:
    """Write the files of a model into an existing folder, the manifest last."""
    save_file(parts.state, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)  # else only the user who wrote it may read it
    (folder / "config.json").write_text(parts.config.to_json(), encoding="utf-8")
    (folder / "tokenizer.json").write_text(parts.tokenizer, encoding="utf-8")
    if parts.target_tokenizer is not None:
        (folder / "tokenizer.target.json").write_text(parts.target_tokenizer, encoding="utf-8")
    (folder / "card.json").write_text(_dump(asdict(parts.card)), encoding="utf-8")
    found = {
        path.name: {"sha256": sha256(path), "bytes": path.stat().st_size}
        for path in sorted(folder.iterdir())
        if path.name != MANIFEST
    }
    manifest = {"format": FORMAT, "files": found}
    (folder / MANIFEST).write_text(_dump(manifest), encoding="utf-8")


def read(folder: Path, name: str, copy: bool = True) -> Model:
    """Load a folder in this format. Raises `ModelError`.

    Without `copy` the parameters stay in their file, which must then never be written to.
    """
    config = ModelConfig.from_json(files.read_text(folder, "config.json"))
    path = files.inside(folder, "model.safetensors")
    try:
        state = load_file(path)  # a memory map: nothing is read before it is used
        state = {name: value.clone() for name, value in state.items()} if copy else state
    except (SafetensorError, OSError) as error:
        message = _("The model's model.safetensors cannot be read: {error}.")
        raise ModelError(message.format(error=error)) from error
    if config.n_layers > len(state):
        raise ModelError(_("The model's config.json has impossible sizes."))
    target = (folder / "tokenizer.target.json").exists()
    parts = Parts(
        config,
        state,
        files.read_text(folder, "tokenizer.json"),
        read_card(folder),
        files.read_text(folder, "tokenizer.target.json") if target else None,
    )
    return build(name, parts)


def read_card(folder: Path) -> ModelCard:
    """The card of a folder in this format. Raises `ModelError`."""
    values = files.read_json(folder, "card.json")
    for name, kind in get_type_hints(ModelCard).items():
        value = values.get(name)
        is_number = isinstance(value, bool) and kind is not bool  # to Python True is one
        if name in values and (is_number or not isinstance(value, kind)):
            message = _("The model's card.json says {name}: {value}, which is not possible.")
            raise ModelError(message.format(name=name, value=repr(value)[:80]))
    try:
        return ModelCard(**values)
    except TypeError as error:
        message = _("The model's card.json cannot be read: {error}.")
        raise ModelError(message.format(error=error)) from error


def is_native(folder: Path) -> bool:
    """Whether a folder is in this format and not a stranger's."""
    return (folder / "card.json").is_file() and (folder / "config.json").is_file()


def is_complete(folder: Path) -> bool:
    """A quick look: whether the manifest's files are there, in their sizes, in today's format."""
    try:
        manifest = files.read_json(folder, MANIFEST)
        return manifest.get("format") == FORMAT and all(
            (folder / name).stat().st_size == entry["bytes"]
            for name, entry in manifest["files"].items()
        )
    except (ModelError, OSError, KeyError, TypeError, AttributeError):
        return False


def verify(folder: Path) -> None:
    """Compare files with the manifest and parameters with the config. Raises `ModelError`."""
    for name, entry in files.read_json(folder, MANIFEST).get("files", {}).items():
        if sha256(files.inside(folder, name)) != entry.get("sha256"):
            message = _("The file {name} in {folder} has changed since it was written.")
            raise ModelError(message.format(name=name, folder=folder))
    config = ModelConfig.from_json(files.read_text(folder, "config.json"))
    with files.open_checkpoint(folder) as checkpoint:
        parameters.check(parameters.expected_shapes(config), checkpoint.shapes)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _dump(values: dict[str, Any]) -> str:
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"
