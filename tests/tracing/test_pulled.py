"""What the pulled models are known to do, through the public interface alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import attention_lab as lab
from attention_lab.model.transformer import Transformer
from attention_lab.tracing.trace import Trace
from attention_lab.zoo.loaded import Model

pytestmark = pytest.mark.pulled

SENTENCE = "The animal didn't cross the street because it was too tired."


def weight(trace: Trace, site: str, head: int, query: str, key: str) -> float:
    """The one weight between two words of the user's own text."""
    words = [token.text.strip() for token in trace.tokens]
    return float(trace[site].weights[head, words.index(query), words.index(key)])


def test_minilm_resolves_it(minilm: Model) -> None:
    trace = lab.trace(minilm, SENTENCE)
    assert weight(trace, "encoder.3.self", 1, "it", "animal") == pytest.approx(0.677, abs=1e-3)
    assert weight(trace, "encoder.3.self", 1, "it", "street") == pytest.approx(0.050, abs=1e-3)


def test_smollm2_resolves_it(smollm2: Model) -> None:
    trace = lab.trace(smollm2, SENTENCE)
    assert weight(trace, "decoder.13.self", 8, "it", "animal") == pytest.approx(0.75, abs=0.01)


def test_smollm2_knows_the_capital(smollm2: Model) -> None:
    logits = lab.trace(smollm2, "The capital of France is").logits[-1].astype(np.float64)
    probabilities = np.exp(logits - logits.max())
    probabilities /= probabilities.sum()
    assert smollm2.tokenizer.decode([int(probabilities.argmax())]) == " Paris"
    assert probabilities.max() == pytest.approx(0.77, abs=0.01)


def test_smollm2_copies_what_followed_before(smollm2: Model) -> None:
    """Layer 18 head 6 is an induction head: it looks at what stood after the same word before."""
    trace = lab.trace(smollm2, "We saw: cat dog bird fish tree, cat dog bird fish")
    words = [token.text.strip() for token in trace.tokens]
    head = trace["decoder.18.self"].weights[6]
    for word in ("cat", "dog", "bird", "fish"):
        first = words.index(word)
        again = words.index(word, first + 1)
        # The first token of a text draws what a head has no use for; among the rest, it is clear.
        assert head[again, 1:].argmax() + 1 == first + 1
        assert head[again, first + 1] > 0.3


@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_attention_is_that_of_a_trained_model(name: str, request: pytest.FixtureRequest) -> None:
    """Field note 14: parameters that were never loaded give nearly uniform attention."""
    model = request.getfixturevalue(name)
    assert model.card.trained
    torch.manual_seed(0)
    fresh = replace(model, module=Transformer(model.config).eval().requires_grad_(False))

    def largest(model: Model) -> float:
        """The mean of the largest weight of the last row, over all heads of all layers."""
        trace = lab.trace(model, SENTENCE)
        return float(np.mean([trace[site].weights[:, -1].max(axis=-1) for site in trace.sites]))

    uniform = 1 / len(lab.trace(model, SENTENCE).tokens)
    assert largest(fresh) < 2 * uniform
    assert largest(model) > 4 * uniform
