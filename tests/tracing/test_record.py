"""What `trace` accepts as a text, and how much of it."""

from inspect import unwrap
from typing import Any

import pytest

import attention_lab as lab
from attention_lab.config import Limits
from attention_lab.errors import InputError, LimitError, ModelError
from attention_lab.tracing.record import trace_ids
from tests.factories import byte_tokenizer, tiny_model
from tests.tracing.helpers import assert_identical, numbers


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u3000\u00a0"])
def test_a_text_without_a_visible_character_is_refused(text: str) -> None:
    with pytest.raises(LimitError, match="empty"):
        lab.trace(tiny_model(), text)


@pytest.mark.parametrize("text", ["a" * 100_000, "猫" * 2_001, "a " * 50_000])
def test_a_text_of_too_many_characters_is_refused_before_it_is_tokenized(text: str) -> None:
    with pytest.raises(LimitError, match=rf"{len(text):,} characters; at most 2,000"):
        lab.trace(tiny_model(), text, limit=8)


def test_a_text_of_too_many_tokens_says_how_many_are_too_many() -> None:
    model = tiny_model()  # 64 positions, of which [CLS] and [SEP] take two
    assert len(lab.trace(model, "cat " * 62).tokens) == 64
    with pytest.raises(LimitError, match=r"has 65 tokens; at most 64 .* by 1\b"):
        lab.trace(model, "cat " * 63)
    with pytest.raises(LimitError, match="at most 10 "):
        lab.trace(model, "cat " * 9, limits=Limits(tokens=10))


def test_tokens_are_counted_by_the_tokenizer_and_not_by_spaces() -> None:
    """Field note 3: "猫追老鼠" is one word for `split` and four tokens."""
    with pytest.raises(LimitError, match="has 6 tokens; at most 5 "):
        lab.trace(tiny_model(), "猫追老鼠", limits=Limits(tokens=5))


@pytest.mark.parametrize("limit", [3, 4, 9, 11])
def test_a_limit_keeps_so_many_tokens_and_says_how_many_it_left_out(limit: int) -> None:
    """Special tokens count, so that a limit of 12 is 12 (field note 3)."""
    tokens = lab.trace(tiny_model(), "the cat sat on the mat . a dog", limit=limit).tokens
    assert len(tokens) == limit
    assert tokens.left_out == 11 - limit
    assert tokens[-1].text == "[SEP]"


def test_a_limit_may_be_more_than_the_model_takes() -> None:
    tokens = lab.trace(tiny_model(), "cat " * 70, limit=1000).tokens
    assert (len(tokens), tokens.left_out) == (64, 8)


@pytest.mark.parametrize("limit", [0, -1, 1, 2])
def test_a_limit_that_leaves_no_room_is_refused(limit: int) -> None:
    with pytest.raises(InputError, match=f"limit is {limit} tokens; this model needs at least 3"):
        lab.trace(tiny_model(), "a cat", limit=limit)


def test_a_limit_of_nothing_is_refused_without_special_tokens_too() -> None:
    with pytest.raises(InputError, match="limit is 0 tokens; this model needs at least 1"):
        lab.trace(tiny_model("decoder"), "a cat", limit=0)


def test_a_text_that_a_tokenizer_reads_as_nothing_is_refused() -> None:
    """Control characters are dropped by BERT's cleaning; a decoder then has no token at all."""
    with pytest.raises(LimitError, match="no characters that this model reads"):
        lab.trace(tiny_model("decoder"), "\x00\x01")
    assert [t.text for t in lab.trace(tiny_model(), "\x00\x01").tokens] == ["[CLS]", "[SEP]"]


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InputError, match="surrogate"):
        lab.trace(tiny_model(), "a \ud83d cat")


@pytest.mark.parametrize(
    "text", ["<b>$x$ *a* `b` ${c} </script>", "שלום עולם", "👨‍👩‍👧 🇨🇳 e\u0301", "a\x07b"]
)
def test_any_other_text_gives_a_trace_of_its_own_characters(text: str) -> None:
    """Field note 17: joiners, flags, combining marks and right-to-left come back whole."""
    trace = lab.trace(tiny_model("decoder", tokenizer=byte_tokenizer()), text)
    ends = [(token.start, token.end) for token in trace.tokens]
    covered = {place for start, end in ends for place in range(start, end)}
    assert covered == set(range(len(text)))
    assert all(text[token.start : token.end] == token.text for token in trace.tokens)


