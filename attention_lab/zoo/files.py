"""Reading a stranger's model folder: JSON and safetensors only, and nothing outside the folder."""

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from attention_lab.errors import ModelError
from attention_lab.i18n import _

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".h5", ".msgpack", ".npz")
NUMBERS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
MOST_JSON = 64 * 2**20  # bytes; the largest tokenizer.json in use has about 35 million


def inside(folder: Path, name: str) -> Path:
    """The file `name` of `folder`. Raises `ModelError` if it is missing or leads out of the folder.

    In huggingface_hub's cache a snapshot's files are links to its sister folder `blobs`.
    """
    path = folder / name
    if Path(name).name != name or name in ("", "..") or "\0" in name:
        message = _("The model's {name!r} leads out of its folder; a plain file name is needed.")
        raise ModelError(message.format(name=name))
    allowed = [folder.resolve()]
    if folder.resolve().parent.name == "snapshots":
        allowed.append(folder.resolve().parent.parent / "blobs")
    try:
        real = path.resolve()
    except (OSError, RuntimeError) as error:  # links that lead to each other
        raise _unreadable(name, error) from error
    if not any(real.is_relative_to(place) for place in allowed):
        message = _("The model's {name} is a link out of its folder; put the file itself there.")
        raise ModelError(message.format(name=name))
    if not path.is_file():
        message = _("The model's folder {folder} has no {name}.")
        raise ModelError(message.format(folder=folder, name=name))
    return path


def read_text(folder: Path, name: str) -> str:
    """The text of one of the folder's JSON files. Raises `ModelError`."""
    path = inside(folder, name)
    try:
        size = path.stat().st_size
        if size > MOST_JSON:
            message = _("The model's {name} has {size:,} bytes; at most {most:,} are read.")
            raise ModelError(message.format(name=name, size=size, most=MOST_JSON))
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(name, error) from error


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """The object in one of the folder's JSON files. Raises `ModelError` on anything else."""
    try:
        values = json.loads(read_text(folder, name))
    except (ValueError, RecursionError) as error:
        raise _unreadable(name, error) from error
    if not isinstance(values, dict):
        message = _("The model's {name} must hold a JSON object.")
        raise ModelError(message.format(name=name))
    return values


def _unreadable(name: str, error: Exception) -> ModelError:
    message = _("The model's {name} cannot be read: {error}.")
    return ModelError(message.format(name=name, error=str(error).rstrip(".")))


@dataclass(frozen=True)
class Checkpoint:
    """The parameters in a folder's safetensors files; read one by one, shapes known before."""

    shapes: dict[str, tuple[int, ...]]
    _handles: dict[str, Any]  # parameter -> the open file that holds it

    def read(self, name: str) -> Tensor:
        """A copy of one parameter in float32. Raises `ModelError` for numbers it cannot use."""
        try:
            tensor: Tensor = self._handles[name].get_tensor(name)
        except SafetensorError as error:
            raise _unreadable(name, error) from error
        if tensor.dtype not in NUMBERS:
            message = _("The model's parameter {name} is stored as {kind}; allowed: {allowed}.")
            allowed = ", ".join(map(str, NUMBERS))
            raise ModelError(message.format(name=name, kind=tensor.dtype, allowed=allowed))
        # A copy: the file may change under a memory map, and take the process with it.
        tensor = tensor.to(torch.float32, copy=True)
        if not torch.isfinite(tensor).all():
            message = _("The model's parameter {name} has values that are not finite numbers.")
            raise ModelError(message.format(name=name))
        return tensor


@contextmanager
def open_checkpoint(folder: Path) -> Iterator[Checkpoint]:
    """Open the folder's safetensors, one file or several with an index. Raises `ModelError`."""
    index, files = _files(folder)
    shapes: dict[str, tuple[int, ...]] = {}
    handles: dict[str, Any] = {}
    with ExitStack() as stack:
        for file in files:
            handle = stack.enter_context(_open(folder, file))
            for name in handle.keys():  # noqa: SIM118 -- no mapping
                if name in shapes or (index is not None and index.get(name) != file):
                    message = _("The model's index does not say that {name} is in {file}.")
                    raise ModelError(message.format(name=name, file=file))
                shapes[name] = tuple(handle.get_slice(name).get_shape())
                handles[name] = handle
        missing = sorted(set(index or ()) - set(shapes))
        if missing:
            message = _("The model's index names {name}, which none of its files holds.")
            raise ModelError(message.format(name=missing[0]))
        yield Checkpoint(shapes, handles)


def _open(folder: Path, file: str) -> Any:
    try:
        # Checks that the header fits the file: one that claims more allocates nothing.
        return safe_open(inside(folder, file), framework="pt")
    except (SafetensorError, OSError) as error:
        raise _unreadable(file, error) from error


def _files(folder: Path) -> tuple[dict[str, str] | None, list[str]]:
    """The index, if there is one, and the safetensors files to open."""
    if (folder / "model.safetensors").exists():
        return None, ["model.safetensors"]
    name = "model.safetensors.index.json"
    if (folder / name).exists():
        index = read_json(folder, name).get("weight_map")
        if not isinstance(index, dict) or not all(isinstance(f, str) for f in index.values()):
            message = _("The model's {name} must map parameters to files in its weight_map.")
            raise ModelError(message.format(name=name))
        shards = sorted(set(index.values()))
        for shard in shards:
            inside(folder, shard)
        return index, shards
    found = sorted(path.name for path in folder.glob("*.safetensors"))
    if len(found) == 1:
        return None, found
    raise no_safetensors(path.name for path in folder.iterdir())


def no_safetensors(names: Iterable[str]) -> ModelError:
    """The error for a folder or repository that has these files and no safetensors among them."""
    pickles = sorted(name for name in names if Path(name).suffix in PICKLES)
    if pickles:
        message = _(
            "The model offers its parameters only as {name}, a format that can run code or that is "
            "not read here; save them as model.safetensors."
        )
        return ModelError(message.format(name=pickles[0]))
    return ModelError(_("The model has no model.safetensors."))
