"""The whole model: its parameters' names, its default masks, what it refuses, its invariants."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attention_lab.config import Kind, ModelConfig, Position
from attention_lab.errors import InputError
from attention_lab.model import masks
from attention_lab.model.attention import POINTS
from attention_lab.model.cache import KeyValueCache
from attention_lab.model.points import observing
from attention_lab.model.transformer import Transformer
from tests.factories import Recorder, tiny_config, tiny_module

KINDS: list[Kind] = ["encoder", "decoder", "encoder-decoder"]
POSITIONS: list[Position] = ["sinusoidal", "learned", "rotary", "alibi", "none"]
CLOSE = {"rtol": 0.0, "atol": 1e-5}

configs = st.builds(
    tiny_config,
    st.sampled_from(KINDS),
    position=st.sampled_from(POSITIONS),
    norm=st.sampled_from(["layer", "rms"]),
    norm_place=st.sampled_from(["pre", "post"]),
    activation=st.sampled_from(["relu", "gelu", "gelu_tanh", "silu_gated"]),
    n_kv_heads=st.sampled_from([1, 2, 4]),
    d_head=st.sampled_from([2, 4, 6]),  # need not be d_model / n_heads
    attention_bias=st.booleans(),
    mlp_bias=st.booleans(),
    final_norm=st.booleans(),
    embed_norm=st.booleans(),
    embed_scale=st.booleans(),
    n_segments=st.sampled_from([0, 2]),
    tie_embeddings=st.booleans(),
    unembed=st.booleans(),
)


def run(module: Transformer, ids: Tensor, target_ids: Tensor) -> Recorder:
    """Everything that a forward passes through its points, and its outputs."""
    recorder = Recorder()
    both = module.config.kind == "encoder-decoder"
    with torch.inference_mode(), observing(recorder):
        out = module(ids, target_ids if both else None)
    recorder["hidden"] = out.hidden
    if out.logits is not None:
        recorder["logits"] = out.logits
    return recorder


def random_ids(config: ModelConfig, length: int, batch: int = 2) -> Tensor:
    return torch.randint(config.d_vocab, (batch, length))


@settings(max_examples=40)
@given(configs, st.integers(1, 9), st.integers(1, 9))
def test_what_holds_in_every_model(config: ModelConfig, n_source: int, n_target: int) -> None:
    """Rows sum to 1, closed cells are 0, heads and residual stream add up, shapes are right."""
    module = tiny_module(config)
    seen = run(module, random_ids(config, n_source), random_ids(config, n_target))
    both = config.kind == "encoder-decoder"
    for site in config.sites:
        weights, mask = seen[f"{site}.weights"], seen[f"{site}.mask"]
        n_query = n_target if both and site.startswith("decoder") else n_source
        n_key = n_source if site.endswith("cross") else n_query
        assert weights.shape == (2, 4, n_query, n_key)
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 4, n_query), **CLOSE)
        assert (weights[~mask.expand(weights.shape)] == 0).all()
        if config.norm_place == "pre" and site.endswith("self"):
            layer = site.removesuffix(".self")
            moved = seen[f"{layer}.pre"] + seen[f"{site}.attn_out"]
            torch.testing.assert_close(seen[f"{layer}.mid"], moved, rtol=0, atol=0)
            before_mlp = seen.get(f"{layer}.cross", seen[f"{layer}.mid"])
            moved = before_mlp + seen[f"{layer}.mlp_out"]
            torch.testing.assert_close(seen[f"{layer}.post"], moved, rtol=0, atol=0)
    assert ("logits" in seen) == config.unembed


@settings(max_examples=20)
@given(configs.filter(lambda config: config.kind != "encoder"), st.integers(2, 9), st.data())
def test_a_later_token_moves_no_earlier_output(
    config: ModelConfig, length: int, data: st.DataObject
) -> None:
    module = tiny_module(config)
    place = data.draw(st.integers(1, length - 1))
    ids, source = random_ids(config, length), random_ids(config, 5)
    changed = ids.clone()
    changed[:, place] = (changed[:, place] + 1) % config.d_vocab
    both = config.kind == "encoder-decoder"
    inputs = [(source, x) if both else (x, x) for x in (ids, changed)]
    before, after = (run(module, *pair)["hidden"] for pair in inputs)
    torch.testing.assert_close(after[:, :place], before[:, :place], **CLOSE)
    assert not torch.equal(after[:, place], before[:, place])


def test_an_encoder_sees_later_tokens() -> None:
    module = tiny_module(tiny_config("encoder"))
    ids = random_ids(module.config, 6)
    changed = ids.clone()
    changed[:, 5] = (changed[:, 5] + 1) % module.config.d_vocab
    assert not torch.allclose(module(ids).hidden[:, 0], module(changed).hidden[:, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_padding_in_a_batch_does_not_move_the_others(kind: Kind) -> None:
    """A short text padded beside a long one gives what it gives alone."""
    config = tiny_config(kind)
    module = tiny_module(config)
    ids = random_ids(config, 7)
    real = torch.arange(7) < torch.tensor([[7], [4]])
    mask = masks.padding(real)
    if kind == "encoder-decoder":
        targets = random_ids(config, 3)
        padded = module(ids, targets, mask=mask, cross_mask=mask).hidden[1]
        alone = module(ids[1:, :4], targets[1:]).hidden[0]
    else:
        mask = mask & masks.causal(7, 7) if kind == "decoder" else mask
        padded, alone = module(ids, mask=mask).hidden[1, :4], module(ids[1:, :4]).hidden[0]
    torch.testing.assert_close(padded, alone, **CLOSE)


def test_without_positions_an_encoder_is_blind_to_order() -> None:
    config = tiny_config(position="none")
    module = tiny_module(config)
    ids, order = random_ids(config, 8), torch.randperm(8)
    shuffled = module(ids[:, order]).hidden
    torch.testing.assert_close(shuffled, module(ids).hidden[:, order], **CLOSE)
    sorted_out = module(ids[:, order], position="sinusoidal").hidden
    assert not torch.allclose(sorted_out, module(ids, position="sinusoidal").hidden[:, order])


@pytest.mark.parametrize("kind", KINDS)
def test_every_site_and_layer_has_its_points_under_the_designs_names(kind: Kind) -> None:
    config = tiny_config(kind)
    module = tiny_module(config)
    ids = random_ids(config, 5)
    wanted = {f"{site}.{point}" for site in config.sites for point in POINTS} | {"hidden"}
    for stack in config.stacks:
        places = ["pre", "mid", "mlp_out", "post"]
        places += ["cross"] if kind == "encoder-decoder" and stack == "decoder" else []
        wanted |= {f"{stack}.{layer}.{at}" for layer in range(2) for at in places}
    wanted |= {"logits"} if config.unembed else set()
    assert set(run(module, ids, ids)) == wanted


def test_parameters_of_an_encoder_decoder_have_the_agreed_names() -> None:
    names = set(Transformer(tiny_config("encoder-decoder")).state_dict())
    linear = r"(weight|bias)"
    attention = rf"(self|cross)_attn\.w_[qkvo]\.{linear}"
    layer = (
        rf"layers\.[01]\.({attention}|(self|cross|mlp)_norm\.{linear}|mlp\.w_(in|out)\.{linear})"
    )
    pattern = rf"(encoder|decoder)\.(embed\.token\.weight|{layer}|norm\.{linear})|unembed\.weight"
    assert not [name for name in names if not re.fullmatch(pattern, name)]
    assert len(names) == 2 * (8 + 4 + 4) + 2 * (16 + 6 + 4) + 2 * 2 + 2 + 1


def test_parameters_of_a_llama_and_of_a_bert() -> None:
    llama = tiny_config(
        "decoder", norm="rms", activation="silu_gated", attention_bias=False, mlp_bias=False
    )
    names = set(Transformer(llama).state_dict())
    assert "decoder.layers.0.mlp.w_gate.weight" in names
    assert not [name for name in names if name.endswith("bias")]
    bert = tiny_config(position="learned", n_segments=2, embed_norm=True, final_norm=False)
    shapes = {name: tuple(p.shape) for name, p in Transformer(bert).state_dict().items()}
    assert shapes["encoder.embed.position.weight"] == (64, 16)
    assert shapes["encoder.embed.segment.weight"] == (2, 16)
    assert shapes["encoder.embed.norm.bias"] == (16,)
    assert not [name for name in shapes if name.startswith(("encoder.norm", "unembed"))]


def test_a_model_made_on_the_meta_device_takes_parameters_and_runs() -> None:
    """That is how converted checkpoints are loaded: nothing is computed while building."""
    config = tiny_config("encoder-decoder", position="rotary")
    filled = tiny_module(config)
    with torch.device("meta"):
        module = Transformer(config)
    module.load_state_dict(filled.state_dict(), assign=True)
    ids = random_ids(config, 5)
    assert torch.equal(module.eval()(ids, ids).logits, filled(ids, ids).logits)


def test_tied_logits_are_products_with_the_decoders_embeddings() -> None:
    module = tiny_module(tiny_config("encoder-decoder", tie_embeddings=True))
    assert "unembed.weight" not in module.state_dict()
    out = module(random_ids(module.config, 5), random_ids(module.config, 3))
    expected = out.hidden @ module.decoder.embed.token.weight.T
    torch.testing.assert_close(out.logits, expected, **CLOSE)


def test_logits_are_left_out_when_not_wanted() -> None:
    module = tiny_module(tiny_config("decoder"))
    ids = random_ids(module.config, 3)
    assert module(ids, logits=False).logits is None
    assert module(ids).logits.shape == (2, 3, module.config.d_vocab)


def test_impossible_combinations_are_refused() -> None:
    ids = torch.zeros(1, 3, dtype=torch.int64)
    encoder, decoder = tiny_module(tiny_config("encoder")), tiny_module(tiny_config("decoder"))
    both = tiny_module(tiny_config("encoder-decoder"))
    with pytest.raises(InputError, match="needs target_ids"):
        both(ids)
    with pytest.raises(InputError, match="no encoder"):
        decoder.encode(ids)
    with pytest.raises(InputError, match="no decoder"):
        encoder.decode(ids)
    for module in (encoder, decoder):
        with pytest.raises(InputError, match="target"):
            module(ids, ids)
    with pytest.raises(InputError, match="encoded"):
        both.decode(ids)
    with pytest.raises(InputError, match="cache"):
        encoder(ids, cache=KeyValueCache())


def test_positions_that_the_model_has_not_learned_are_refused() -> None:
    ids = torch.zeros(1, 3, dtype=torch.int64)
    with pytest.raises(InputError, match="no learned positions; it was trained with sinusoidal"):
        tiny_module(tiny_config())(ids, position="learned")
    with pytest.raises(InputError, match="d_head is 3, not even"):
        tiny_module(tiny_config(d_head=3))(ids, position="rotary")
    short = tiny_module(tiny_config(position="learned", max_positions=2))
    with pytest.raises(InputError, match="learned 2 positions, and the text needs 3"):
        short(ids)
