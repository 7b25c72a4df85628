"""The whole model: an encoder, a decoder, or both, in one configurable class."""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from attention_lab.config import ModelConfig, Position
from attention_lab.errors import InputError
from attention_lab.i18n import _
from attention_lab.model import masks
from attention_lab.model.cache import KeyValueCache
from attention_lab.model.layers import Stack

Ids = Int[Tensor, "_batch _position"]
Mask = Bool[Tensor, "_batch _head _query _key"]


@dataclass(frozen=True)
class Output:
    """What a forward gives: the last stack's hidden state, its logits, and the encoder's output."""

    hidden: Float[Tensor, "batch position d_model"]
    logits: Float[Tensor, "batch position d_vocab"] | None
    encoded: Float[Tensor, "batch source d_model"] | None


class Transformer(nn.Module):
    """The model of "Attention Is All You Need" and its descendants; `config` says which."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        both = config.kind == "encoder-decoder"
        d_vocab = config.d_vocab_target if both else config.d_vocab
        self.encoder = (
            Stack(config, "encoder", config.d_vocab, has_cross=False)
            if "encoder" in config.stacks
            else None
        )
        self.decoder = (
            Stack(config, "decoder", d_vocab, has_cross=both)
            if "decoder" in config.stacks
            else None
        )
        own = config.unembed and not config.tie_embeddings
        self.unembed = nn.Linear(config.d_model, d_vocab, bias=False) if own else None

    def forward(
        self,
        ids: Ids,
        target_ids: Ids | None = None,
        *,
        mask: Mask | None = None,
        target_mask: Mask | None = None,
        cross_mask: Mask | None = None,
        position: Position | None = None,
        start: int = 0,
        cache: KeyValueCache | None = None,
        logits: bool = True,
    ) -> Output:
        """Token ids in, hidden states and logits out.

        `ids` is the text; for an encoder-decoder, the source, with `target_ids` what the decoder
        has written so far. Masks are True where a query may attend and broadcast to (batch, head,
        query, key); without one an encoder's is open, a decoder's causal, cross-attention's open.
        `position` replaces the positions that the model was trained with, `start` is the position
        of the first token. With a `cache`, only the tokens it does not hold yet are given. Raises
        `InputError` on an impossible combination.
        """
        if (target_ids is None) == (self.config.kind == "encoder-decoder"):
            raise InputError(_("An encoder-decoder needs target_ids; other models take none."))
        if cache is not None and self.decoder is None:
            raise InputError(_("Only a decoder reads from a cache; leave it out."))
        encoded = None
        if self.encoder is None:
            hidden = self.decode(ids, mask=mask, position=position, start=start, cache=cache)
        else:
            encoded = hidden = self.encode(ids, mask=mask, position=position, start=start)
        if target_ids is not None:
            hidden = self.decode(
                target_ids,
                encoded,
                mask=target_mask,
                cross_mask=cross_mask,
                position=position,
                start=start,
                cache=cache,
            )
        return Output(hidden, self.to_logits(hidden) if logits else None, encoded)

    def encode(
        self,
        ids: Ids,
        *,
        mask: Mask | None = None,
        position: Position | None = None,
        start: int = 0,
    ) -> Float[Tensor, "batch position d_model"]:
        """The encoder's output for `ids`."""
        if self.encoder is None:
            raise InputError(_("This model has no encoder."))
        mask = masks.none(ids.shape[1], ids.shape[1])[None, None] if mask is None else mask
        hidden: Tensor = self.encoder(ids, mask, position or self.config.position, start=start)
        return hidden

    def decode(
        self,
        ids: Ids,
        encoded: Float[Tensor, "batch source d_model"] | None = None,
        *,
        mask: Mask | None = None,
        cross_mask: Mask | None = None,
        position: Position | None = None,
        start: int = 0,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch position d_model"]:
        """The decoder's last hidden state; `encoded` is what its cross-attention reads."""
        if self.decoder is None:
            raise InputError(_("This model has no decoder."))
        if (encoded is None) != (self.encoder is None):
            message = _("A decoder needs the encoder's output (encoded) where there is an encoder.")
            raise InputError(message)
        n_query = ids.shape[1]
        n_key = n_query + (cache.length if cache else 0)
        if mask is None:
            mask = masks.causal(n_query, n_key)[None, None]
        if encoded is not None and cross_mask is None:
            cross_mask = masks.none(n_query, encoded.shape[1])[None, None]
        kind = position or self.config.position
        hidden: Tensor = self.decoder(ids, mask, kind, cache, encoded, cross_mask, start)
        if cache is not None:
            cache.length = n_key
        return hidden

    def to_logits(
        self, hidden: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_vocab"] | None:
        """A score for each token of the vocabulary; None if the model ends in its hidden state."""
        if not self.config.unembed:
            return None
        if self.unembed is not None:
            out: Tensor = self.unembed(hidden)
            return out
        last = self.decoder or self.encoder
        assert last is not None
        return functional.linear(hidden, last.embed.token.weight)
