"""Decoding against the plain forward: the cache changes nothing, every score is a true one."""

import math
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import attention_lab as lab
from attention_lab.beam import PENALTY, beam_search, score
from attention_lab.config import Kind
from attention_lab.errors import InputError, LimitError
from attention_lab.generation import generate, greedy, greedy_changed
from attention_lab.tokens import tokenize
from attention_lab.training.decoding import translate_all
from attention_lab.zoo.loaded import Model
from tests.factories import tiny_model

KINDS: tuple[Kind, ...] = ("decoder", "encoder-decoder")
TEXT = "the cat sat on the mat"


def next_log_probabilities(model: Model, text: str, written: tuple[int, ...]) -> torch.Tensor:
    """The oracle: one whole forward, no cache, no batch."""
    source = torch.tensor([tokenize(model.tokenizer, text).ids])
    if model.config.kind == "decoder":
        output = model.module(torch.cat([source, torch.tensor([written], dtype=torch.long)], 1))
    else:
        output = model.module(source, torch.tensor([[model.card.bos_id, *written]]))
    assert output.logits is not None
    return output.logits[0, -1].log_softmax(-1)


def models(kind: Kind) -> list[Model]:
    return [tiny_model(kind, seed=seed) for seed in range(4)]


@pytest.mark.parametrize("kind", KINDS)
def test_cached_steps_are_what_a_whole_forward_gives(kind: Kind) -> None:
    for model in models(kind):
        result = greedy(model, TEXT, max_new_tokens=12)
        written = [step.id for step in result.steps]
        for i, step in enumerate(result.steps):
            oracle = next_log_probabilities(model, TEXT, tuple(written[:i]))
            assert step.id == int(oracle.argmax())
            assert step.log_probability == pytest.approx(float(oracle[step.id]), abs=1e-4)
            ids, values = zip(*step.candidates, strict=True)
            torch.testing.assert_close(
                torch.tensor(values), oracle.topk(10).values, atol=1e-4, rtol=0
            )
            assert step.rest == pytest.approx(
                1 - sum(math.exp(float(oracle[id])) for id in ids), abs=1e-4
            )


@pytest.mark.parametrize("kind", KINDS)
def test_a_beam_of_one_is_greedy(kind: Kind) -> None:
    for model in models(kind):
        beam, plain = beam_search(model, TEXT, width=1, max_new_tokens=10), greedy(model, TEXT, 10)
        assert beam.best == plain
        assert beam.score == pytest.approx(score(plain.log_probability, len(plain.steps), PENALTY))


@pytest.mark.parametrize("kind", KINDS)
def test_every_node_of_the_tree_has_its_true_score(kind: Kind) -> None:
    model = tiny_model(kind, seed=1)
    beam = beam_search(model, TEXT, width=3, max_new_tokens=5)
    paths: list[tuple[int, ...]] = []
    for node in beam.nodes:
        before = () if node.parent is None else paths[node.parent]
        assert node.parent is None or beam.nodes[node.parent].kept
        paths.append((*before, node.id))
        assert node.step == len(before)
        own = float(next_log_probabilities(model, TEXT, before)[node.id])
        assert node.log_probability == pytest.approx(own, abs=1e-4)
        total = 0.0 if node.parent is None else beam.nodes[node.parent].total
        assert node.total == pytest.approx(total + own, abs=1e-4)
    assert tuple(beam.nodes[i].id for i in beam.path) == paths[beam.path[-1]]


def test_a_wide_beam_finds_the_best_of_all_sequences() -> None:
    """Two steps, every token kept: nothing can be missed (exhaustive search is the oracle)."""
    model = tiny_model("encoder-decoder", seed=3)
    d_vocab = model.config.d_vocab_target
    eos = model.card.eos_id
    first = next_log_probabilities(model, TEXT, ())
    both = {
        (a, b): float(first[a] + next_log_probabilities(model, TEXT, (a,))[b])
        for a, b in product(first.topk(12).indices.tolist(), range(d_vocab))
        if a != eos and b == eos
    }
    both[(eos,)] = float(first[eos])
    best = max(both, key=lambda ids: score(both[ids], len(ids), PENALTY))
    beam = beam_search(model, TEXT, width=12, max_new_tokens=2)
    assert tuple(step.id for step in beam.best.steps) == best


@pytest.mark.parametrize("kind", KINDS)
def test_one_candidate_leaves_no_choice(kind: Kind) -> None:
    for model in models(kind):
        plain = greedy(model, TEXT, 8)
        for cut in ({"top_k": 1}, {"top_k": None, "top_p": 1e-9}):
            assert generate(model, TEXT, 8, temperature=2.0, **cut) == plain


def test_sampling_follows_the_probabilities_and_the_seed() -> None:
    model = tiny_model("decoder", seed=2)
    wanted = (next_log_probabilities(model, TEXT, ()) / 1.5).softmax(-1)
    kept = wanted.topk(4)
    counts = torch.zeros_like(wanted)
    n = 400
    for seed in range(n):
        result = generate(model, TEXT, 1, temperature=1.5, top_k=4, top_p=None, seed=seed)
        counts[result.steps[0].id] += 1
    assert set(counts.nonzero()[:, 0].tolist()) <= set(kept.indices.tolist())
    shares = kept.values / kept.values.sum()
    torch.testing.assert_close(counts[kept.indices] / n, shares, atol=0.12, rtol=0)
    assert generate(model, TEXT, 8, seed=5) == generate(model, TEXT, 8, seed=5)


