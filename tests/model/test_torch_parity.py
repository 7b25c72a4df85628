"""The encoder-decoder against `torch.nn.Transformer` with the same parameters."""

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor, nn

from attention_lab.model import masks
from attention_lab.model.transformer import Transformer
from tests.factories import tiny_config, tiny_module

# What our names are called there; q, k and v are one matrix.
RENAMED = {
    "self_attn.w_o": "self_attn.out_proj",
    "cross_attn.w_o": "multihead_attn.out_proj",
    "mlp.w_in": "linear1",
    "mlp.w_out": "linear2",
}
NORMS = {
    "encoder": {"self_norm": "norm1", "mlp_norm": "norm2"},
    "decoder": {"self_norm": "norm1", "cross_norm": "norm2", "mlp_norm": "norm3"},
}


def as_torch(ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Our parameters under the names of `torch.nn.Transformer`."""
    theirs = {}
    for name, tensor in ours.items():
        stack, *_ = name.split(".")
        for old, new in {**RENAMED, **NORMS.get(stack, {})}.items():
            name = name.replace(f".{old}.", f".{new}.")
        if ".w_q." in name:
            joined = [ours[name.replace("w_q", w)] for w in ("w_q", "w_k", "w_v")]
            name = name.replace("cross_attn", "multihead_attn")
            theirs[name.replace("w_q.", "in_proj_")] = torch.cat(joined)
        elif not {"w_k", "w_v", "embed", "unembed"} & set(name.split(".")):
            theirs[name] = tensor
    return theirs


def torch_model(ours: Transformer, n_heads: int) -> nn.Transformer:
    config = ours.config
    theirs = nn.Transformer(
        config.d_model,
        n_heads,
        config.n_layers,
        config.n_layers,
        config.d_ff,
        dropout=0.0,
        activation=config.activation,
        layer_norm_eps=config.norm_eps,
        batch_first=True,
        norm_first=config.norm_place == "pre",
    )
    theirs.load_state_dict(as_torch(ours.state_dict()), strict=True)
    return theirs  # in training mode: without dropout it is the same, and takes no fast path


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("norm_place", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize(("n_source", "n_target"), [(7, 5), (4, 9), (1, 1)])
def test_encoder_decoder_equals_torch(
    norm_place: str, activation: str, n_source: int, n_target: int
) -> None:
    """A batch with padding on both sides, the decoder causal: encoder, decoder, logits."""
    config = tiny_config(
        "encoder-decoder",
        norm_place=norm_place,
        activation=activation,
        position="none",
        embed_scale=True,
        n_layers=3,
    )
    ours = tiny_module(config)
    theirs = torch_model(ours, config.n_heads)
    ids = torch.randint(config.d_vocab, (3, n_source))
    target_ids = torch.randint(config.d_vocab, (3, n_target))
    real = torch.arange(n_source) < torch.tensor([[n_source], [max(1, n_source - 2)], [1]])
    target_real = torch.arange(n_target) < torch.tensor([[n_target], [1], [max(1, n_target - 3)]])
    causal = masks.causal(n_target, n_target)

    out = ours(
        ids,
        target_ids,
        mask=masks.padding(real),
        target_mask=masks.padding(target_real) & causal,
        cross_mask=masks.padding(real),
    )

    source = ours.encoder.embed.token.weight[ids] * 4  # √d_model, with d_model 16
    target = ours.decoder.embed.token.weight[target_ids] * 4
    memory = theirs.encoder(source, src_key_padding_mask=~real)
    expected = theirs.decoder(
        target,
        memory,
        tgt_mask=~causal,
        tgt_key_padding_mask=~target_real,
        memory_key_padding_mask=~real,
    )
    torch.testing.assert_close(out.encoded, memory, rtol=0, atol=1e-5)
    torch.testing.assert_close(out.hidden, expected, rtol=0, atol=1e-5)
    logits = expected @ ours.unembed.weight.T
    torch.testing.assert_close(out.logits, logits, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm_place", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_one_layer_equals_torch(norm_place: str, activation: str) -> None:
    config = tiny_config(
        norm_place=norm_place, activation=activation, n_layers=1, final_norm=False, position="none"
    )
    ours = tiny_module(config)
    theirs = nn.TransformerEncoderLayer(
        config.d_model,
        config.n_heads,
        config.d_ff,
        dropout=0.0,
        activation=activation,
        batch_first=True,
        norm_first=norm_place == "pre",
    )
    names = as_torch(ours.state_dict()).items()
    theirs.load_state_dict({name.removeprefix("encoder.layers.0."): t for name, t in names})
    ids = torch.randint(config.d_vocab, (2, 11))
    expected = theirs(ours.encoder.embed.token.weight[ids])
    torch.testing.assert_close(ours(ids).hidden, expected, rtol=0, atol=1e-5)
