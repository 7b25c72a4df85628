"""Ablations against models whose parameters were changed to do the same; and what is refused."""

from collections.abc import Callable
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
from tests.factories import tiny_model
from tests.tracing.helpers import (
    TEXTS,
    assert_identical,
    assert_same_output,
    numbers,
    run,
    with_parameters,
)

TEXT = TEXTS[0]
KINDS: list[Kind] = ["encoder", "decoder", "encoder-decoder"]


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
