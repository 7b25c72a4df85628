"""Candidates, alignment and the beam's tree: each mark stands for the number it claims."""

import math

import numpy as np
import pytest

from attention_lab.beam import beam_search, score
from attention_lab.figures import alignment, beam_tree, candidates, scales
from attention_lab.figures.alignment import LEVELS, hidden_share
from attention_lab.generation import Step
from attention_lab.tokens import Token
from tests.factories import tiny_model


def tokens(*texts: str) -> list[Token]:
    return [Token(i, text, 0, 0) for i, text in enumerate(texts)]


def test_candidates_and_the_rest_add_up_to_one() -> None:
    step = Step(7, math.log(0.2), ((3, math.log(0.5)), (7, math.log(0.2))))
    bars = candidates(step, ["<b>a</b>", "$b$"]).data[0]
    assert list(bars.x) == pytest.approx([0.5, 0.2, 0.3])
    assert list(bars.marker.color) == [scales.PLAIN, scales.ACCENT, scales.MASKED]
    labels = candidates(step, ["<b>a</b>", "$b$"]).layout.yaxis.ticktext
    assert list(labels)[:2] == ["&lt;b&gt;a&lt;/b&gt;", "&#36;b&#36;"]


def test_alignment_draws_a_line_for_each_weight_above_the_threshold() -> None:
    weights = np.array([[0.9, 0.1, 0.0], [0.25, 0.25, 0.5]])
    figure = alignment(weights, tokens("a", "b", "a"), tokens("甲", "乙"), threshold=0.2)
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    ends = {
        (round(float(x), 3), round(float(y), 3), trace.line.width)
        for trace in lines
        for x, y in zip(trace.x[::3], trace.x[1::3], strict=True)
    }
    above, below = [1 / 6, 1 / 2, 5 / 6], [1 / 4, 3 / 4]
    expected = {(0, 0): 0.9, (0, 1): 0.25, (1, 1): 0.25, (2, 1): 0.5}
    assert {(x, y) for x, y, _width in ends} == {
        (round(above[i], 3), round(below[j], 3)) for i, j in expected
    }
    widths = {(x, y): width for x, y, width in ends}
    thick = widths[round(above[0], 3), round(below[0], 3)]
    thin = widths[round(above[0], 3), round(below[1], 3)]
    assert thick / thin == pytest.approx(math.ceil(0.9 * LEVELS) / math.ceil(0.25 * LEVELS))


def test_repeated_tokens_stay_apart_in_the_alignment() -> None:
    figure = alignment(np.eye(2), tokens("the", "the"), tokens("的", "的"), 0.0)
    rows = [trace for trace in figure.data if trace.mode == "markers+text"]
    assert [len(set(trace.x)) for trace in rows] == [2, 2]


@pytest.mark.parametrize(("threshold", "share"), [(0.0, 0.0), (0.2, 0.1 / 2), (1.1, 1.0)])
def test_hidden_share(threshold: float, share: float) -> None:
    weights = np.array([[0.9, 0.1], [0.5, 0.5]])
    assert hidden_share(weights, threshold) == pytest.approx(share)


def test_the_tree_shows_every_hypothesis_once_and_accents_the_winner() -> None:
    beam = beam_search(tiny_model("encoder-decoder", seed=3), "the cat sat", 3, max_new_tokens=4)
    names = [str(node.id) for node in beam.nodes]
    figure = beam_tree(beam, names, 1.0)
    dots = [trace for trace in figure.data if trace.mode == "markers+text"]
    assert sum(len(trace.x) for trace in dots) == len(beam.nodes)
    places = [(x, y) for trace in dots for x, y in zip(trace.x, trace.y, strict=True)]
    assert len(set(places)) == len(places)
    winner = next(trace for trace in dots if trace.marker.color == scales.ACCENT)
    assert list(winner.text) == [names[i] for i in beam.path]
    last = beam.nodes[beam.path[-1]]
    assert winner.customdata[-1][2] == pytest.approx(score(last.total, last.step + 1, 1.0))
