"""Bugs that grow with depth: blocks without the residual connection, or without the norm."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_lab.clinic.exhibit import (
    Curves,
    Exhibit,
    Function,
    Matrix,
    Result,
    Setting,
    Side,
    passes,
    written,
)
from attention_lab.clinic.subject import Subject, capturing
from attention_lab.i18n import _
from attention_lab.model import positions

DEEPEST = 48  # blocks

Part = Callable[[Tensor], Tensor]  # (length, d_model) → (length, d_model)


def pre_norm(x: Tensor, attend: Part, feed: Part, n1: Part, n2: Part) -> Tensor:
    """The norm, the part, the sum."""
    x = x + attend(n1(x))
    return x + feed(n2(x))


def post_norm(x: Tensor, attend: Part, feed: Part, n1: Part, n2: Part) -> Tensor:
    """The part, the sum, the norm."""
    x = n1(x + attend(x))
    return n2(x + feed(x))


def no_residual_pre(x: Tensor, attend: Part, feed: Part, n1: Part, n2: Part) -> Tensor:
    """What a token was is gone."""
    x = attend(n1(x))
    return feed(n2(x))


def no_residual_post(x: Tensor, attend: Part, feed: Part, n1: Part, n2: Part) -> Tensor:
    """What a token was is gone."""
    x = n1(attend(x))
    return n2(feed(x))


def no_norm(x: Tensor, attend: Part, feed: Part, n1: Part, n2: Part) -> Tensor:
    """Each part reads what grew before."""
    x = x + attend(x)
    return x + feed(x)


def check_residual(block: Function) -> None:
    """Parts that give 0 leave the stream as it is."""
    zero, norm = torch.zeros_like, nn.LayerNorm(8)
    x = norm(torch.arange(24.0).sin().view(3, 8))
    out = block(x, zero, zero, norm, norm)
    assert torch.allclose(out, x, atol=1e-3)


def check_norm(block: Function) -> None:
    """Parts that double: no explosion."""
    norm, keep = nn.LayerNorm(8), nn.Identity()
    x = torch.arange(24.0).sin().view(3, 8)
    for _block in range(32):
        x = block(x, keep, keep, norm, norm)
    assert x.std() < 1000


def exhibits() -> tuple[Exhibit, ...]:
    """The two exhibits, in the order of a lesson."""
    return (
        Exhibit(
            "residual",
            _("No residual connection"),
            _(
                "Without x + …, a token keeps nothing of itself and becomes a mix of all tokens, "
                "again and again. After a few blocks all tokens are the same."
            ),
            check_residual,
            _("Add what each part computes to what it has read."),
            _residual,
            _depths,
        ),
        Exhibit(
            "norm",
            _("No norm"),
            _(
                "Without the norm each block reads what the last one made larger. The standard "
                "deviation grows with depth until the numbers overflow."
            ),
            check_norm,
            _("Normalise before each part (pre-norm) or after each sum (post-norm)."),
            _norm,
            _depths,
        ),
    )


def _depths(subject: Subject) -> Setting:
    n = subject.config.n_layers
    most = min(4 * n, max(DEEPEST, n))
    return Setting("depth", _("Depth: number of blocks"), tuple(range(1, most + 1)), n)


def stream(subject: Subject, block: Function, depth: int) -> list[Float[Tensor, "n d_model"]]:
    """The residual stream after each of `depth` blocks built by `block` from the model's parts.

    Where the model has fewer layers, they are gone through again.
    """
    x, found = subject.embedded, []
    with capturing():
        for i in range(depth):
            x = block(x, *_parts(subject, i % subject.config.n_layers))
            found.append(x)
    return found


def _parts(subject: Subject, layer: int) -> tuple[Part, Part, Part, Part]:
    """Attention, feed-forward net and the two norms of a layer, with the model's parameters."""
    block, config, kind = subject.layers[layer], subject.config, subject.trace.position
    where = torch.arange(subject.n)
    turn = bias = None
    if kind == "rotary":
        turn = positions.rotary_turn(where, config.d_head, config.rotary_base)
    elif kind == "alibi":
        bias = positions.alibi_bias(config.n_heads, subject.n, subject.n)
    mask = torch.tensor(subject.site.mask[None, :, : subject.n, : subject.n])
    attention, mlp = block.get_submodule("self_attn"), block.get_submodule("mlp")

    def attend(x: Tensor) -> Tensor:
        x = x[None]
        out: Tensor = attention(x, x, mask, turn, bias)
        return out[0]

    def feed(x: Tensor) -> Tensor:
        out: Tensor = mlp(x[None])
        return out[0]

    return attend, feed, block.get_submodule("self_norm"), block.get_submodule("mlp_norm")


