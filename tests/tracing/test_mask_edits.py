"""Masks of one's own: where they act, what they are, and what is refused."""

import resource
from typing import Any

import numpy as np
import pytest
import torch

import attention_lab as lab
from attention_lab.config import Kind, Limits
from attention_lab.errors import InputError
from attention_lab.model import masks
from attention_lab.zoo.loaded import Model
from tests.factories import tiny_model
from tests.tracing.helpers import assert_identical, numbers, run

KINDS: list[Kind] = ["encoder", "decoder", "encoder-decoder"]


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
        (lambda q, k: np.full((q, k), np.nan), "float64"),
        (lambda q, k: [[True] * k] * q, "list"),
        (np.full((9, 9), np.nan), "float64"),
        (np.ones((9, 9), dtype=object), "object"),
        (np.ones((2, 4, 9, 9), dtype=bool), r"shape \(2, 4, 9, 9\)"),
        ("dilated:2:0", "There is no mask"),
    ],
)
def test_a_malformed_mask_is_refused(mask: Any, message: str) -> None:
    model = tiny_model("encoder")
    for options in ({"mask": mask}, {"edits": [lab.mask("encoder.1.self", mask)]}):
        with pytest.raises(InputError, match=message):
            run(model, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name",
    ["dilated:1:2", "prefix:2", "blocks:2,3", "global:1", "window:1|global:0", "none^cells:1.0"],
)
def test_every_name_goes_through_a_trace(kind: Kind, name: str) -> None:
    trace = run(tiny_model(kind), mask=name)
    for site in trace.sites:
        if site.endswith("self"):
            n = len(trace[site].query_tokens)
            real = torch.ones(n, dtype=torch.bool)
            assert trace[site].mask.tolist() == masks.build(name, real, n).tolist()
            assert (trace[site].weights[:, ~trace[site].mask[0]] == 0).all()


@pytest.mark.pulled
def test_a_window_on_512_tokens_stays_within_the_budget(minilm: Model) -> None:
    """A trace keeps no weights above the budget, and the run itself holds one layer's at a time."""
    limits = Limits(characters=10_000)
    text = "cat " * 510
    lab.trace(minilm, text[:400], mask="window:4", limits=limits)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    trace = lab.trace(minilm, text, mask="window:4", limits=limits)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert len(trace.tokens) == 512
    config = trace.model.config
    all_weights = 4 * config.n_layers * config.n_heads * 512**2
    assert all_weights > limits.weight_bytes
    assert trace.nbytes <= limits.weight_bytes
    # With scores, masked scores and weights of all layers it would be 3 × 72 MB more.
    assert grown <= 3 * limits.weight_bytes
    site = trace["encoder.5.self"]
    near = np.abs(np.subtract.outer(np.arange(512), np.arange(512))) <= 4
    np.testing.assert_array_equal(site.mask[0], near)
    assert (site.weights[:, ~near] == 0).all()
    np.testing.assert_allclose(site.weights.sum(-1), 1, atol=1e-5)
