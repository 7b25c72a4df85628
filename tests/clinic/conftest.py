"""Tiny models of every kind, and their sentence as the clinic sees it."""

from typing import Any

import pytest
import torch

import attention_lab as lab
from attention_lab.clinic.subject import Subject
from attention_lab.zoo.loaded import Model
from tests.factories import tiny_model

SENTENCE = "the animal did not cross the street because it was too tired ."
POST: dict[str, Any] = {"norm_place": "post", "max_positions": 200}
LLAMA: dict[str, Any] = {"position": "rotary", "n_kv_heads": 2, "norm": "rms", "max_positions": 200}
MODELS: dict[str, Model] = {
    "encoder": tiny_model("encoder", seed=1, position="learned", **POST),
    "decoder": tiny_model("decoder", seed=2, **LLAMA),
    "encoder-decoder": tiny_model("encoder-decoder", seed=3, **POST),
}


def subject_of(model: Model, text: str = SENTENCE, layer: int = 1, head: int = 2) -> Subject:
    return Subject(lab.trace(model, text), layer, head)


@pytest.fixture(params=MODELS)
def subject(request: pytest.FixtureRequest) -> Subject:
    """One for each kind of model."""
    return subject_of(MODELS[request.param])


@pytest.fixture
def random() -> torch.Generator:
    return torch.Generator().manual_seed(0)
