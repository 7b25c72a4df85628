"""Word and position before the first layer: x, PE and their sum, each on its own."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from attention_lab.model import positions
from attention_lab.tokens import Token
from attention_lab.tracing.trace import Trace
from attention_lab.zoo.loaded import Model


@dataclass(frozen=True, eq=False)
class Parts:
    """What a stack adds up for its first layer; `place` is zero where nothing is added."""

    tokens: tuple[Token, ...]
    word: Float[np.ndarray, "position d_model"]  # with the factor √d_model, where the model has it
    place: Float[np.ndarray, "position d_model"]
    is_learned: bool

    @property
    def total(self) -> Float[np.ndarray, "position d_model"]:
        """x + PE."""
        total: np.ndarray = self.word + self.place
        return total

    @property
    def norms(self) -> dict[str, Float[np.ndarray, " position"]]:
        """The length of each token's three vectors."""
        found = {"word": self.word, "place": self.place, "total": self.total}
        return {name: np.linalg.norm(rows, axis=-1) for name, rows in found.items()}


def parts(trace: Trace, stack: str) -> Parts:
    """Word and position of each token that a stack ("encoder" or "decoder") read."""
    config = trace.model.config
    is_target = stack == "decoder" and trace.target_tokens is not None
    tokens = trace.target_tokens if is_target and trace.target_tokens else trace.tokens
    embed = trace.model.module.get_submodule(f"{stack}.embed")
    ids, where = torch.tensor(tokens.ids), trace.start + torch.arange(len(tokens))
    with torch.inference_mode():
        word = embed.get_parameter("token.weight")[ids]
        word = word * config.d_model**0.5 if config.embed_scale else word
        place = torch.zeros_like(word)
        if trace.position == "sinusoidal":
            place = positions.sinusoidal(where, config.d_model)
        elif trace.position == "learned":
            place = embed.get_parameter("position.weight")[where]
    return Parts(tuple(tokens), word.numpy(), place.numpy(), trace.position == "learned")


def learned_table(model: Model) -> Float[np.ndarray, "position d_model"] | None:
    """The positions that the model has learned; None where it has none."""
    config = model.config
    if config.position != "learned":
        return None
    embed = model.module.get_submodule(f"{config.stacks[0]}.embed")
    table: np.ndarray = embed.get_parameter("position.weight").detach().numpy()
    return table
