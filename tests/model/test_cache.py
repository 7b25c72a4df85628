"""Decoding with the key/value cache gives what one forward over everything gives."""

import pytest
import torch

from attention_lab.config import Kind, Position
from attention_lab.errors import InputError
from attention_lab.model import masks
from attention_lab.model.cache import KeyValueCache
from tests.factories import tiny_config, tiny_module

POSITIONS: list[Position] = ["sinusoidal", "learned", "rotary", "alibi", "none"]
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.mark.parametrize("kind", ["decoder", "encoder-decoder"])
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize(("n_kv_heads", "steps"), [(4, [1, 1, 1, 1]), (2, [5, 1, 3])])
def test_steps_of_any_length_equal_one_forward(
    kind: Kind, position: Position, n_kv_heads: int, steps: list[int]
) -> None:
    config = tiny_config(kind, position=position, n_kv_heads=n_kv_heads)
    module = tiny_module(config)
    ids = torch.randint(config.d_vocab, (2, sum(steps)))
    encoded = None
    if kind == "encoder-decoder":
        encoded = module.encode(torch.randint(config.d_vocab, (2, 7)))
    cache = KeyValueCache()
    parts = [module.decode(part, encoded, cache=cache) for part in ids.split(steps, dim=1)]
    whole = module.decode(ids, encoded)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, **CLOSE)
    assert cache.length == sum(steps)


def test_forward_fills_and_reads_the_cache() -> None:
    config = tiny_config("decoder", position="rotary")
    module = tiny_module(config)
    ids = torch.randint(config.d_vocab, (1, 6))
    cache = KeyValueCache()
    module(ids[:, :5], cache=cache)
    step = module(ids[:, 5:], cache=cache)
    torch.testing.assert_close(step.logits, module(ids).logits[:, 5:], **CLOSE)


def test_the_encoders_keys_are_computed_once() -> None:
    """The second step does not look at the encoder's output again."""
    config = tiny_config("encoder-decoder")
    module = tiny_module(config)
    ids = torch.randint(config.d_vocab, (1, 2))
    encoded = module.encode(torch.randint(config.d_vocab, (1, 7)))
    cache = KeyValueCache()
    module.decode(ids[:, :1], encoded, cache=cache)
    step = module.decode(ids[:, 1:], torch.full_like(encoded, torch.nan), cache=cache)
    torch.testing.assert_close(step, module.decode(ids, encoded)[:, 1:], **CLOSE)


def test_a_mask_of_ones_own_counts_all_keys() -> None:
    config = tiny_config("decoder", position="alibi")
    module = tiny_module(config)
    ids = torch.randint(config.d_vocab, (1, 9))

    def near(n_query: int, n_key: int) -> torch.Tensor:
        return (masks.window(n_query, n_key, 2) & masks.causal(n_query, n_key))[None, None]

    cache = KeyValueCache()
    parts = [module.decode(ids[:, i : i + 1], mask=near(1, i + 1), cache=cache) for i in range(9)]
    torch.testing.assert_close(torch.cat(parts, 1), module.decode(ids, mask=near(9, 9)), **CLOSE)


@pytest.mark.parametrize("rows", [[1, 0], [0, 0], [1], [1, 1, 0]])
def test_selected_rows_go_on_as_if_they_had_always_stood_there(rows: list[int]) -> None:
    """Beam search keeps some rows of the batch, and some twice."""
    config = tiny_config("encoder-decoder", n_kv_heads=2)
    module = tiny_module(config)
    encoded = module.encode(torch.randint(config.d_vocab, (2, 5)))
    ids = torch.randint(config.d_vocab, (2, 4))
    cache = KeyValueCache()
    module.decode(ids, encoded, cache=cache)
    cache.select(torch.tensor(rows))
    more = torch.randint(config.d_vocab, (len(rows), 1))
    step = module.decode(more, encoded[rows], cache=cache)
    whole = module.decode(torch.cat([ids[rows], more], dim=1), encoded[rows])
    torch.testing.assert_close(step, whole[:, -1:], **CLOSE)


def test_learned_positions_end_where_the_model_ends() -> None:
    """The cache counts as well: position 64 is one too many for 64 learned positions."""
    config = tiny_config("decoder", position="learned", max_positions=8)
    module = tiny_module(config)
    cache = KeyValueCache()
    module(torch.zeros(1, 8, dtype=torch.int64), cache=cache)
    with pytest.raises(InputError, match="8 positions, and the text needs 9"):
        module(torch.zeros(1, 1, dtype=torch.int64), cache=cache)
