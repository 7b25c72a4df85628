"""Edits against models whose parameters were changed to do the same; and what is refused."""

from collections.abc import Callable
from dataclasses import replace
from inspect import unwrap
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import attention_lab as lab
from attention_lab.config import Kind
from attention_lab.errors import InputError
from attention_lab.tracing import edits
from attention_lab.tracing.edits import Edit
from attention_lab.tracing.trace import Trace
from attention_lab.zoo.loaded import Model
from tests.factories import tiny_model
from tests.tracing.helpers import TEXTS, assert_identical, numbers

TEXT = TEXTS[0]
TARGET = "猫 sat on"
KINDS: list[Kind] = ["encoder", "decoder", "encoder-decoder"]


def run(model: Model, text: str = TEXT, **options: Any) -> Trace:
    return lab.trace(model, text, TARGET if model.target_tokenizer else None, **options)


def with_parameters(model: Model, change: Callable[[dict[str, Tensor]], None]) -> Model:
    """A copy of the model whose parameters `change` has changed."""
    fresh = tiny_model(model.config.kind)
    module = type(model.module)(model.config).eval().requires_grad_(False)
    state = {name: tensor.clone() for name, tensor in model.module.state_dict().items()}
    change(state)
    module.load_state_dict(state)
    return replace(fresh, config=model.config, module=module)


def assert_same_output(found: Trace, expected: Trace) -> None:
    np.testing.assert_allclose(found.hidden, expected.hidden, rtol=0, atol=1e-5)
    for site in expected.sites:
        np.testing.assert_allclose(
            found[site].attn_out, expected[site].attn_out, rtol=0, atol=1e-5, err_msg=site
        )


@pytest.mark.parametrize(
    ("kind", "heads"),
    [
        *(("encoder", heads) for heads in (0, [1, 2], None, np.int64(2), range(4))),
        ("decoder", 3),
        ("encoder-decoder", (0, 3)),
    ],
)
def test_zero_is_as_if_the_heads_part_of_w_o_were_zero(kind: Kind, heads: Any) -> None:
    model = tiny_model(kind, n_kv_heads=2)
    stack = model.config.stacks[-1]
    part = "cross" if kind == "encoder-decoder" else "self"
    ablated = list(range(4) if heads is None else np.atleast_1d(heads))

    def change(state: dict[str, Tensor]) -> None:
        for head in ablated:
            state[f"{stack}.layers.1.{part}_attn.w_o.weight"][:, 4 * head : 4 * head + 4] = 0

    site = f"{stack}.1.{part}"
    trace = run(model, edits=[unwrap(lab.ablate)(site, heads)])
    assert_same_output(trace, run(with_parameters(model, change)))
    assert not trace[site].z[ablated].any()
    assert not trace[site].result[ablated].any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mask", [None, "window:1", "causal"])
def test_mean_is_as_if_the_heads_queries_were_zero(kind: Kind, mask: str | None) -> None:
    """Scores of 0 give equal weights to all open keys, and so the mean of their values."""
    model = tiny_model(kind)
    stack = model.config.stacks[-1]

    def change(state: dict[str, Tensor]) -> None:
        for part in ("weight", "bias"):
            state[f"{stack}.layers.0.self_attn.w_q.{part}"][8:12] = 0  # head 2

    site = f"{stack}.0.self"
    trace = run(model, mask=mask, edits=[lab.ablate(site, head=2, to="mean")])
    changed = run(with_parameters(model, change), mask=mask)
    assert_same_output(trace, changed)
    np.testing.assert_allclose(trace[site].weights, changed[site].weights, rtol=0, atol=1e-6)
    assert_identical(
        {"other": trace[site].weights[[0, 1, 3]]},
        {"other": run(model, mask=mask)[site].weights[[0, 1, 3]]},
    )


@pytest.mark.parametrize("to", ["zero", "mean"])
def test_an_ablated_causal_head_sees_no_future(to: Any) -> None:
    """Field note 12: a mean over all positions would carry later tokens to earlier ones."""
    model = tiny_model("decoder")
    edits = [lab.ablate("decoder.*", to=to)]
    short, long = (run(model, text, edits=edits) for text in ("the cat sat", "the cat sat on it"))
    np.testing.assert_allclose(long.hidden[:3], short.hidden, rtol=0, atol=1e-5)
    np.testing.assert_allclose(long.logits[:3], short.logits, rtol=0, atol=1e-5)