def sameness(x: Float[Tensor, "n d_model"]) -> float:
    """The mean cosine similarity of two different tokens; 1 = all tokens are the same."""
    n = len(x)
    unit = x / x.norm(dim=-1, keepdim=True)
    return float((unit.sum(dim=0).square().sum() - n) / (n * n - n)) if n > 1 else 1.0


def deviation(x: Float[Tensor, "n d_model"]) -> float:
    """The standard deviation over a token's dimensions, mean over tokens."""
    return float(x.std(dim=-1).mean())


def _residual(subject: Subject, depth: int) -> Result:
    is_pre = subject.config.norm_place == "pre"
    wrong = no_residual_pre if is_pre else no_residual_post

    def matrix(x: Tensor) -> Matrix:
        unit = x / x.norm(dim=-1, keepdim=True)
        titles = (_("token"), _("token"), _("cosine similarity"))
        return Matrix((unit @ unit.T).numpy(), subject.labels, subject.labels, titles, "signed")

    title = _("Mean similarity of two tokens (1 = all the same)")
    return _result(subject, depth, wrong, check_residual, matrix, (title, sameness, False))


def _norm(subject: Subject, depth: int) -> Result:
    title = _("Standard deviation of the residual stream")
    return _result(subject, depth, no_norm, check_norm, None, (title, deviation, True))


def _result(
    subject: Subject,
    depth: int,
    wrong: Function,
    check: Function,
    matrix: Callable[[Tensor], Matrix] | None,
    measured: tuple[str, Callable[[Tensor], float], bool],
) -> Result:
    """Both ways through `depth` blocks; the picture is of the last stream or, by default, all."""
    right = pre_norm if subject.config.norm_place == "pre" else post_norm
    title, measure, logarithmic = measured
    streams = {block: stream(subject, block, depth) for block in (wrong, right)}

    def side(block: Function) -> Side:
        found = streams[block]
        numbers = (
            (title, written(measure(found[-1]))),
            (_("Standard deviation before the first block"), written(deviation(subject.embedded))),
            (_("Standard deviation after the last block"), written(deviation(found[-1]))),
            (
                _("Numbers that are not finite after the last block"),
                f"{int((~found[-1].isfinite()).sum()):,}",
            ),
        )
        shown = _deviations(subject, found) if matrix is None else matrix(found[-1])
        return Side((block,), shown, numbers[matrix is None :], passes(check, block))

    values = {block: tuple(map(measure, found)) for block, found in streams.items()}
    x = tuple(range(1, depth + 1))
    curves = Curves(title, _("blocks"), x, values[wrong], values[right], logarithmic)
    n_layers = subject.config.n_layers
    note = _(
        "The blocks have the model's own parameters and start from your sentence's embeddings."
    )
    if depth > n_layers:
        again = _("The model has {n} layers; after the last one they are gone through again.")
        note += " " + again.format(n=n_layers)
    return Result(side(wrong), side(right), (curves,), note=note)


def _deviations(subject: Subject, streams: list[Tensor]) -> Matrix:
    """For each block and token, how many powers of ten its standard deviation is from 1."""
    values = torch.stack([x.std(dim=-1) for x in streams]).log10()
    titles = (_("block"), _("token"), _("log10 of the standard deviation"))
    rows = tuple(str(i) for i in range(1, len(streams) + 1))
    return Matrix(values.numpy(), rows, subject.labels, titles, "signed")
