"""`trace`: run a model on a text and keep everything it computed."""

from collections.abc import Sequence
from types import MappingProxyType

import torch
from tokenizers import Tokenizer
from torch import Tensor

from attention_lab.config import Limits, ModelConfig
from attention_lab.errors import InputError, LimitError
from attention_lab.i18n import _
from attention_lab.model import masks
from attention_lab.model.masks import MaskLike
from attention_lab.tokens import Tokens, check_text, from_ids, tokenize
from attention_lab.tracing.edits import (
    Ablation,
    Change,
    Edit,
    MaskEdit,
    PositionEdit,
    changes,
    check_edits,
    check_mask_heads,
    matching_sites,
)
from attention_lab.tracing.run import Run, execute, leave_out
from attention_lab.tracing.trace import Trace
from attention_lab.zoo.loaded import Model


def trace(
    model: Model,
    text: str,
    target: str | Sequence[int] | None = None,
    mask: MaskLike | None = None,
    edits: Sequence[Edit] = (),
    limit: int | None = None,
    limits: Limits | None = None,
) -> Trace:
    """Run `model` on `text` and return its `Trace`.

    `target` (encoder-decoder only) is what the decoder has written so far, as text or as ids
    without the start token. `mask` replaces the mask of every self-attention: a name (see
    `masks.build`), a bool array or a function; a single site's is replaced by an edit. `limit` is
    the number of tokens to keep at most; the trace's tokens know how many were left out. Without it
    a text that is too long raises `LimitError`; an empty one always does. Impossible masks and
    edits raise `InputError`.
    """
    check_edits(edits)
    limits = limits or Limits.from_environment()
    tokens = read_text(model, text, limit, limits)
    return _record(model, tokens, _target(model, target, limits), mask, edits, limits)


def trace_ids(
    model: Model,
    ids: Sequence[int],
    target: str | Sequence[int] | None = None,
    mask: MaskLike | None = None,
    edits: Sequence[Edit] = (),
    limits: Limits | None = None,
) -> Trace:
    """`trace` for tokens by their ids, which need not be what any text is cut into.

    No special token is added. The rest is as in `trace`. Raises `InputError` for an id that the
    vocabulary does not have, `LimitError` for no ids or too many.
    """
    check_edits(edits)
    limits = limits or Limits.from_environment()
    _check_length(len(ids), max_tokens(model.config, limits))
    tokens = from_ids(model.tokenizer, ids)
    return _record(model, tokens, _target(model, target, limits), mask, edits, limits)


def _record(
    model: Model,
    tokens: Tokens,
    target_tokens: Tokens | None,
    mask: MaskLike | None,
    edits: Sequence[Edit],
    limits: Limits,
) -> Trace:
    n_target = len(target_tokens) if target_tokens else 0
    bytes_of_logits = 4 * model.config.d_logits * (n_target or len(tokens))
    run = Run(
        _changes(model, tokens, target_tokens, mask, edits),
        leave_out(model, len(tokens), n_target, limits),
    )
    moved = next((e for e in reversed(edits) if isinstance(e, PositionEdit)), PositionEdit(None))
    position = moved.kind or model.config.position
    output = execute(
        model,
        run,
        torch.tensor([tokens.ids]),
        torch.tensor([target_tokens.ids]) if target_tokens else None,
        position,
        moved.start,
        logits=bytes_of_logits <= limits.logit_bytes,
    )
    logits = None if output.logits is None else output.logits[0]
    encoded = None if output.encoded is None else output.encoded[0]
    captured = MappingProxyType(run.captured)
    return Trace(
        model,
        tokens,
        target_tokens,
        position,
        captured,
        output.hidden[0],
        logits,
        encoded,
        moved.start,
    )


def read_text(
    model: Model, text: str, limit: int | None = None, limits: Limits | None = None
) -> Tokens:
    """The tokens of a text for `model`. Raises `LimitError` if it is empty or too long."""
    limits = limits or Limits.from_environment()
    check_text(text, limits)
    return _tokens(model.tokenizer, text, limit, max_tokens(model.config, limits))


def max_tokens(config: ModelConfig, limits: Limits) -> int:
    """The most tokens a trace may have: the app's limit, or the model's where that is less."""
    return min(limits.tokens, config.max_positions)


def _tokens(tokenizer: Tokenizer, text: str, limit: int | None, most: int) -> Tokens:
    tokens = tokenize(tokenizer, text, None if limit is None else min(limit, most))
    _check_length(len(tokens), most)
    return tokens


def _check_length(n: int, most: int) -> None:
    if not n:
        raise LimitError(_("The text has no characters that this model reads; type others."))
    if n > most:
        message = _("The text has {n} tokens; at most {most} are possible: shorten it by {over}.")
        raise LimitError(message.format(n=n, most=most, over=n - most))


def _target(model: Model, target: str | Sequence[int] | None, limits: Limits) -> Tokens | None:
    if model.target_tokenizer is None:
        if target is None:
            return None
        message = _("{name} is no encoder-decoder and takes no target; leave it out.")
        raise InputError(message.format(name=model.name))
    most = max_tokens(model.config, limits)
    if target is not None and not isinstance(target, str):
        bos = () if model.card.bos_id is None else (model.card.bos_id,)
        _check_length(len(bos) + len(target), most)
        return from_ids(model.target_tokenizer, (*bos, *target))
    if target and len(target) > limits.characters:
        check_text(target, limits)
    return _tokens(model.target_tokenizer, target or "", None, most)


def _changes(
    model: Model,
    tokens: Tokens,
    target_tokens: Tokens | None,
    mask: MaskLike | None,
    edits: Sequence[Edit],
) -> dict[str, Change]:
    """Everything the run changes, by point; of several masks for a site the last one counts."""
    wanted: dict[str, MaskLike] = {}
    if mask is not None:
        wanted = {site: mask for site in model.config.sites if site.endswith(".self")}
    for edit in edits:
        if isinstance(edit, MaskEdit):
            wanted |= dict.fromkeys(matching_sites(model.config, edit.site), edit.mask)
    found = changes(model.config, [edit for edit in edits if isinstance(edit, Ablation)])
    built: dict[tuple[int, str, str], Change] = {}  # all layers share one mask in memory
    for site, spec in wanted.items():
        stack, _layer, part = site.split(".")
        shared = (id(spec), stack, part)
        if shared not in built:
            query, key = _sides(site, tokens, target_tokens)
            real = torch.tensor([token.id != model.card.pad_id for token in key])
            built[shared] = _replace_mask(masks.build(spec, real, len(query)), model.config)
        found[f"{site}.mask"] = built[shared]
    return found


def _sides(site: str, tokens: Tokens, target: Tokens | None) -> tuple[Tokens, Tokens]:
    """The tokens that ask and the tokens that answer at a site."""
    if target is None or site.startswith("encoder"):
        return tokens, tokens
    return target, tokens if site.endswith(".cross") else target


def _replace_mask(mask: Tensor, config: ModelConfig) -> Change:
    check_mask_heads(mask.shape[0], config.n_heads)
    return lambda own, captured: mask[None]