def test_a_mean_over_a_closed_row_is_nothing() -> None:
    closed = np.zeros((4, 4), dtype=bool)
    model = tiny_model("decoder")
    edits = [lab.ablate("decoder.*", to="mean")]
    trace = lab.trace(model, "the cat sat on", mask=closed, edits=edits)
    for site in trace.sites:
        assert not trace[site].weights.any()
        assert not trace[site].z.any()
    assert np.isfinite(trace.hidden).all()


@pytest.mark.parametrize("to", ["zero", "mean"])
def test_an_ablation_leaves_its_baseline_as_it_was(to: Any) -> None:
    """Field note 12: neither an earlier trace nor a later one of the same model changes."""
    model = tiny_model("encoder-decoder")
    before = run(model)
    kept = numbers(before)
    ablated = run(model, edits=[lab.ablate("*", to=to)])
    assert not np.allclose(ablated.hidden, before.hidden)
    assert_identical(numbers(before), kept)
    assert_identical(numbers(run(model)), kept)


@pytest.mark.parametrize(("to", "point"), [("zero", "z"), ("mean", "weights")])
def test_an_ablation_puts_a_new_tensor_in_the_place_of_the_old_one(to: Any, point: str) -> None:
    """Field note 12: whoever holds the tensor that the model computed still holds it."""
    config = tiny_model("encoder").config
    name = f"encoder.0.self.{point}"
    change = edits.changes(config, [lab.ablate("encoder.0.self", head=1, to=to)])[name]
    own = torch.rand(1, 4, 5, 5)
    kept = own.clone()
    new = change(own, {"encoder.0.self.mask": torch.ones(1, 5, 5, dtype=torch.bool)})
    assert torch.equal(own, kept)
    assert torch.equal(new[:, [0, 2, 3]], kept[:, [0, 2, 3]])
    assert not torch.equal(new[:, 1], kept[:, 1])


def test_a_pattern_means_all_sites_that_match() -> None:
    model = tiny_model("encoder-decoder")
    trace = run(model, edits=[lab.ablate("decoder.?.cross", head=1)])
    for site in trace.sites:
        assert trace[site].z[1].any() == (not site.endswith("cross"))


def test_several_ablations_of_a_site_add_up() -> None:
    model = tiny_model("encoder")
    site = "encoder.0.self"
    trace = run(
        model,
        edits=[lab.ablate(site, 0), lab.ablate("encoder.*", 2), lab.ablate(site, 1, to="mean")],
    )
    assert [bool(z.any()) for z in trace[site].z] == [False, True, False, True]
    n = len(trace.tokens)
    np.testing.assert_allclose(trace[site].weights[1], np.full((n, n), 1 / n), atol=1e-7)


@pytest.mark.parametrize("head", [4, -1, 99, True, False])
def test_a_head_that_there_is_not_is_refused_with_those_that_there_are(head: Any) -> None:
    for heads in (head, [0, head]):
        with pytest.raises(InputError, match=rf"no head {head}; this model has heads 0 to 3\."):
            run(tiny_model("encoder"), edits=[lab.ablate("encoder.0.self", heads)])


@pytest.mark.parametrize(
    "site", ["encoder.2.self", "decoder.0.self", "", "Encoder.0.self", "*.cross"]
)
@pytest.mark.parametrize("edit", [lab.ablate, lambda site: lab.mask(site, "none")])
def test_a_site_that_there_is_not_is_refused_with_those_that_there_are(
    site: str, edit: Callable[[str], Edit]
) -> None:
    with pytest.raises(
        InputError,
        match=rf'"{site}"; .* has encoder\.0\.self, encoder\.1\.self'.replace("*.c", r"\*\.c"),
    ):
        run(tiny_model("encoder"), edits=[edit(site)])


