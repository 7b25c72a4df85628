"""What is trained on: never a held-out sentence, whatever the rewriting."""

from pathlib import Path

import pytest

from attention_lab.training import corpus, phrasebook, translator
from attention_lab.training.batches import EOS_ID, PAD_ID
from attention_lab.training.corpus import Pair
from tests.training.conftest import tiny_recipe


def texts(data: translator.Data, epoch: int, **changes: object) -> list[str]:
    """The English of an epoch, put together from the ids that the model sees."""
    recipe = tiny_recipe(**{"subword_dropout": 0.0, **changes})
    found = []
    for batch in translator.epoch_batches(data, recipe)(epoch):
        for row in batch.source.tolist():
            ids = [id for id in row if id not in (PAD_ID, EOS_ID)]
            pieces = [data.english.id_to_token(id) for id in ids]
            found.append(" ".join(pieces).replace(" ##", ""))
    return found


@pytest.fixture
def data(
    corpus_file: Path,
    heldout_file: Path,
    few_phrases: list[Pair],
    monkeypatch: pytest.MonkeyPatch,
) -> translator.Data:
    monkeypatch.setattr(phrasebook, "pairs", lambda: few_phrases)
    closed = corpus.read_heldout(heldout_file)
    return translator.prepare(corpus_file, closed, tiny_recipe(rewrite=1.0))


def test_no_held_out_sentence_is_trained_on(data: translator.Data) -> None:
    closed = {"go away", "we know him", *map(corpus.key, phrasebook.heldout())}
    assert not closed & {corpus.key(pair.english) for pair in (*data.train, *data.valid)}
    assert closed <= data.heldout
    valid = {corpus.key(pair.english) for pair in data.valid}
    assert not valid & {corpus.key(pair.english) for pair in data.train}


def test_a_rewriting_that_is_held_out_is_not_used(data: translator.Data) -> None:
    from dataclasses import replace

    pair = Pair("He doesn't like it.", "他不喜欢它。")
    open_data = replace(data, train=(pair,) * 40)
    changed = [t for t in texts(open_data, 0, rewrite=1.0) if "does not" in t]
    assert changed
    closed = replace(open_data, heldout=frozenset({corpus.key("He does not like it.")}))
    assert not [t for t in texts(closed, 0, rewrite=1.0) if "does not" in t]


def test_an_epoch_is_a_function_of_its_number(data: translator.Data) -> None:
    assert texts(data, 0, rewrite=0.5) == texts(data, 0, rewrite=0.5) != texts(data, 1, rewrite=0.5)
    assert len(texts(data, 3)) == len(data.train)


def test_sentences_are_joined_after_the_plain_epochs(data: translator.Data) -> None:
    def words(epoch: int) -> int:
        return sum(len(text.split()) for text in texts(data, epoch, join=1.0, plain_epochs=1))

    assert 1.8 < words(1) / words(0) < 2.2


def test_the_fingerprint_tells_corpora_apart(data: translator.Data) -> None:
    from dataclasses import replace

    assert data.fingerprint == replace(data).fingerprint
    assert data.fingerprint != replace(data, train=data.train[1:]).fingerprint
