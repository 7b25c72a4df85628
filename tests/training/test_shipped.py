"""The translator that the project ships: what the issue and its card promise."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn

from attention_lab.beam import beam_search
from attention_lab.generation import greedy
from attention_lab.tokens import tokenize
from attention_lab.tracing.record import trace
from attention_lab.training import evaluation, phrasebook
from attention_lab.zoo import load, native
from attention_lab.zoo.loaded import Model
from tests.model.test_torch_parity import as_torch

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "checkpoints" / "translator-en-zh"
TIRED = "The animal didn't cross the street because it was too tired."


@pytest.fixture(scope="module")
def model() -> Model:
    return load("translator-en-zh")


def test_the_folder_is_whole_small_and_licensed() -> None:
    native.verify(FOLDER)
    assert (FOLDER / "model.safetensors").stat().st_size <= 20_000_000
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    for fact in ("CC BY 2.0 FR", "tatoeba.org", "manythings.org", "BLEU", "Known weaknesses"):
        assert fact in card


def test_the_papers_architecture(model: Model) -> None:
    config = model.config
    assert config.kind == "encoder-decoder"
    assert (config.norm_place, config.position, config.activation) == ("post", "sinusoidal", "relu")
    assert config.d_ff == 4 * config.d_model
    n = sum(parameter.numel() for parameter in model.module.parameters())
    assert 4_000_000 < n < 10_000_000
    assert model.card.trained


@pytest.mark.parametrize("width", [1, 4])
def test_the_animals_stand_in_the_right_places(model: Model, width: int) -> None:
    chased = beam_search(model, "The cat chased the mouse.", width).best.text
    fled = beam_search(model, "The mouse chased the cat.", width).best.text
    assert re.fullmatch(r".*猫.*追.*老鼠.*", chased)
    assert re.fullmatch(r".*老鼠.*追.*猫.*", fled)
    accepted = set(map(evaluation.bare, phrasebook.workshop()[TIRED]))
    assert evaluation.bare(beam_search(model, TIRED, width).best.text) in accepted


@pytest.mark.parametrize("width", [1, 4])
def test_36_of_the_40_workshop_sentences_are_right(model: Model, width: int) -> None:
    judged = evaluation.judge_workshop(model, width)
    assert all(j.right for j in judged[:3])
    wrong = [(j.english, j.chinese) for j in judged[3:] if not j.right]
    assert len(judged[3:]) == 40
    assert len(wrong) <= 4, wrong


def test_cross_attention_aligns_words(model: Model) -> None:
    found = evaluation.align(model, phrasebook.aligned())
    assert found.n_words >= 300
    assert found.best >= 0.70
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"{found.best:.0%}" in card


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
def test_its_parameters_give_the_same_in_torch(model: Model) -> None:
    """Layers of `torch.nn.Transformer` on our embeddings; post-norm, so no norm at the end."""
    ours = model.module
    source = torch.tensor([tokenize(model.tokenizer, TIRED).ids])
    assert model.target_tokenizer is not None
    target = torch.tensor([tokenize(model.target_tokenizer, "动物没有过马路，因为").ids])
    config = model.config
    theirs = nn.Transformer(
        config.d_model,
        config.n_heads,
        config.n_layers,
        config.n_layers,
        config.d_ff,
        dropout=0.0,
        batch_first=True,
    )
    theirs.encoder.norm = theirs.decoder.norm = None
    theirs.load_state_dict(as_torch(ours.state_dict()))
    assert ours.encoder is not None
    assert ours.decoder is not None
    x = ours.encoder.embed(source, torch.arange(source.shape[1]), "sinusoidal")
    y = ours.decoder.embed(target, torch.arange(target.shape[1]), "sinusoidal")
    with torch.no_grad():
        closed = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        wanted = theirs(x, y, tgt_mask=closed)
        found = ours(source, target).hidden
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)


def test_every_decoding_step_can_be_traced(model: Model) -> None:
    """Cached decoding, and one trace of the whole: the same log-probabilities."""
    result = greedy(model, TIRED)
    assert result.finished
    run = trace(model, TIRED, target=result.ids)
    assert run.logits is not None
    rows = torch.from_numpy(run.logits.copy()).log_softmax(-1)
    for i, step in enumerate(result.steps):
        assert step.log_probability == pytest.approx(float(rows[i, step.id]), abs=1e-3)
    assert run["decoder.0.cross"].weights.shape[-2:] == (len(result.ids) + 1, len(run.tokens))


@pytest.mark.parametrize("text", ["😀", "我喜欢猫。", "cat 🐈‍⬛ مرحبا", "x" * 300, "The " * 60])
def test_odd_texts_come_back_as_something(model: Model, text: str) -> None:
    assert len(greedy(model, text, 40).steps) >= 1
