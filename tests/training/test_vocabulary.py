import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from attention_lab.tokens import tokenize
from attention_lab.training import phrasebook
from attention_lab.training.vocabulary import SubwordDropout, train_chinese, train_english

PAIRS = phrasebook.pairs()
ENGLISH = train_english([pair.english for pair in PAIRS], 1_500)
CHINESE = train_chinese([pair.chinese for pair in PAIRS], 900)


def words(tokenizer: Tokenizer, text: str) -> list[str]:
    return [token.text for token in tokenize(tokenizer, text) if not token.special]


def test_english_keeps_case_and_splits_punctuation_and_contractions() -> None:
    text = "The cat didn’t see the “dog”."
    assert words(ENGLISH, text) == ["The", "cat", "did", "n’t", "see", "the", "“", "dog", "”", "."]
    assert tokenize(ENGLISH, "The")[0].id != tokenize(ENGLISH, "the")[0].id


def test_quotes_of_all_kinds_are_one_token() -> None:
    assert tokenize(ENGLISH, "didn’t").ids == tokenize(ENGLISH, "didn't").ids


def test_the_same_sentences_give_the_same_vocabulary() -> None:
    english, chinese = [p.english for p in PAIRS[:400]], [p.chinese for p in PAIRS[:400]]
    assert len({train_english(english[::i], 300).to_str() for i in (1, -1, 1, -1)}) == 1
    assert len({train_chinese(chinese[::i], 300).to_str() for i in (1, -1, 1, -1)}) == 1


def test_letters_inside_words_are_no_special_tokens() -> None:
    assert [token.text for token in tokenize(ENGLISH, "##a") if not token.special] == [
        "#",
        "#",
        "a",
    ]
    assert len(ENGLISH.get_added_tokens_decoder()) == 4


def test_special_tokens_stand_where_the_model_expects_them() -> None:
    assert tokenize(ENGLISH, "The cat").ids[-1] == ENGLISH.token_to_id("[EOS]") == 2
    assert tokenize(CHINESE, "猫").ids[0] == CHINESE.token_to_id("[BOS]") == 1
    for tokenizer in (ENGLISH, CHINESE):
        assert tokenizer.token_to_id("[PAD]") == 0


def test_chinese_pieces_have_one_or_two_characters() -> None:
    pieces = set(CHINESE.get_vocab()) - {"[PAD]", "[BOS]", "[EOS]", "[UNK]"}
    assert {len(piece) for piece in pieces} == {1, 2}


def test_what_is_unknown_is_visible() -> None:
    for tokenizer, text in ((ENGLISH, "cat 😀"), (CHINESE, "猫鿏")):
        (token,) = (token for token in tokenize(tokenizer, text) if token.unknown)
        assert token.text == text[-1]
        assert tokenizer.decode([token.id], skip_special_tokens=False) == "[UNK]"


@given(st.text())
def test_tokens_stand_at_the_users_own_characters(text: str) -> None:
    for tokenizer in (ENGLISH, CHINESE):
        tokens = [token for token in tokenize(tokenizer, text) if token.start < token.end]
        for token in tokens:
            assert token.text == text[token.start : token.end] != ""
        ends = [token.end for token in tokens]
        assert ends == sorted(ends)
        covered = set().union(*(range(token.start, token.end) for token in tokens))
        assert all(text[i].isspace() for i in set(range(len(text))) - covered)


def test_chinese_comes_back_from_its_ids() -> None:
    for pair in PAIRS[:300]:
        ids = CHINESE.encode(pair.chinese, add_special_tokens=False).ids
        assert CHINESE.decode(ids) == pair.chinese


@pytest.mark.parametrize("side", ["english", "chinese"])
def test_subword_dropout(side: str) -> None:
    tokenizer = ENGLISH if side == "english" else CHINESE
    texts = [getattr(pair, side) for pair in PAIRS[:300]]
    plain = [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False)]

    def cut(p: float, seed: int) -> list[list[int]]:
        dropout, rng = SubwordDropout(tokenizer, p), random.Random(seed)
        return [dropout.encode(text, rng) for text in texts]

    assert cut(0.0, 1) == plain
    assert cut(0.3, 1) == cut(0.3, 1) != cut(0.3, 2)

    def spell(ids: list[int]) -> str:
        return "".join(tokenizer.id_to_token(id).removeprefix("##") for id in ids)

    # Other cuts, the same characters.
    assert list(map(spell, cut(0.3, 1))) == list(map(spell, plain))
    # Nothing merged: a token a character.
    assert sum(map(len, cut(1.0, 1))) == sum(len(spell(ids)) for ids in plain)
