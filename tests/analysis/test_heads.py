"""Measures of heads: on weights made by hand, against loops, and on the pulled models."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attention_lab as lab
from attention_lab.analysis import heads
from attention_lab.errors import InputError
from attention_lab.tokens import Token, Tokens
from attention_lab.tracing.trace import Trace
from attention_lab.zoo.loaded import Model
from tests.factories import tiny_model

SENTENCE = "the cat saw the dog , and the dog saw the cat ."
FIRST = "The animal didn't cross the street because it was too tired."


def tokens(text: str) -> Tokens:
    """A token a character; "[" and "]" are special, equal characters have equal ids."""
    return Tokens(
        text, tuple(Token(ord(c), c, i, i + 1, special=c in "[]") for i, c in enumerate(text))
    )


def measured(weights: np.ndarray, text: str, mask: np.ndarray | None = None) -> dict[str, float]:
    """All measures of one head with these weights."""
    own = tokens(text)
    mask = np.ones((1, *weights.shape), bool) if mask is None else mask[None]
    found = heads.measures(weights[None], mask, heads.marked_cells(own, own, is_cross=False))
    found["distance"] = heads.mean_distance(weights[None], mask)
    return {name: float(value[0]) for name, value in found.items()}


def test_a_head_that_looks_at_the_previous_token_scores_one_there() -> None:
    weights = np.eye(5, k=-1)
    weights[0, 0] = 1
    found = measured(weights, "abcde")
    assert found["previous"] == 1  # the first token has none before it and does not count
    assert found["distance"] == pytest.approx(4 / 5)
    assert found["entropy"] == 0
    assert found["self"] == pytest.approx(1 / 5)
    assert found["next"] == 0


def test_a_head_that_looks_at_the_next_token_scores_one_there() -> None:
    weights = np.eye(4, k=1)
    weights[3, 0] = 1
    found = measured(weights, "abcd")
    assert found["next"] == 1
    assert found["first"] == pytest.approx(1 / 4)
    assert found["distance"] == pytest.approx((1 + 1 + 1 + 3) / 4)


def test_repeated_counts_earlier_occurrences_of_the_same_token_only() -> None:
    weights = np.full((4, 4), 0.1)
    weights[2] = [0.6, 0.2, 0.1, 0.1]  # "a b a c": the second a looks at the first
    weights[0] = [0.1, 0.1, 0.7, 0.1]  # the first looks at the second, which is later
    assert measured(weights, "abac")["repeated"] == pytest.approx(0.6)


def test_without_repeated_tokens_there_is_no_score_for_them() -> None:
    assert np.isnan(measured(np.full((3, 3), 1 / 3), "abc")["repeated"])


def test_separators_are_special_tokens_and_punctuation_but_not_the_first_token() -> None:
    weights = np.tile([0.4, 0.1, 0.3, 0.15, 0.05], (5, 1))
    found = measured(weights, "[a.b]")
    assert found["separators"] == pytest.approx(0.3 + 0.05)
    assert found["first"] == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, True) for text in (".", " ,", "。", "...", "„")),
        *((text, False) for text in ("'s", "a", " ", "", "猫", "😀", "$")),
    ],
)
def test_what_a_separator_is(text: str, expected: bool) -> None:
    assert heads.is_separator(Token(1, text, 0, len(text))) is expected


def test_rows_without_a_choice_do_not_count() -> None:
    """Under a causal mask the first token can only look at itself; that is no habit of a head."""
    causal = np.tri(3, dtype=bool)
    weights = np.array([[1, 0, 0], [1, 0, 0], [1, 0, 0]], float)
    found = measured(weights, "abc", causal)
    assert found["self"] == 0
    assert found["first"] == 1
    assert np.isnan(found["next"])


@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_entropy_is_that_of_another_library(n: int, seed: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.full(n, 0.3), size=n)
    rows = [-mpmath.fsum(mpmath.mpf(p) * mpmath.log(p, 2) for p in row if p > 0) for row in weights]
    expected = float(mpmath.fsum(rows) / n)
    assert measured(weights, "x" * n)["entropy"] == pytest.approx(expected, abs=1e-9)


@given(st.integers(2, 10), st.integers(0, 2**32 - 1))
def test_every_measure_agrees_with_a_loop(n: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    weights = random.dirichlet(np.ones(n), size=n)
    text = "".join(random.choice(list("ab.["), size=n))
    kinds = {
        "first": lambda i, j: j == 0,
        "self": lambda i, j: i == j,
        "previous": lambda i, j: j == i - 1,
        "next": lambda i, j: j == i + 1,
        "separators": lambda i, j: j > 0 and text[j] in ".[",
        "repeated": lambda i, j: j < i and text[i] == text[j],
    }
    found = measured(weights, text)
    for name, counts in kinds.items():
        rows = [[j for j in range(n) if counts(i, j)] for i in range(n)]
        shares = [sum(weights[i, j] for j in row) for i, row in enumerate(rows) if row]
        expected = np.mean(shares) if shares else np.nan
        np.testing.assert_allclose(found[name], expected, atol=1e-12, err_msg=name)


def test_the_baseline_is_the_measure_of_uniform_weights_under_the_same_mask() -> None:
    model = tiny_model("decoder")
    table = heads.baseline_table(lab.trace(model, SENTENCE))
    n = len(lab.trace(model, SENTENCE).tokens)
    assert len(table) == len(model.config.sites) * model.config.n_heads
    expected = np.mean([np.log2(i + 1) for i in range(1, n)])  # row i sees i + 1 keys
    np.testing.assert_allclose(table["entropy"], expected)
    np.testing.assert_allclose(table["previous"], np.mean([1 / (i + 1) for i in range(1, n)]))


def test_the_table_measures_the_weights_of_the_trace() -> None:
    trace = lab.trace(tiny_model("encoder"), SENTENCE)
    table = heads.head_table(trace)
    row = table[(table["layer"] == 1) & (table["head"] == 2)].iloc[0]
    weights = trace["encoder.1.self"].weights[2]
    n = len(weights)
    assert row["part"] == "encoder.self"
    assert row["first"] == pytest.approx(weights[:, 0].mean(), rel=1e-5)
    assert row["self"] == pytest.approx(np.trace(weights) / n, rel=1e-5)
    assert row["previous"] == pytest.approx(np.mean([weights[i, i - 1] for i in range(1, n)]))


def test_cross_attention_has_no_distances() -> None:
    trace = lab.trace(tiny_model("encoder-decoder"), "the cat sat .", target="a dog")
    table = heads.head_table(trace).set_index("part").loc["decoder.cross"]
    for name in ("distance", "self", "previous", "next", "repeated"):
        assert table[name].isna().all()
    for name in ("entropy", "first", "separators"):
        assert table[name].notna().all()


def test_a_mask_that_closes_everything_leaves_nothing_to_measure() -> None:
    model = tiny_model("encoder")
    n = len(lab.trace(model, "a cat").tokens)
    table = heads.head_table(lab.trace(model, "a cat", mask=np.zeros((n, n), bool)))
    assert table[list(heads.MEASURES)].isna().all(axis=None)


def test_rank_puts_the_largest_weight_first() -> None:
    trace = lab.trace(tiny_model("encoder"), SENTENCE)
    table = heads.rank(trace, "encoder.self", 4, 2)
    assert len(table) == 8
    assert table["weight"].is_monotonic_decreasing
    for row in table.itertuples():
        weights = trace[f"encoder.{row.layer}.self"].weights
        assert row.weight == weights[row.head, 4, 2]
    np.testing.assert_allclose(table["uniform"], 1 / len(trace.tokens))


@pytest.mark.parametrize(("query", "key"), [(-1, 0), (0, -1), (99, 0), (0, 99)])
def test_rank_refuses_positions_that_there_are_not(query: int, key: int) -> None:
    trace = lab.trace(tiny_model("encoder"), "a cat")
    with pytest.raises(InputError, match="numbered 0 to 3"):
        heads.rank(trace, "encoder.self", query, key)


def test_rank_refuses_a_part_that_there_is_not() -> None:
    trace = lab.trace(tiny_model("encoder"), "a cat")
    with pytest.raises(InputError, match=r"decoder\.cross.*this model has encoder\.self"):
        heads.rank(trace, "decoder.cross", 0, 0)


def places(trace: Trace) -> list[str]:
    return [token.text.strip() for token in trace.tokens]


@pytest.mark.pulled
def test_minilm_finds_the_head_that_resolves_it(minilm: Model) -> None:
    trace = lab.trace(minilm, FIRST)
    query, key = places(trace).index("it"), places(trace).index("animal")
    best = heads.rank(trace, "encoder.self", query, key).iloc[0]
    assert (best["layer"], best["head"]) == (3, 1)
    assert best["weight"] == pytest.approx(0.677, abs=1e-3)