def test_what_is_not_put_in_a_heads_place_is_refused() -> None:
    with pytest.raises(InputError, match='"zero" or "mean", not \'noise\''):
        unwrap(lab.ablate)("encoder.0.self", 0, "noise")


# Masks


@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_for_all_is_at_every_self_attention(kind: Kind) -> None:
    trace = run(tiny_model(kind), mask="window:1")
    for name in trace.sites:
        mask = trace[name].mask[0]
        if name.endswith("cross"):
            assert mask.all()
        else:
            cells = [[abs(q - k) <= 1 for k in range(len(mask))] for q in range(len(mask))]
            assert mask.tolist() == cells


def test_a_mask_at_a_site_is_there_alone() -> None:
    model = tiny_model("encoder-decoder")
    before = run(model)
    n_query, n_key = before["decoder.1.cross"].mask.shape[1:]
    array = np.random.default_rng(0).random((n_query, n_key)) < 0.5
    trace = run(model, edits=[lab.mask("decoder.1.cross", array)])
    assert trace["decoder.1.cross"].mask.tolist() == [array.tolist()]
    for site in set(trace.sites) - {"decoder.1.cross"}:
        np.testing.assert_array_equal(trace[site].mask, before[site].mask)
    assert not np.allclose(trace.hidden, before.hidden)


def test_of_several_masks_for_a_site_the_last_one_counts() -> None:
    trace = run(
        tiny_model("encoder"),
        mask="causal",
        edits=[lab.mask("encoder.*", "none"), lab.mask("encoder.1.self", "window:0")],
    )
    assert trace["encoder.0.self"].mask.all()
    n = len(trace.tokens)
    assert trace["encoder.1.self"].mask.tolist() == [np.eye(n, dtype=bool).tolist()]


def test_a_mask_a_head_acts_on_that_head() -> None:
    model = tiny_model("encoder")
    n = len(run(model).tokens)
    each = np.ones((4, n, n), dtype=bool)
    each[2] = np.tri(n, dtype=bool)
    trace = run(model, mask=each)
    before, after = run(model)["encoder.0.self"], trace["encoder.0.self"]
    assert after.mask.tolist() == each.tolist()
    assert (np.triu(after.weights[2], 1) == 0).all()
    np.testing.assert_array_equal(after.weights[[0, 1, 3]], before.weights[[0, 1, 3]])


def test_a_function_as_a_mask_is_called_once_for_layers_of_the_same_sizes() -> None:
    sizes = []

    def diagonal(n_query: int, n_key: int) -> np.ndarray:
        sizes.append((n_query, n_key))
        return np.eye(n_query, n_key, dtype=bool)

    trace = run(tiny_model("encoder-decoder"), edits=[lab.mask("*", diagonal)])
    n, m = len(trace.tokens), len(trace.target_tokens)
    assert sorted(sizes) == sorted([(n, n), (m, m), (m, n)])
    for site in trace.sites:
        assert trace[site].mask.tolist() == [
            np.eye(*trace[site].mask.shape[1:]).astype(bool).tolist()
        ]


def test_a_trace_does_not_follow_later_changes_of_the_mask() -> None:
    model = tiny_model("encoder")
    n = len(run(model).tokens)
    array = np.tri(n, dtype=bool)
    trace = run(model, mask=array)
    kept = numbers(trace)
    array[:] = True
    assert_identical(numbers(trace), kept)


def test_a_read_only_mask_is_taken() -> None:
    model = tiny_model("encoder")
    own = run(model, mask="causal")["encoder.1.self"].mask
    assert not own.flags.writeable
    assert_identical(numbers(run(model, mask=own)), numbers(run(model, mask="causal")))
    assert_identical(numbers(run(model, mask=own[0])), numbers(run(model, mask="causal")))


