"""A trace holds what the forward computed, and nobody can change it afterwards."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import attention_lab as lab
from attention_lab.config import Kind, Limits
from attention_lab.errors import InputError
from attention_lab.model.attention import POINTS
from attention_lab.model.points import observing
from attention_lab.tracing.site import PAIR_STAGES, STAGES
from attention_lab.tracing.trace import Trace
from tests.factories import Recorder, tiny_model
from tests.tracing.helpers import TEXTS, assert_identical, numbers

KINDS: list[Kind] = ["encoder", "decoder", "encoder-decoder"]
MASKS = [None, "none", "causal", "window:1", "causal+window:2", lambda q, k: np.eye(q, k) == 0]

models = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        "seed": st.integers(0, 9),
        "position": st.sampled_from(["sinusoidal", "learned", "rotary", "alibi", "none"]),
        "norm": st.sampled_from(["layer", "rms"]),
        "norm_place": st.sampled_from(["pre", "post"]),
        "n_kv_heads": st.sampled_from([1, 2, 4]),
        "attention_bias": st.booleans(),
    }
)


def run(model: Any, text: str, **options: Any) -> Trace:
    target = "猫 sat" if model.config.kind == "encoder-decoder" else None
    return lab.trace(model, text, target, **options)


@settings(max_examples=15)
@given(models, st.sampled_from(TEXTS), st.sampled_from(MASKS))
def test_what_holds_in_every_trace(choices: Any, text: str, mask: Any) -> None:
    """Rows sum to 1 or 0, closed cells are 0, heads sum to attn_out, pre-norm adds it."""
    model = tiny_model(**choices)
    trace = run(model, text, mask=mask)
    state = model.module.state_dict()
    for name in trace.sites:
        site = trace[name]
        open_rows = np.broadcast_to(site.mask, site.weights.shape).any(axis=-1)
        np.testing.assert_allclose(site.weights.sum(axis=-1), open_rows, rtol=0, atol=1e-5)
        closed = ~np.broadcast_to(site.mask, site.weights.shape)
        assert (site.weights[closed] == 0).all()
        assert (site.masked_scores[closed] == -np.inf).all()
        assert np.isfinite(site.scores).all()
        np.testing.assert_allclose(site.weights @ site.v, site.z, rtol=0, atol=1e-5)
        stack, layer, part = name.split(".")
        total = site.result.sum(axis=0)
        if model.config.attention_bias:
            total = total + state[f"{stack}.layers.{layer}.{part}_attn.w_o.bias"].numpy()
        np.testing.assert_allclose(total, site.attn_out, rtol=0, atol=1e-5)
        if model.config.norm_place == "pre" and part == "self":
            moved = trace.residual(f"{stack}.{layer}", "pre") + site.attn_out
            np.testing.assert_array_equal(trace.residual(f"{stack}.{layer}", "mid"), moved)


@settings(max_examples=15)
@given(models, st.sampled_from(TEXTS))
def test_every_stage_is_what_the_forward_computed(choices: Any, text: str) -> None:
    """Stored or derived: all stages equal those that an observer of the same forward sees."""
    model = tiny_model(**choices)
    trace = run(model, text)
    seen = Recorder()
    target_ids = torch.tensor([trace.target_tokens.ids]) if trace.target_tokens else None
    with torch.inference_mode(), observing(seen):
        out = model.module(torch.tensor([trace.tokens.ids]), target_ids)
    for name in trace.sites:
        for stage in POINTS:
            expected = seen[f"{name}.{stage}"][0].numpy()
            found = getattr(trace[name], stage)
            if stage in ("k", "v"):  # one for each query head, neighbours in a group
                expected = expected.repeat(4 // model.config.n_kv_heads, axis=0)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6, err_msg=stage)
    np.testing.assert_array_equal(trace.hidden, out.hidden[0].numpy())
    if out.encoded is None:
        assert trace.encoded is None
    else:
        np.testing.assert_array_equal(trace.encoded, out.encoded[0].numpy())
    for key in set(seen) - {f"{site}.{point}" for site in trace.sites for point in POINTS}:
        layer, _, at = key.rpartition(".")
        np.testing.assert_array_equal(trace.residual(layer, at), seen[key][0].numpy())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("position", ["learned", "rotary", "alibi"])
@pytest.mark.parametrize("mask", [MASKS[0], *MASKS[-2:]])
def test_a_large_trace_derives_what_a_small_one_stores(
    kind: Kind, position: str, mask: Any
) -> None:
    model = tiny_model(kind, position=position, n_kv_heads=2)
    small = run(model, TEXTS[0], mask=mask)
    large = run(model, TEXTS[0], mask=mask, limits=Limits(weight_bytes=1, logit_bytes=1))
    assert large.nbytes < small.nbytes
    derived, stored = numbers(large), numbers(small)
    stored = {name: array for name, array in stored.items() if name in derived}
    assert {f"{site}.weights" for site in small.sites} < derived.keys()
    for name, array in stored.items():
        np.testing.assert_allclose(derived[name], array, rtol=0, atol=1e-6, err_msg=name)


def test_a_large_trace_stores_the_weights_that_an_edit_made() -> None:
    """They cannot be derived from q, k and mask."""
    model, edits = tiny_model("decoder"), [lab.ablate("decoder.1.self", head=2, to="mean")]
    small = lab.trace(model, TEXTS[0], edits=edits)
    large = lab.trace(model, TEXTS[0], edits=edits, limits=Limits(weight_bytes=1))
    np.testing.assert_array_equal(large["decoder.1.self"].weights, small["decoder.1.self"].weights)


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_are_read_only_float32_of_the_designs_shapes(kind: Kind) -> None:
    model = tiny_model(kind, n_kv_heads=2, d_head=6)
    trace = run(model, "The cat sat.")
    n_target = len(trace.target_tokens) if trace.target_tokens else 0
    for name in trace.sites:
        site = trace[name]
        q = n_target if kind == "encoder-decoder" and "decoder" in name else len(trace.tokens)
        k = len(trace.tokens) if name.endswith("cross") else q
        assert (len(site.query_tokens), len(site.key_tokens)) == (q, k)
        pair = dict.fromkeys(("scores", "masked_scores", "weights"), (4, q, k))
        wanted = {"q": (4, q, 6), "k": (4, k, 6), "v": (4, k, 6), "z": (4, q, 6)}
        wanted |= pair | {"mask": (1, q, k), "result": (4, q, 16)}
        assert {stage: site.stage(stage).shape for stage in STAGES} == wanted
        assert site.attn_out.shape == (q, 16)
    for name, array in numbers(trace).items():
        assert array.dtype == (np.bool_ if name.endswith("mask") else np.float32), name
    views = [trace.hidden, trace.residual(f"{model.config.stacks[0]}.0", "pre")]
    views += [trace[site].stage(stage) for site in trace.sites for stage in STAGES]
    views += [trace[site].attn_out for site in trace.sites]
    views += [] if trace.encoded is None else [trace.encoded]
    views += [] if trace.logits is None else [trace.logits, trace.logits_at(0)]
    for view in views:
        assert not view.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 0


def test_scores_are_those_before_the_mask() -> None:
    """Field note 18: capturing "scores" after the mask would show -inf."""
    site = lab.trace(tiny_model("decoder"), TEXTS[0])["decoder.0.self"]
    assert np.isfinite(site.scores).all()
    np.testing.assert_allclose(site.scores, site.q @ site.k.mT / 2, rtol=0, atol=1e-5)  # √4
    assert (site.masked_scores[:, 0, 1:] == -np.inf).all()


def test_an_encoders_mask_is_open_and_a_decoders_causal() -> None:
    """Field note 9: no causal triangle on a bidirectional model, and the mask is computed."""
    encoder = lab.trace(tiny_model("encoder"), TEXTS[0])["encoder.0.self"]
    assert encoder.mask.all()
    assert (encoder.weights > 0).all()
    decoder = lab.trace(tiny_model("decoder"), TEXTS[0])["decoder.0.self"]
    n = len(decoder.query_tokens)
    assert decoder.mask.tolist() == [np.tri(n, dtype=bool).tolist()]
    assert (np.triu(decoder.weights, 1) == 0).all()


def test_another_mask_is_computed_and_not_painted() -> None:
    """Field note 9: what is left of a row sums to 1 again, and later layers follow."""
    model = tiny_model("encoder")
    before, after = lab.trace(model, TEXTS[0]), lab.trace(model, TEXTS[0], mask="window:1")
    first = after["encoder.0.self"]
    near = before["encoder.0.self"].weights * first.mask
    np.testing.assert_allclose(first.weights, near / near.sum(-1, keepdims=True), atol=1e-5)
    assert not np.allclose(before.hidden, after.hidden)


@pytest.mark.parametrize("kind", ["decoder", "encoder-decoder"])
def test_logits_at_one_position_are_a_row_of_the_logits(kind: Kind) -> None:
    trace = run(tiny_model(kind), TEXTS[0])
    np.testing.assert_allclose(trace.logits_at(-1), trace.logits[-1], rtol=0, atol=1e-5)


def test_a_model_without_unembedding_has_no_logits() -> None:
    trace = lab.trace(tiny_model("encoder"), TEXTS[0])
    assert trace.logits is None
    assert trace.logits_at(0) is None


def test_logits_are_derived_although_the_model_could_be_trained() -> None:
    model = tiny_model("decoder")
    model.module.requires_grad_(True)
    trace = lab.trace(model, TEXTS[0], limits=Limits(logit_bytes=1))
    assert trace.logits_tensor is None
    np.testing.assert_array_equal(trace.logits, lab.trace(model, TEXTS[0]).logits)
    assert trace.logits_at(0).shape == trace.logits.shape[1:]
    trace["decoder.0.self"].result  # noqa: B018


def test_unknown_names_are_refused_with_those_that_there_are() -> None:
    trace = lab.trace(tiny_model("encoder"), "a cat")
    with pytest.raises(InputError, match=r'no attention site "encoder.2.self".*encoder\.1\.self'):
        trace["encoder.2.self"]
    with pytest.raises(InputError, match=r'no stage "attention".*weights'):
        trace["encoder.0.self"].stage("attention")
    with pytest.raises(InputError, match=r'no residual stream "cross" of "encoder\.0"'):
        trace.residual("encoder.0", "cross")
    with pytest.raises(InputError, match=r'of "decoder\.0"; layers are encoder\.0, encoder\.1'):
        trace.residual("decoder.0", "pre")
    with pytest.raises(InputError, match="no residual stream"):
        trace.residual("encoder.0.self", "q")
    with pytest.raises(InputError, match="no residual stream"):
        trace.residual("encoder", "0.pre")


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("head", [None, 0, 3])
def test_a_stage_as_a_table(stage: str, head: int | None) -> None:
    """One row a number, at the place and with the tokens that it belongs to."""
    trace = run(tiny_model("encoder-decoder", n_kv_heads=2), "the cat sat on the cat")
    site = trace["decoder.1.cross"]
    frame = trace.to_frame("decoder.1.cross", stage, head)
    array = site.stage(stage)
    heads = [0] if stage == "mask" else range(4) if head is None else [head]
    assert len(frame) == len(heads) * array[0].size
    row, column = ("query", "key") if stage in PAIR_STAGES else ("position", "dimension")
    for line in frame.sample(20, random_state=0, replace=True).itertuples():
        assert line.head in heads
        assert line.value == array[line.head, getattr(line, row), getattr(line, column)]
        if stage in PAIR_STAGES:
            assert line.query_token == trace.target_tokens[line.query].text
            assert line.key_token == trace.tokens[line.key].text
        else:
            tokens = trace.tokens if stage in ("k", "v") else trace.target_tokens
            assert line.token == tokens[line.position].text
    assert not frame.duplicated(["head", row, column]).any()


def test_a_mask_a_head_as_a_table() -> None:
    each = np.random.default_rng(0).random((4, 3, 3)) < 0.5
    trace = lab.trace(tiny_model("decoder"), "a cat sat", mask=each)
    frame = trace.to_frame("decoder.0.self", "mask", head=2)
    assert frame["head"].eq(2).all()
    assert frame["value"].tolist() == each[2].ravel().tolist()


@pytest.mark.parametrize("head", [4, -1, True])
def test_a_table_of_a_head_that_there_is_not_is_refused(head: Any) -> None:
    trace = lab.trace(tiny_model("encoder"), "a cat")
    for stage in ("weights", "mask"):
        with pytest.raises(InputError, match="heads 0 to 3"):
            trace.to_frame("encoder.0.self", stage, head)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight_bytes", [1, 2**20])
def test_the_table_of_shapes_lists_every_tensor(kind: Kind, weight_bytes: int) -> None:
    model = tiny_model(kind, n_kv_heads=2, d_head=6)
    trace = run(model, TEXTS[0], limits=Limits(weight_bytes=weight_bytes))
    shapes = trace.shapes().set_index("name")
    assert shapes.index.is_unique
    arrays = numbers(trace)
    for name, row in shapes.iterrows():
        assert row["shape"] == arrays[name].shape, name
        assert len(row["letters"].split(", ")) == arrays[name].ndim
        stored = name in trace.captured or name in ("hidden", "logits", "encoded")
        assert row["stored"] == stored, name
        kept = trace.captured[name].numpy() if name in trace.captured else arrays[name]
        assert row["bytes"] == (kept.nbytes if stored else 0), name
    assert set(arrays) == set(shapes.index)
    assert isinstance(trace.shapes(), pd.DataFrame)


def test_two_traces_of_the_same_text_are_equal() -> None:
    model = tiny_model("encoder-decoder")
    assert_identical(numbers(run(model, TEXTS[0])), numbers(run(model, TEXTS[0])))


def test_a_trace_cannot_be_given_other_values() -> None:
    trace = lab.trace(tiny_model("encoder"), "a cat")
    with pytest.raises(AttributeError):
        trace.position = "none"  # type: ignore[misc]
    with pytest.raises(TypeError):
        trace.captured["hidden"] = torch.zeros(1)  # type: ignore[index]
