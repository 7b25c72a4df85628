import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from attention_lab.training.loss import r_drop_loss, smoothed_loss


@given(st.integers(0, 2**31), st.sampled_from([0.0, 0.1, 0.5]))
def test_smoothing_is_the_cross_entropy_with_the_smoothed_distribution(
    seed: int, smoothing: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(6, 11, generator=generator)
    labels = torch.randint(0, 11, (6,), generator=generator)
    wanted = torch.full((6, 11), smoothing / 11)
    wanted[torch.arange(6), labels] += 1 - smoothing
    by_hand = -(wanted * (logits.exp() / logits.exp().sum(-1, keepdim=True)).log()).sum(-1).mean()
    torch.testing.assert_close(smoothed_loss(logits, labels, smoothing), by_hand)


def test_r_drop_without_weight_is_torchs_label_smoothing_on_both_copies() -> None:
    logits, labels = torch.randn(10, 7), torch.tensor([1, 2, 3, 4, 5])
    torchs = functional.cross_entropy(logits, labels.repeat(2), label_smoothing=0.1)
    torch.testing.assert_close(r_drop_loss(logits, labels, 0.1, 0.0), torchs)


def test_r_drop_adds_the_symmetric_divergence() -> None:
    logits, labels = torch.randn(10, 7), torch.tensor([1, 2, 3, 4, 5])
    p, q = logits.log_softmax(-1).chunk(2)
    both = functional.kl_div(p, q, log_target=True, reduction="batchmean") + functional.kl_div(
        q, p, log_target=True, reduction="batchmean"
    )
    extra = r_drop_loss(logits, labels, 0.1, 3.0) - r_drop_loss(logits, labels, 0.1, 0.0)
    assert float(extra) == pytest.approx(3.0 / 2 * float(both) / 2, rel=1e-4)
    same = logits[:5].repeat(2, 1)
    torch.testing.assert_close(
        r_drop_loss(same, labels, 0.1, 3.0), r_drop_loss(same, labels, 0.1, 0.0)
    )
