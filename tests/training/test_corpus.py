from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_lab.errors import InputError
from attention_lab.training import corpus
from attention_lab.training.corpus import Pair

ROWS = [
    ("Don't run!", "別跑!"),
    ("Don’t run! ", "别跑！"),
    ("I'm looking at Tom.", "我看著 Tom"),
    ('"Yes," he said.', '"是的," 他說.'),
    ("He is famous.", "他很著名。"),
]


def test_traditional_becomes_simplified() -> None:
    assert corpus.simplify("貓在追老鼠，因為它沒睡覺。") == "猫在追老鼠，因为它没睡觉。"


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("別跑!", "别跑！"),
        ("我看著 Tom", "我看着汤姆。"),
        ('"是的," 他說.', "“是的，”他说。"),
        ("他很著名。", "他很著名。"),
        ("我在用 New York 的地圖。", "我在用New York的地图。"),
        ("他们\u200b走了.", "他们走了。"),
    ],
)
def test_clean_chinese(raw: str, clean: str) -> None:
    assert corpus.clean_chinese(raw, "A sentence.") == clean


def test_a_question_gets_no_full_stop() -> None:
    assert corpus.clean_chinese("你好吗", "Are you well?") == "你好吗"


def test_clean_drops_duplicates_and_keeps_second_translations() -> None:
    pairs = corpus.clean([*ROWS, ("Don't run!", "不要跑！")])
    assert pairs[:1] == [Pair("Don't run!", "别跑！")]
    assert Pair("Don't run!", "不要跑！") in pairs
    assert len(pairs) == 5


@pytest.mark.parametrize(
    "spelling",
    ["don't run", " Don’t  RUN! ", "“Don't run.”", "Don`t run?", "DON'T RUN", "Ｄon't run"],
)
def test_held_out_whatever_the_spelling(spelling: str) -> None:
    pairs = corpus.clean(ROWS)
    left = corpus.without(pairs, [spelling])
    assert [pair.english for pair in left] == [
        "I'm looking at Tom.",
        '"Yes," he said.',
        "He is famous.",
    ]


def test_the_key_keeps_different_sentences_apart() -> None:
    sentences = ["He has 2 dogs.", "He has 3 dogs.", "He had 2 dogs.", "She has 2 dogs."]
    assert len(set(map(corpus.key, sentences))) == 4


@given(st.text())
def test_the_key_of_a_key_is_itself(text: str) -> None:
    assert corpus.key(corpus.key(text)) == corpus.key(text)


def test_split_puts_all_versions_of_a_sentence_on_one_side() -> None:
    pairs = [Pair(f"Sentence {i // 2}.", f"第{i}句。") for i in range(200)]
    parts = corpus.split(pairs, 10, seed=1)
    train, valid = (
        {corpus.key(pair.english) for pair in side} for side in (parts.train, parts.valid)
    )
    assert len(valid) == 10
    assert not train & valid
    assert sorted((*parts.train, *parts.valid)) == sorted(pairs)
    assert corpus.split(pairs, 10, seed=1) == parts
    assert corpus.split(pairs, 10, seed=2) != parts


def test_a_corpus_that_is_all_held_out_is_refused() -> None:
    with pytest.raises(InputError, match="has 1 sentences"):
        corpus.split([Pair("Hi.", "你好。"), Pair("Hi!", "嗨！")], 10, seed=1)
    assert len(corpus.split([Pair("Hi.", "你好。"), Pair("Go!", "走！")], 10, seed=1).valid) == 1


def test_references_are_all_versions_simplified_and_otherwise_untouched() -> None:
    assert corpus.references(ROWS, ["don't run"]) == (("别跑!", "别跑！"),)
    with pytest.raises(InputError, match='no translation of "Where'):
        corpus.references(ROWS, ["He is famous.", "Where?"])


def test_reading_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "corpus.tsv"
    path.write_text("Hi.\t你好。\tCC-BY\n\nNo tab here\n", encoding="utf-8")
    with pytest.raises(InputError, match="Line 3 of"):
        corpus.read_rows(path)
    path.write_text("Hi.\t你好。\tCC-BY\n", encoding="utf-8")
    assert corpus.read_rows(path) == [("Hi.", "你好。")]
    path.write_bytes(b"\xff\xfe")
    for read in (corpus.read_rows, corpus.read_heldout):
        with pytest.raises(InputError, match="UTF-8"):
            read(path)
        with pytest.raises(InputError, match="cannot be read"):
            read(tmp_path / "none.tsv")
