"""The numbers of a walk: the whole site recomputed, every intermediate result by name."""

import torch
from torch import Tensor

from attention_lab.walk import steps
from attention_lab.walk.inputs import Inputs, Norm

Arrays = dict[str, Tensor]


def compute(inputs: Inputs, head: int, query: int, key: int) -> Arrays:
    """Every number of the walk by the name its line gives it, in the precision of the inputs.

    Names in the plural of all heads (`q`, `all_z`) have the head axis; the rest belong to `head`.
    """
    x_normed = normalise(inputs.x, inputs.pre_norm)
    q, k, v = _queries_keys_values(inputs, x_normed)
    dots = q @ k.mT
    scores = steps.scaled(dots, q.shape[-1], inputs.bias)
    mask = inputs.mask.expand(scores.shape)
    masked = steps.masked(scores, mask)
    weights = steps.softmax(masked)
    all_z = steps.mix(weights, v)
    exps = steps.exponentials(masked[head, query])
    products = steps.multiply(q[head, query], k[head, key])
    concat = steps.merge_heads(all_z)
    attn_out = steps.project(concat, inputs.w_o, inputs.b_o)
    residual = inputs.x + attn_out
    return {
        "x": inputs.x,
        "x_normed": x_normed,
        "k": k,
        "v": v,
        "q": q,
        "products": products,
        "dot": products.sum(),
        "dots": dots[head],
        "scores": scores[head],
        "mask": mask[head],
        "masked_scores": masked[head],
        "exps": exps,
        "total": exps.sum(),
        "weights": steps.quotient(exps),
        "weighted_values": weights[head, query][:, None] * v[head],
        "z": steps.mix(weights[head, query], v[head]),
        "all_z": all_z,
        "concat": concat,
        "attn_out": attn_out,
        "residual": residual,
        "normed": normalise(residual, inputs.post_norm),
    }


def normalise(x: Tensor, norm: Norm | None) -> Tensor:
    """`x` through a norm; unchanged where there is none."""
    if norm is None:
        return x
    if norm.bias is None:
        return steps.rms_norm(x, norm.weight, norm.eps)
    return steps.layer_norm(x, norm.weight, norm.bias, norm.eps)


def _queries_keys_values(inputs: Inputs, x_normed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    context = inputs.context if inputs.is_cross else x_normed
    q = steps.split_heads(steps.project(x_normed, inputs.w_q, inputs.b_q), inputs.n_heads)
    k = steps.split_heads(steps.project(context, inputs.w_k, inputs.b_k), inputs.n_kv_heads)
    v = steps.split_heads(steps.project(context, inputs.w_v, inputs.b_v), inputs.n_kv_heads)
    if inputs.angles is not None:
        q, k = steps.rotate(q, inputs.angles), steps.rotate(k, inputs.angles)
    return q, steps.share_heads(k, inputs.n_heads), steps.share_heads(v, inputs.n_heads)


def largest_difference(a: Tensor, b: Tensor) -> float:
    """The largest absolute difference; cells that are -inf in both agree."""
    if not a.numel():
        return 0.0
    same = torch.isneginf(a) & torch.isneginf(b)
    return float((a.double() - b.double()).masked_fill(same, 0.0).abs().max())
