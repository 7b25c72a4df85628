"""What training minimises: cross-entropy with label smoothing, and R-Drop's consistency term."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional


def smoothed_loss(
    logits: Float[Tensor, "token d_vocab"], labels: Int[Tensor, " token"], smoothing: float
) -> Float[Tensor, ""]:
    """Mean cross-entropy in nats against 1 - ε + ε/d_vocab for the label, ε/d_vocab for others.

    "Attention Is All You Need", section 5.4, after Szegedy et al. 2016.
    """
    return functional.cross_entropy(logits.float(), labels, label_smoothing=smoothing)


def r_drop_loss(
    logits: Float[Tensor, "twice_token d_vocab"],
    labels: Int[Tensor, " token"],
    smoothing: float,
    alpha: float,
) -> Float[Tensor, ""]:
    """R-Drop (Liang et al. 2021, equation 4): the same tokens under two dropout masks should agree.

    `logits` holds the tokens twice, first all under one mask, then all under the other. The loss is
    the mean smoothed cross-entropy of both plus `alpha` / 2 times the mean symmetric divergence.
    """
    log_p = logits.float().log_softmax(dim=-1)
    twice = torch.cat([labels, labels])
    at_label = log_p.gather(-1, twice[:, None]).mean()
    cross_entropy = -(1 - smoothing) * at_label - smoothing * log_p.mean()
    first, second = log_p.chunk(2)
    # KL(p‖q) + KL(q‖p) = Σ (p - q) (log p - log q)
    divergence = ((first.exp() - second.exp()) * (first - second)).sum(dim=-1).mean() / 2
    return cross_entropy + alpha / 2 * divergence
