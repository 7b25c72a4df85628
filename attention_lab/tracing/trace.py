"""A trace: everything one run of a model computed on one text, immutable."""

import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from uuid import uuid4

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attention_lab.config import Position
from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.model import positions
from attention_lab.model.attention import POINTS
from attention_lab.model.layers import PLACES
from attention_lab.tokens import Tokens
from attention_lab.tracing.site import STAGES, Site, read_only
from attention_lab.tracing.tables import long_frame, shape_frame
from attention_lab.zoo.loaded import Model


@dataclass(frozen=True, eq=False)
class Trace:
    """What `model` did with `tokens`. Index it by a site: `trace["encoder.3.self"].weights`.

    `captured` cannot be changed. What is derived on demand from parameters (`result`, and the
    logits of a large trace) follows the model, should somebody go on training it.
    """

    model: Model
    tokens: Tokens
    target_tokens: Tokens | None
    position: Position
    captured: Mapping[str, Tensor]
    hidden_tensor: Tensor
    logits_tensor: Tensor | None
    encoded_tensor: Tensor | None = None
    start: int = 0  # the position of the first token

    @property
    def sites(self) -> tuple[str, ...]:
        """The names of the attention sites, in the order of computation."""
        return self.model.config.sites

    @cached_property
    def _sites(self) -> dict[str, Site]:
        return {name: self._site(name) for name in self.sites}

    def __getitem__(self, site: str) -> Site:
        """One attention site. Raises `InputError` for a name that the model does not have."""
        if site not in self._sites:
            message = _('There is no attention site "{site}"; this model has {sites}.')
            raise InputError(message.format(site=site, sites=", ".join(self.sites)))
        return self._sites[site]

    @property
    def hidden(self) -> np.ndarray:
        """The last hidden state, (position, d_model)."""
        return read_only(self.hidden_tensor)

    @property
    def encoded(self) -> np.ndarray | None:
        """The encoder's output, (source position, d_model); None for a model without an encoder."""
        return None if self.encoded_tensor is None else read_only(self.encoded_tensor)

    @property
    def logits(self) -> np.ndarray | None:
        """The output scores, (position, d_vocab); None for a model that ends in its hidden state.

        A large trace does not store them; they are then computed from `hidden` at each access.
        """
        if self.logits_tensor is not None:
            return read_only(self.logits_tensor)
        return self._to_logits(self.hidden_tensor)

    def logits_at(self, position: int) -> np.ndarray | None:
        """The output scores at one position, (d_vocab), without computing those of the others."""
        return self._to_logits(self.hidden_tensor[position])

    def residual(self, layer: str, at: str) -> np.ndarray:
        """The residual stream of a layer such as "encoder.3", (position, d_model).

        `at`: "pre" (what the layer reads), "mid" (after self-attention), "cross" (after
        cross-attention, where there is one), "post" (what it hands on), or "mlp_out" (what the
        feed-forward net adds). Raises `InputError` for a place that there is not.
        """
        name = f"{layer}.{at}"
        if name not in self.captured or at not in PLACES:
            layers = [key.removesuffix(".pre") for key in self.captured if key.endswith(".pre")]
            message = _(
                'There is no residual stream "{at}" of "{layer}"; layers are {layers}, '
                "places are pre, mid, cross (with cross-attention), mlp_out and post."
            )
            raise InputError(message.format(at=at, layer=layer, layers=", ".join(layers)))
        return read_only(self.captured[name])

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the stored tensors keep alive; shared memory is counted once."""
        others = (self.hidden_tensor, self.logits_tensor, self.encoded_tensor)
        tensors = [*self.captured.values(), *(t for t in others if t is not None)]
        storages = (t.untyped_storage() for t in tensors)
        return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())

    def shapes(self) -> pd.DataFrame:
        """Every tensor of the trace: name, shape as letters and numbers, whether stored, bytes."""
        return shape_frame(self)

    def to_frame(self, site: str, stage: str, head: int | None = None) -> pd.DataFrame:
        """A stage of a site in long form: one row a number, with the tokens it belongs to.

        Raises `InputError` for a site, stage or head that there is not.
        """
        return long_frame(self[site], stage, head)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all stages, residuals, hidden state and logits to an .npz file for numpy.

        Arrays are named "encoder.3.self.weights" and so on; "tokens" is JSON. The write is atomic.
        Raises `InputError` if the file cannot be written.
        """
        _write_npz(Path(path), self._arrays())

    def _arrays(self) -> Iterator[tuple[str, np.ndarray]]:
        for name, tensor in self.captured.items():
            if name.rpartition(".")[2] not in STAGES:
                yield name, read_only(tensor)
        for site in self.sites:
            yield from ((f"{site}.{stage}", self[site].stage(stage)) for stage in STAGES)
        if self.encoded is not None:
            yield "encoded", self.encoded
        yield "hidden", self.hidden
        if (logits := self.logits) is not None:
            yield "logits", logits
        for key, tokens in (("tokens", self.tokens), ("target_tokens", self.target_tokens or ())):
            rows = [{"id": t.id, "text": t.text, "start": t.start, "end": t.end} for t in tokens]
            yield key, np.array(json.dumps(rows, ensure_ascii=False))

    def _to_logits(self, hidden: Tensor) -> np.ndarray | None:
        with torch.inference_mode():
            logits = self.model.module.to_logits(hidden)
        return None if logits is None else read_only(logits)

    def _site(self, name: str) -> Site:
        stack, layer, part = name.split(".")
        source, target = self.tokens, self.target_tokens or self.tokens
        query = source if stack == "encoder" else target
        key = source if stack == "encoder" or part == "cross" else target
        block = self.model.module.get_submodule(f"{stack}.layers.{layer}.{part}_attn")
        stored = {p: t for p in POINTS if (t := self.captured.get(f"{name}.{p}")) is not None}

        # Without `self`: a ring of references would stay in memory until a garbage collection.
        n_heads, is_alibi = self.model.config.n_heads, self.position == "alibi" and part == "self"

        def bias() -> Tensor | None:
            return positions.alibi_bias(n_heads, len(query), len(key)) if is_alibi else None

        w_o: Tensor = block.get_parameter("w_o.weight")
        return Site(name, query, key, n_heads, stored, w_o.detach(), bias)


def _write_npz(path: Path, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
    """Write what `np.load` reads, with one array in memory at a time (`np.savez` needs all)."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with zipfile.ZipFile(temporary, "x", zipfile.ZIP_DEFLATED) as archive:
            for name, array in arrays:
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)
        temporary.replace(path)
    except OSError as error:
        message = _("The trace cannot be written to {path} ({reason}); choose another place.")
        raise InputError(message.format(path=path, reason=error.strerror)) from error
    finally:
        with suppress(OSError):
            temporary.unlink()
