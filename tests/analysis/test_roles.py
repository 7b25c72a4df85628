"""Roles are measured, with threshold, baseline and spread; and smollm2's induction head."""

import numpy as np
import pandas as pd
import pytest

import attention_lab as lab
from attention_lab.analysis import roles
from attention_lab.analysis.heads import MEASURES, head_table, uniform
from attention_lab.analysis.roles import RoleScores
from attention_lab.errors import InputError
from attention_lab.tracing.record import trace_ids
from attention_lab.zoo.loaded import Model
from tests.factories import tiny_model, tiny_tokenizer


def scores(mean: float, spread: float, baseline: float) -> RoleScores:
    """One head with these numbers for "previous", and nothing else measured."""

    def table(value: float) -> pd.DataFrame:
        empty = dict.fromkeys((*MEASURES, "induction"), np.nan)
        place = {"part": "encoder.self", "layer": 0, "head": 0}
        return pd.DataFrame([{**place, **empty, "previous": value}])

    return RoleScores(table(mean), table(spread), table(baseline))


@pytest.mark.parametrize(
    ("mean", "spread", "baseline", "expected"),
    [
        (0.6, 0.05, 0.1, ("previous",)),
        (0.4, 0.05, 0.1, ()),  # below the threshold
        (0.6, 0.55, 0.1, ()),  # not above the baseline by more than its spread
        (0.6, 0.05, 0.7, ()),  # uniform weights score more
        (np.nan, np.nan, 0.1, ()),
        (0.6, 0.05, np.nan, ()),
    ],
)
def test_a_role_needs_threshold_baseline_and_spread(
    mean: float, spread: float, baseline: float, expected: tuple[str, ...]
) -> None:
    assert scores(mean, spread, baseline).labels(0.5) == [expected]


def test_heads_that_choose_nothing_have_no_role() -> None:
    """Uniform heads score the baseline itself, however low the threshold is."""
    model = tiny_model("encoder")
    for name, parameter in model.module.named_parameters():
        if "w_q" in name:
            parameter.zero_()
    found = roles.measure_roles(model)
    assert found.labels(0.0) == [()] * 8
    np.testing.assert_allclose(found.mean["entropy"], found.baseline["entropy"], rtol=1e-5)


def test_mean_and_spread_are_over_the_fixed_sentences() -> None:
    model = tiny_model("encoder")
    found = roles.measure_roles(model)
    each = [head_table(lab.trace(model, text))["first"] for text in roles.SENTENCES]
    np.testing.assert_allclose(found.mean["first"], np.mean(each, axis=0))
    np.testing.assert_allclose(found.spread["first"], np.std(each, axis=0))
    assert len(roles.SENTENCES) == len(set(roles.SENTENCES)) == 12


def test_the_summary_names_the_best_head_with_its_numbers() -> None:
    found = roles.measure_roles(tiny_model("encoder"))
    table = found.summary("encoder.self", 0.2).set_index("role")
    row = table.loc["first"]
    assert row["score"] == found.mean["first"].max()
    assert row["heads"] == sum("first" in labels for labels in found.labels(0.2))
    assert row["threshold"] == 0.2
    assert "induction" not in table.index


def test_progress_counts_every_run() -> None:
    seen: list[tuple[int, int]] = []
    roles.measure_roles(tiny_model("encoder"), lambda done, n: seen.append((done, n)))
    assert seen == [(i, 12) for i in range(1, 13)]


def test_an_encoder_decoder_is_measured_on_what_it_writes() -> None:
    found = roles.measure_roles(tiny_model("encoder-decoder", max_positions=24))
    assert set(found.mean["part"]) == {"encoder.self", "decoder.self", "decoder.cross"}
    assert found.mean["induction"].isna().all()


def test_the_induction_score_is_the_mean_of_the_right_cells() -> None:
    weights = np.zeros((1, 6, 6))  # a b c a b c
    weights[0, 3, 1], weights[0, 4, 2], weights[0, 5, 3] = 0.9, 0.6, 0.3
    assert roles.induction_score(weights)[0] == pytest.approx(0.6)
    weights[0, 3, 0] = weights[0, 4, 1] = 1  # the first occurrence itself is not meant
    assert roles.induction_score(weights)[0] == pytest.approx(0.6)


def test_the_induction_baseline_is_under_a_twentieth() -> None:
    even = uniform(np.tri(2 * roles.HALF, dtype=bool)[None])
    assert roles.induction_score(even)[0] == pytest.approx(np.mean([1 / n for n in range(26, 51)]))
    assert roles.induction_score(even)[0] < 0.05


def test_a_decoder_without_words_has_no_induction_score_and_says_so() -> None:
    model = tiny_model("decoder")
    assert roles.measure_roles(model).mean["induction"].isna().all()
    with pytest.raises(InputError, match="ordinary words; the measure needs 25"):
        roles.induction(model)
    assert roles.induction(model, half=5)["score"].between(0, 1).all()


def test_only_decoders_are_asked_for_induction() -> None:
    with pytest.raises(InputError, match="Only decoders"):
        roles.induction(tiny_model("encoder"))


def test_ordinary_tokens_are_different_words_and_the_seed_decides() -> None:
    tokenizer = tiny_tokenizer("decoder")
    ids = roles.ordinary_ids(tokenizer, 8, seed=3)
    assert len(set(ids)) == 8
    assert all(tokenizer.decode([id]).isalpha() and len(tokenizer.decode([id])) > 2 for id in ids)
    assert ids == roles.ordinary_ids(tokenizer, 8, seed=3)
    assert ids != roles.ordinary_ids(tokenizer, 8, seed=4)


@pytest.mark.pulled
def test_smollm2_has_an_induction_head_at_18_6(smollm2: Model) -> None:
    ids = roles.ordinary_ids(smollm2.tokenizer, roles.HALF, seed=2)
    read = trace_ids(smollm2, [*ids, *ids])
    assert read.tokens.ids == (*ids, *ids)
    by_head = pd.concat(
        pd.DataFrame({"site": site, "score": roles.induction_score(read[site].weights)})
        for site in read.sites
    )
    best = by_head.sort_values("score").iloc[-1]
    assert (best["site"], best.name) == ("decoder.18.self", 6)
    assert best["score"] == pytest.approx(0.88, abs=0.05)


@pytest.mark.pulled
@pytest.mark.slow
def test_smollm2_induction_is_a_role_found_by_measurement(smollm2: Model) -> None:
    found = roles.measure_roles(smollm2)
    table = found.summary("decoder.self").set_index("role")
    assert (table.loc["induction", "layer"], table.loc["induction", "head"]) == (18, 6)
    assert table.loc["induction", "score"] == pytest.approx(0.88, abs=0.06)
    assert table.loc["induction", "baseline"] < 0.05
    row = found.mean.query("layer == 18 and head == 6").index[0]
    assert "induction" in found.labels()[row]
    without = sum(not labels for labels in found.labels())
    assert without >= 50  # of 270: a label is not for everyone
