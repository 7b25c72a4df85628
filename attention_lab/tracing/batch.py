"""`trace_batch`: several texts of different lengths, filled up with padding, in one forward."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attention_lab.config import Limits, ModelConfig
from attention_lab.errors import InputError, LimitError
from attention_lab.i18n import _
from attention_lab.model import masks
from attention_lab.model.masks import MaskLike
from attention_lab.model.points import observing
from attention_lab.tokens import Tokens
from attention_lab.tracing.edits import check_mask_heads
from attention_lab.tracing.gate import gate
from attention_lab.tracing.record import read_text
from attention_lab.tracing.run import check_mode
from attention_lab.tracing.site import read_only
from attention_lab.zoo.loaded import Model

Padded = tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"]]


@dataclass(frozen=True, eq=False)
class Batch:
    """What one forward of several texts computed. `real` is True where a token is no padding.

    It is the stack that reads the texts: the encoder, or the decoder of a model without one.
    """

    model: Model
    tokens: tuple[Tokens, ...]  # of each text, without the padding
    ids_tensor: Tensor
    real_tensor: Tensor
    mask_tensor: Tensor
    hidden_tensor: Tensor
    captured: Mapping[str, Tensor]

    @property
    def ids(self) -> np.ndarray:
        """What the model read, padding included, (batch, length)."""
        return read_only(self.ids_tensor)

    @property
    def real(self) -> np.ndarray:
        """True = a token of the text, False = padding, (batch, length)."""
        return read_only(self.real_tensor)

    @property
    def padding_mask(self) -> np.ndarray:
        """`real` with axes that broadcast over heads and queries, (batch, 1, 1, length)."""
        return read_only(masks.padding(self.real_tensor))

    @property
    def mask(self) -> np.ndarray:
        """The mask of the run, which broadcasts to (batch, head, query, key)."""
        return read_only(self.mask_tensor)

    @property
    def hidden(self) -> np.ndarray:
        """The last hidden state, (batch, length, d_model)."""
        return read_only(self.hidden_tensor)

    def weights(self, site: str) -> np.ndarray:
        """The attention weights of a site, (batch, head, query, key). Raises `InputError`."""
        if site not in self.captured:
            message = _('There is no attention site "{site}" in this batch; it has {sites}.')
            raise InputError(message.format(site=site, sites=", ".join(self.captured)))
        return read_only(self.captured[site])

    def output(self, row: int) -> np.ndarray:
        """The last hidden state of one text without its padding, (position, d_model)."""
        own: np.ndarray = self.hidden[row, self.real[row]]
        return own

    def labels(self, row: int) -> list[str]:
        """The tokens of one text as a picture writes them; padding is "·"."""
        own = iter(self.tokens[row].labels)
        return [next(own) if real else "·" for real in self.real[row]]


class _Weights(dict[str, Tensor]):
    """Keeps the attention weights of each site, and changes nothing."""

    def visit(self, name: str, tensor: Tensor) -> Tensor:
        site, _dot, point = name.rpartition(".")
        if point == "weights":
            self[site] = tensor
        return tensor


def trace_batch(
    model: Model,
    texts: Sequence[str],
    mask: MaskLike | None = None,
    limit: int | None = None,
    limits: Limits | None = None,
) -> Batch:
    """Run `model` on several texts at once, as a padded batch.

    Without a `mask` nobody sees padding, and a decoder's tokens see none that come later. Another
    one (see `masks.build`) takes its place: "none" lets padding be read as words. Padding stands on
    the right, or on the left where `pads_left`. `limit` is as in `trace`. Raises `LimitError` for
    texts that are empty or too long, also in memory, `InputError` for an impossible mask.
    """
    limits = limits or Limits.from_environment()
    check_mode(model)
    if isinstance(texts, str) or not texts:
        raise InputError(_("A batch is a list of texts, at least one; put the text into a list."))
    tokens = tuple(read_text(model, text, limit, limits) for text in texts)
    config, longest = model.config, max(map(len, tokens))
    n_bytes = 4 * config.n_layers * config.n_heads * len(tokens) * longest**2
    if n_bytes > limits.weight_bytes:
        message = _(
            "{n} texts of up to {length} tokens have {size:,.0f} MB of attention weights; at most "
            "{most:,.0f} MB are kept: give fewer or shorter texts."
        )
        size, most = n_bytes / 2**20, limits.weight_bytes / 2**20
        raise LimitError(message.format(n=len(tokens), length=longest, size=size, most=most))
    ids, real = pad([each.ids for each in tokens], model.card.pad_id or 0, pads_left(config))
    chosen = own_mask(config, real) if mask is None else _built(config, mask, real)
    captured, module = _Weights(), model.module
    forward = module.decode if module.encoder is None else module.encode
    with gate(), torch.inference_mode(), observing(captured):
        hidden = forward(ids, mask=chosen)
    return Batch(model, tokens, ids, real, chosen, hidden, MappingProxyType(captured))


def pad(rows: Sequence[Sequence[int]], pad_id: int, left: bool = False) -> Padded:
    """Rows of different lengths as one tensor, and which of it is no padding."""
    longest = max(map(len, rows))
    fill = [[pad_id] * (longest - len(row)) for row in rows]
    pairs = list(zip(fill, rows, strict=True))
    ids = [[*none, *row] if left else [*row, *none] for none, row in pairs]
    places = torch.arange(longest)
    lengths = torch.tensor([len(row) for row in rows])[:, None]
    real = places >= longest - lengths if left else places < lengths
    return torch.tensor(ids), real


def pads_left(config: ModelConfig) -> bool:
    """Decoders are padded on the left, so that their last token is a real one.

    Not where that would give the tokens other positions than they have alone.
    """
    return config.kind == "decoder" and config.position in ("rotary", "alibi", "none")


def own_mask(
    config: ModelConfig, real: Bool[Tensor, "batch length"]
) -> Bool[Tensor, "batch 1 query length"]:
    """The model's own mask of a batch without its padding; query is 1 where all see the same."""
    length = real.shape[1]
    if config.kind == "decoder":
        return masks.causal(length, length) & masks.padding(real)
    return masks.padding(real)


def _built(config: ModelConfig, spec: MaskLike, real: Bool[Tensor, "batch length"]) -> Tensor:
    mask = torch.stack([masks.build(spec, row, real.shape[1]) for row in real])
    check_mask_heads(mask.shape[1], config.n_heads)
    return mask
