import re

import pytest

from attention_lab.training import corpus, phrasebook
from attention_lab.training.phrasebook import Phrase
from attention_lab.training.templates import group, templates

PHRASES = phrasebook.phrases()


def find(english: str) -> Phrase:
    return next(phrase for phrase in PHRASES if phrase.pair.english == english)


def test_thousands_of_different_sentences() -> None:
    assert len(PHRASES) > 4_000
    assert len({corpus.key(phrase.pair.english) for phrase in PHRASES}) == len(PHRASES)
    assert len({phrase.template for phrase in PHRASES}) == len(templates())


def test_what_tests_and_demos_use_is_held_out() -> None:
    closed = {corpus.key(sentence) for sentence in phrasebook.heldout()}
    trained = {corpus.key(pair.english) for pair in phrasebook.pairs()}
    assert not closed & trained
    assert len(phrasebook.aligned()) == 100
    for phrase in phrasebook.aligned():
        assert corpus.key(phrase.pair.english) in closed
    for sentence in phrasebook.workshop():
        assert corpus.key(sentence) in closed


def test_the_chinese_is_clean_and_simplified() -> None:
    for phrase in PHRASES:
        english, chinese = phrase.pair.english, phrase.pair.chinese
        assert corpus.clean_chinese(chinese, english) == chinese
        assert corpus.clean_english(english) == english
        marks = {".": "。", "?": "？", "!": "！"}
        assert chinese[-1] == marks[english[-1]]
        assert not set("{}<>") & set(english + chinese)


def test_links_point_at_words() -> None:
    for phrase in PHRASES:
        english, chinese = phrase.pair.english, phrase.pair.chinese
        for (start, end), (first, last) in phrase.links:
            assert english[start:end].strip() == english[start:end] != ""
            assert start == 0 or not english[start - 1].isalpha()
            assert 0 <= first < last <= len(chinese)
        taken = [i for _e, (first, last) in phrase.links for i in range(first, last)]
        assert len(taken) == len(set(taken))


def test_a_phrase_and_its_links() -> None:
    start = "The {p} {g} the {q} {t.a}"
    (number,) = (i for i, one in enumerate(templates()) if one.english.startswith(start))
    slots = templates()[number].slots
    words = {
        slot: next(word for word in slots[slot] if word["en"] == english)
        for slot, english in {"p": "girl", "g": "gave", "q": "boy", "t": "apple"}.items()
    }
    phrase = phrasebook.fill(number, words)
    assert phrase.pair == corpus.Pair("The girl gave the boy an apple.", "女孩给了男孩一个苹果。")
    assert {
        (phrase.pair.english[a:b], phrase.pair.chinese[c:d]) for (a, b), (c, d) in phrase.links
    } == {("girl", "女孩"), ("gave", "给了"), ("boy", "男孩"), ("apple", "苹果")}


@pytest.mark.parametrize(
    ("singular", "many"),
    [
        ("mouse", "mice"),
        ("thief", "thieves"),
        ("box", "boxes"),
        ("key", "keys"),
        ("cherry", "cherries"),
    ],
)
def test_plural(singular: str, many: str) -> None:
    from attention_lab.training.lexicon import plural

    assert plural(singular) == many


def test_groups_of_words() -> None:
    words = [word["en"] for word in group("ANIMALS:2+QUALITIES(small/big)")]
    assert words == ["cat", "dog", "big", "small"]
    for wrong in ("ANIMALS(unicorn)", "ANIMALS:", "animals"):
        with pytest.raises(ValueError, match=re.escape(wrong)):
            group(wrong)


def test_expand() -> None:
    assert phrasebook.expand("[那只|]猫[追|赶]鼠") == [
        "那只猫追鼠",
        "那只猫赶鼠",
        "猫追鼠",
        "猫赶鼠",
    ]


def test_the_workshop_has_43_sentences_each_with_translations() -> None:
    workshop = phrasebook.workshop()
    assert len(workshop) == 43
    assert list(workshop)[:3] == [
        "The cat chased the mouse.",
        "The mouse chased the cat.",
        "The animal didn't cross the street because it was too tired.",
    ]
    for accepted in workshop.values():
        assert accepted
        for chinese in accepted:
            assert corpus.simplify(chinese) == chinese
            assert not set("[]|") & set(chinese)
    # No translation is right for two sentences.
    everything = [text for accepted in workshop.values() for text in set(accepted)]
    assert len(everything) == len(set(everything))
