import pytest
import torch
from torch import nn

from attention_lab.training.dropout import ByteDropout, drawing_from, use_byte_dropout
from tests.factories import tiny_config, tiny_module


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5])
def test_share_and_mean(p: float) -> None:
    layer = ByteDropout(p).train()
    with drawing_from(1):
        out = layer(torch.ones(1_000, 333))
    n = out.numel()
    # Five standard deviations of a binomial, and the rounding of p to 1/256.
    margin = 5 * (p * (1 - p) / n) ** 0.5 + 1 / 512
    assert float((out == 0).float().mean()) == pytest.approx(p, abs=margin)
    assert float(out.mean()) == pytest.approx(1.0, abs=margin / (1 - p) + 1e-3)
    assert len(out.unique()) == 2


def test_every_byte_of_a_word_is_drawn_evenly() -> None:
    with drawing_from(2):
        out = ByteDropout(0.5).train()(torch.ones(8 * 20_000)).view(-1, 8)
    assert ((out == 0).float().mean(0) - 0.5).abs().max() < 0.02


def test_only_in_training() -> None:
    x = torch.randn(5, 5)
    assert torch.equal(ByteDropout(0.5).eval()(x), x)
    assert torch.equal(ByteDropout(0.0).train()(x), x)


def test_the_seed_decides() -> None:
    layer, x = ByteDropout(0.5).train(), torch.ones(100)
    outs = []
    for seed in (1, 1, 2):
        with drawing_from(seed):
            outs.append(layer(x))
    assert torch.equal(outs[0], outs[1])
    assert not torch.equal(outs[0], outs[2])


def test_a_model_keeps_its_parameters() -> None:
    module = tiny_module(tiny_config("encoder-decoder", dropout=0.1))
    before = module.state_dict()
    use_byte_dropout(module, 0.25, 0.5)
    assert list(module.state_dict()) == list(before)
    assert not any(isinstance(child, nn.Dropout) for child in module.modules())
    use_byte_dropout(module, 0.1, 0.1)
    use_byte_dropout(module, 0.25, 0.5)  # called again, it changes the shares
    found = {n: c.threshold for n, c in module.named_modules() if isinstance(c, ByteDropout)}
    assert found["encoder.embed.dropout"] == found["decoder.layers.1.dropout"] == 64
    assert (
        found["decoder.layers.0.cross_attn.dropout"] == found["encoder.layers.0.mlp.dropout"] == 128
    )
