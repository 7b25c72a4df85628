import random

import pytest

from attention_lab.training.corpus import Pair
from attention_lab.training.rewrite import (
    REWRITES,
    join,
    lengthen,
    lower_first,
    rewrite,
    shorten,
    without_stop,
)


@pytest.mark.parametrize(
    ("change", "english", "wanted"),
    [
        (lengthen, "I don't know.", "I do not know."),
        (lengthen, "Don't you know?", "Don't you know?"),
        (shorten, "They are tired.", "They're tired."),
        (shorten, "I know who they are.", "I know who they are."),
        (lower_first, "The cat sat.", "the cat sat."),
        (lower_first, "I am here.", "I am here."),
        (lower_first, "Tom is here.", "Tom is here."),
    ],
)
def test_english_changes_and_chinese_stays(change: object, english: str, wanted: str) -> None:
    assert callable(change)
    assert change(Pair(english, "好。")) == Pair(wanted, "好。")


def test_the_stop_goes_on_both_sides() -> None:
    assert without_stop(Pair("He ran.", "他跑了。")) == Pair("He ran", "他跑了")


def test_join() -> None:
    joined = join(Pair("He ran.", "他跑了。"), Pair("I slept.", "我睡了。"))
    assert joined == Pair("He ran. I slept.", "他跑了。我睡了。")


def test_the_share_is_kept() -> None:
    rng, pair = random.Random(0), Pair("He doesn't run.", "他不跑。")
    changed = sum(rewrite(pair, 0.4, rng) != pair for _ in range(4_000))
    # `shorten` leaves this pair alone.
    assert changed / 4_000 == pytest.approx(0.4 * (len(REWRITES) - 1) / len(REWRITES), abs=0.03)
    assert rewrite(pair, 0.0, rng) == pair