def test_a_closed_row_gives_zeros_everywhere_and_no_nan() -> None:
    """Field note 8."""
    model = tiny_model("encoder")
    n = len(run(model).tokens)
    array = np.ones((n, n), dtype=bool)
    array[2] = False
    trace = run(model, mask=array)
    for name, values in numbers(trace).items():
        assert not np.isnan(values).any(), name
    for name in trace.sites:
        assert not trace[name].weights[:, 2].any()
        np.testing.assert_allclose(np.delete(trace[name].weights, 2, axis=1).sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ("future", "There is no mask"),
        (np.ones((3, 3), dtype=bool), r"shape \(3, 3\); needed is \(9, 9\)"),
        (np.ones((9, 9)), "float64"),
        (np.ones((3, 9, 9), dtype=bool), "has 3 heads; needed is one for all, or one each for 4"),
        (np.ones((0, 9, 9), dtype=bool), "has 0 heads; needed is one for all, or one each for 4"),
        (lambda q, k: np.ones((q, k + 1), dtype=bool), r"shape \(9, 10\)"),
    ],
)
def test_a_malformed_mask_is_refused(mask: Any, message: str) -> None:
    model = tiny_model("encoder")
    for options in ({"mask": mask}, {"edits": [lab.mask("encoder.1.self", mask)]}):
        with pytest.raises(InputError, match=message):
            run(model, **options)


# Positions


def test_none_on_learned_positions_is_as_if_they_were_zero() -> None:
    model = tiny_model("encoder", position="learned")

    def change(state: dict[str, Tensor]) -> None:
        state["encoder.embed.position.weight"][:] = 0

    trace = run(model, edits=[lab.position("none")])
    assert_same_output(trace, run(with_parameters(model, change)))
    assert not np.allclose(trace.hidden, run(model).hidden)


def test_none_on_rotary_leaves_queries_as_they_were_projected() -> None:
    model = tiny_model("decoder", position="rotary")
    trace = run(model, edits=[lab.position("none")])
    assert trace.position == "none"
    stream = torch.from_numpy(trace.residual("decoder.0", "pre").copy())
    layer = model.module.decoder.layers[0]
    q = layer.self_attn.w_q(layer.self_norm(stream))
    n = len(trace.tokens)
    expected = q.view(n, 4, 4).transpose(0, 1).numpy()
    np.testing.assert_allclose(trace["decoder.0.self"].q, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(run(model)["decoder.0.self"].q[:, 0], expected[:, 0], atol=1e-6)


@pytest.mark.parametrize("own", ["sinusoidal", "learned", "rotary", "alibi", "none"])
@pytest.mark.parametrize("other", ["sinusoidal", "rotary", "alibi", "none"])
def test_any_model_takes_positions_that_are_not_learned(own: Any, other: Any) -> None:
    """As if the model had been made with them; the scores of the trace hold ALiBi's bias."""
    model = tiny_model("decoder", position=own)
    trace = run(model, edits=[lab.position(other)])

    def drop(state: dict[str, Tensor]) -> None:
        state.pop("decoder.embed.position.weight", None)

    as_made = replace(model, config=replace(model.config, position=other))
    assert_identical(numbers(trace), numbers(run(with_parameters(as_made, drop))))
    site = trace["decoder.1.self"]
    bias = site.scores - site.q @ site.k.mT / 2
    assert (np.abs(bias).max() > 1e-3) == (other == "alibi")


def test_of_several_positions_the_last_one_counts() -> None:
    model = tiny_model("decoder")
    trace = run(model, edits=[lab.position("alibi"), lab.position("none")])
    assert_identical(numbers(trace), numbers(run(model, edits=[lab.position("none")])))


@pytest.mark.parametrize("own", ["sinusoidal", "rotary", "alibi", "none"])
def test_learned_positions_are_refused_where_nothing_was_learned(own: Any) -> None:
    message = rf"no learned positions; it was trained with {own}\."
    with pytest.raises(InputError, match=message):
        run(tiny_model("decoder", position=own), edits=[lab.position("learned")])


def test_rotary_positions_are_refused_where_dimensions_make_no_pairs() -> None:
    with pytest.raises(InputError, match="d_head is 3, not even"):
        run(tiny_model("decoder", d_head=3), edits=[lab.position("rotary")])


@pytest.mark.parametrize("kind", ["", "Rotary", "rope", None])
def test_unknown_positions_are_refused_with_those_that_there_are(kind: Any) -> None:
    with pytest.raises(InputError, match="there are sinusoidal, learned, rotary, alibi, none"):
        unwrap(lab.position)(kind)