def test_a_target_is_for_encoder_decoders() -> None:
    with pytest.raises(InputError, match="tiny-decoder is no encoder-decoder and takes no target"):
        lab.trace(tiny_model("decoder"), "a cat", "猫")


def test_without_a_target_the_decoder_has_its_first_token() -> None:
    model = tiny_model("encoder-decoder")
    for target in (None, ""):
        trace = lab.trace(model, "a cat", target)
        assert [token.text for token in trace.target_tokens] == ["<s>"]
        assert trace["decoder.0.cross"].weights.shape == (4, 1, 3)
        assert trace.logits.shape == (1, model.config.d_vocab_target)


def test_a_target_has_the_same_limits() -> None:
    model = tiny_model("encoder-decoder")
    with pytest.raises(LimitError, match="3,000 characters"):
        lab.trace(model, "a cat", "猫" * 3_000)
    with pytest.raises(LimitError, match="has 71 tokens; at most 64"):
        lab.trace(model, "a cat", "猫" * 70)
    assert len(lab.trace(model, "a cat", "猫", limit=3).target_tokens) == 2


@pytest.mark.parametrize("target", ["猫 sat", "", "sat . 追"])
def test_a_target_by_its_ids_is_what_its_text_is(target: str) -> None:
    model = tiny_model("encoder-decoder")
    by_text = lab.trace(model, "a cat", target)
    by_ids = lab.trace(model, "a cat", by_text.target_tokens.ids[1:])  # without the <s>
    assert by_ids.target_tokens.ids == by_text.target_tokens.ids
    assert_identical(numbers(by_ids), numbers(by_text))


def test_a_text_by_its_ids_is_what_the_text_is() -> None:
    model = tiny_model("decoder")
    by_text = lab.trace(model, "the cat sat", mask="window:1", edits=[lab.position("none")])
    ids = by_text.tokens.ids
    by_ids = trace_ids(model, ids, mask="window:1", edits=[lab.position("none")])
    assert_identical(numbers(by_ids), numbers(by_text))


def test_ids_have_the_limits_that_texts_have() -> None:
    decoder, both = tiny_model("decoder"), tiny_model("encoder-decoder")
    with pytest.raises(LimitError):
        trace_ids(decoder, [])
    with pytest.raises(LimitError, match="has 65 tokens; at most 64"):
        trace_ids(decoder, [7] * 65)
    with pytest.raises(LimitError, match="has 65 tokens; at most 64"):
        lab.trace(both, "a cat", [7] * 64)
    for ids in ([9_999], [-1]):
        with pytest.raises(InputError):
            trace_ids(decoder, ids)
        with pytest.raises(InputError):
            lab.trace(both, "a cat", ids)


def test_limits_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTION_LAB_CHARACTERS", "4")
    with pytest.raises(LimitError, match="at most 4"):
        lab.trace(tiny_model(), "a cat")
    monkeypatch.setenv("ATTENTION_LAB_CHARACTERS", "many")
    with pytest.raises(InputError, match="ATTENTION_LAB_CHARACTERS is 'many'"):
        lab.trace(tiny_model(), "a cat")


def test_a_model_in_training_mode_is_refused() -> None:
    """Field note 7: dropout must not be in what is shown."""
    model = tiny_model(dropout=0.1)
    model.module.train()
    with pytest.raises(ModelError, match=r"tiny-encoder is in training mode; call .*eval\(\)"):
        lab.trace(model, "a cat")


@pytest.mark.parametrize(
    "edits", [lab.ablate("encoder.0.self"), ["encoder.0.self"], "zero", [None], 3]
)
def test_what_is_no_list_of_edits_is_refused(edits: Any) -> None:
    trace = unwrap(lab.trace)  # without the tests' own check of types
    with pytest.raises(InputError, match=r"allowed: a list of what lab\.ablate, lab\.mask"):
        trace(tiny_model(), "a cat", edits=edits)
