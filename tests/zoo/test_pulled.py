"""The pulled models: what the design says they show, and the same numbers as `transformers`.

Its oracle reads the original files, so these are fetched once more, from the same pinned sources.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tokenizers import Regex, Tokenizer, pre_tokenizers
from transformers import AutoConfig, AutoTokenizer, BertModel, LlamaForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from attention_lab.errors import SourceError
from attention_lab.model.points import observing
from attention_lab.tokens import tokenize
from attention_lab.zoo import Model, registry, sources, store
from tests.factories import Recorder

pytestmark = pytest.mark.pulled
SENTENCE = "The animal didn't cross the street because it was too tired."
TEXTS = [
    SENTENCE,
    "12 345 and 6.78, 2000s",
    "猫追老鼠 😀 👨‍👩‍👧",
    "  two  spaces\n\tand tabs ",
    "don't I'll WE'RE",
    "שלום <|im_end|> x",
    "Ġ ▁ ##x",
]


def original(name: str, folder: Path) -> Path:
    """The files as their authors published them."""
    try:
        sources.fetch(registry.entry(name).sources[0], folder, lambda _size: None)
    except SourceError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    return folder


def ids_of(model: Model, text: str) -> torch.Tensor:
    return torch.tensor([tokenize(model.tokenizer, text).ids])


@pytest.fixture(autouse=True)
def _inference() -> Iterator[None]:
    with torch.inference_mode():
        yield


def test_minilm_is_what_transformers_makes_of_the_original(minilm: Model, tmp_path: Path) -> None:
    folder = original("minilm", tmp_path)
    reference = BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    recorder = Recorder()
    ids = ids_of(minilm, SENTENCE)
    with observing(recorder):
        ours = minilm.module(ids)
    theirs = reference(ids, output_attentions=True)
    torch.testing.assert_close(ours.hidden, theirs.last_hidden_state, atol=1e-4, rtol=1e-4)
    for site, weights in zip(minilm.config.sites, theirs.attentions, strict=True):
        torch.testing.assert_close(recorder[f"{site}.weights"], weights, atol=1e-4, rtol=1e-4)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for text in TEXTS:
        assert list(tokenize(minilm.tokenizer, text).ids) == tokenizer(text)["input_ids"]


def test_smollm2_is_what_transformers_makes_of_the_original(smollm2: Model, tmp_path: Path) -> None:
    folder = original("smollm2", tmp_path)
    file = registry.entry("smollm2").sources[0].files[0].name
    config = AutoConfig.from_pretrained(folder, gguf_file=file)
    config._attn_implementation = "eager"
    reference = LlamaForCausalLM(config).eval()
    checkpoint = load_gguf_checkpoint(
        str(folder / file), return_tensors=True, model_to_load=reference
    )
    wrong = reference.load_state_dict(checkpoint["tensors"], strict=False)
    assert (wrong.missing_keys, wrong.unexpected_keys) == (["lm_head.weight"], [])  # tied
    recorder = Recorder()
    ids = ids_of(smollm2, SENTENCE)
    with observing(recorder):
        ours = smollm2.module(ids)
    theirs = reference(ids, output_hidden_states=True, output_attentions=True)
    torch.testing.assert_close(ours.hidden, theirs.hidden_states[-1], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(ours.logits, theirs.logits, atol=1e-4, rtol=1e-4)
    for site, weights in zip(smollm2.config.sites, theirs.attentions, strict=True):
        torch.testing.assert_close(recorder[f"{site}.weights"], weights, atol=1e-4, rtol=1e-4)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
    for text in TEXTS:
        assert list(tokenize(smollm2.tokenizer, text).ids) == tokenizer(text)["input_ids"]


@pytest.mark.parametrize("text", [*TEXTS, "½ x² ٣٤ Ⅷ 12", "1234567890"])
def test_smollm2_reads_digits_one_by_one(smollm2: Model, text: str) -> None:
    """`transformers` leaves this step out of what it rebuilds from a GGUF; llama.cpp's pattern."""
    rebuilt = Tokenizer.from_str(smollm2.tokenizer.to_str())
    rebuilt.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{N}"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    assert list(tokenize(smollm2.tokenizer, text).ids) == rebuilt.encode(text).ids


def test_smollm2_digits_are_tokens_of_their_own(smollm2: Model) -> None:
    assert tokenize(smollm2.tokenizer, "in 1969").labels == ("in", "␣", "1", "9", "6", "9")


def test_minilm_reads_more_than_the_128_tokens_of_its_file(minilm: Model) -> None:
    tokens = tokenize(minilm.tokenizer, "it " * 200)
    assert len(tokens) == 202
    assert tokens.left_out == 0
    assert len(tokenize(minilm.tokenizer, "it")) == 3  # and is not padded to 128


def test_minilm_looks_from_it_to_the_animal(minilm: Model) -> None:
    tokens, recorder = tokenize(minilm.tokenizer, SENTENCE), Recorder()
    with observing(recorder):
        minilm.module(ids_of(minilm, SENTENCE))
    weights, at = recorder["encoder.3.self.weights"][0, 1], tokens.labels.index
    assert weights[at("it"), at("animal")] == pytest.approx(0.677, abs=1e-3)
    assert weights[at("it"), at("street")] == pytest.approx(0.050, abs=1e-3)


def test_smollm2_looks_from_it_to_the_animal(smollm2: Model) -> None:
    tokens, recorder = tokenize(smollm2.tokenizer, SENTENCE), Recorder()
    with observing(recorder):
        smollm2.module(ids_of(smollm2, SENTENCE))
    weights, at = recorder["decoder.13.self.weights"][0, 8], tokens.labels.index
    assert weights[at("it"), at("animal")] == pytest.approx(0.75, abs=1e-2)


def test_smollm2_knows_the_capital_of_france(smollm2: Model) -> None:
    logits = smollm2.module(ids_of(smollm2, "The capital of France is")).logits
    probability, id = logits[0, -1].softmax(-1).max(-1)
    assert smollm2.tokenizer.decode([int(id)]) == " Paris"
    assert float(probability) == pytest.approx(0.77, abs=1e-2)


@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_what_was_pulled_is_whole(name: str, request: pytest.FixtureRequest) -> None:
    model: Model = request.getfixturevalue(name)
    store.verify(name)
    assert model.card.trained
    assert model.card.licence == "Apache-2.0"