@given(st.floats(0.01, 1.0))
@settings(max_examples=20)
def test_top_p_keeps_the_fewest_that_reach_it(p: float) -> None:
    model = tiny_model("decoder", seed=2)
    probabilities = next_log_probabilities(model, TEXT, ()).exp().sort(descending=True)
    n = int((probabilities.values.cumsum(0) < p).sum()) + 1
    allowed = set(probabilities.indices[: n + 1].tolist())  # one more: rounding of the sum
    for seed in range(5):
        result = generate(model, TEXT, 1, temperature=1.0, top_k=None, top_p=p, seed=seed)
        assert result.steps[0].id in allowed


def test_it_stops_at_the_end_token_and_at_the_limit() -> None:
    results = [greedy(tiny_model("encoder-decoder", seed=seed), TEXT, 6) for seed in range(12)]
    for result in results:
        eos = 5  # "</s>" of the factories
        assert (result.steps[-1].id == eos) == result.finished
        assert len(result.ids) == len(result.steps) - result.finished
        assert eos not in result.ids
        assert result.finished or len(result.steps) == 6
    assert {result.finished for result in results} == {True, False}


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_new_tokens": 0},
        {"temperature": -0.1},
        {"temperature": math.nan},
        {"top_k": 0},
        {"top_p": 0.0},
        {"top_p": 1.1},
    ],
)
def test_impossible_settings_are_named(arguments: dict[str, float]) -> None:
    (name,) = arguments
    with pytest.raises(InputError, match=name):
        generate(tiny_model("decoder"), TEXT, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["decoder", "encoder-decoder"])
def test_without_a_change_the_changed_model_writes_the_same(kind: Kind) -> None:
    for seed in range(3):
        model = tiny_model(kind, seed=seed)
        plain, changed = greedy(model, TEXT, 12), greedy_changed(model, TEXT, max_new_tokens=12)
        assert changed.ids == plain.ids
        assert changed.finished == plain.finished
        for mine, theirs in zip(changed.steps, plain.steps, strict=True):
            assert mine.log_probability == pytest.approx(theirs.log_probability, abs=1e-4)
            assert [id for id, _value in mine.candidates] == [id for id, _ in theirs.candidates]


@pytest.mark.parametrize("kind", ["decoder", "encoder-decoder"])
@pytest.mark.parametrize("mask", ["none", "window:1", "causal^cells:3.1"])
def test_each_step_is_a_trace_under_the_mask(kind: Kind, mask: str) -> None:
    """Also where earlier tokens may look at later ones, which a cache would not let them do."""
    model = tiny_model(kind)
    edits = [lab.ablate("*", head=1), lab.mask("decoder.1.self", "none")]
    written = greedy_changed(model, TEXT, mask, edits, max_new_tokens=6)
    for number, step in enumerate(written.steps):
        before = [each.id for each in written.steps[:number]]
        ids = tokenize(model.tokenizer, TEXT).ids
        texts = (ids, before) if kind == "encoder-decoder" else ([*ids, *before], None)
        logits = lab.trace_ids(model, *texts, mask, edits).logits
        assert step.id == int(logits[-1].argmax())
    assert written.ids != greedy(model, TEXT, 6).ids


def test_a_changed_model_that_cannot_write_and_masks_that_are_none() -> None:
    with pytest.raises(InputError, match="cannot write"):
        greedy_changed(tiny_model("encoder"), TEXT)
    with pytest.raises(InputError, match="There is no mask"):
        greedy_changed(tiny_model("decoder"), TEXT, "future")
    long = greedy_changed(tiny_model("decoder", seed=1), TEXT, max_new_tokens=500)
    assert len(tokenize(tiny_model("decoder").tokenizer, TEXT)) + len(long.steps) <= 64


@pytest.mark.parametrize("text", ["", "  \n", "cat " * 10_000])
def test_impossible_texts(text: str) -> None:
    model = tiny_model("encoder-decoder")
    for write in (greedy, beam_search):
        with pytest.raises(LimitError):
            write(model, text)
    with pytest.raises(InputError):
        beam_search(model, TEXT, width=0)


@pytest.mark.parametrize("width", [1, 3])
def test_many_at_once_are_what_they_are_alone(width: int) -> None:
    """`translate_all` pads and batches; `beam_search` does one."""
    texts = ["the cat", TEXT, "a dog did not cross the street because it was too tired .", "猫"]
    for seed in range(3):
        model = tiny_model("encoder-decoder", seed=seed, unembed=True)
        remap = _with_training_ids(model)
        alone = [beam_search(remap, text, width, max_new_tokens=9).best.text for text in texts]
        assert translate_all(remap, texts, width, most=9) == alone


def _with_training_ids(model: Model) -> Model:
    """The same model under the ids that training uses: pad 0, bos 1, eos 2."""
    from dataclasses import replace

    return replace(model, card=replace(model.card, bos_id=1, eos_id=2, pad_id=0))
