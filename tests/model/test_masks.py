"""Every mask against its definition, written as plain loops over cells."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab.errors import InputError
from attention_lab.model import masks

Cell = Callable[[int, int], bool]  # (query position, key position) -> may attend

SIZES = st.integers(1, 33)


def table(n_query: int, n_key: int, cell: Cell) -> list[list[bool]]:
    """The queries are the last `n_query` of the `n_key` positions."""
    first = n_key - n_query
    return [[cell(first + q, k) for k in range(n_key)] for q in range(n_query)]


def everything(n_key: int) -> torch.Tensor:
    return torch.ones(n_key, dtype=torch.bool)


@given(SIZES, SIZES)
def test_none_lets_everybody_see_everything(n_query: int, n_key: int) -> None:
    assert masks.none(n_query, n_key).tolist() == table(n_query, n_key, lambda q, k: True)


@given(SIZES, SIZES)
def test_causal_hides_later_keys(n_query: int, n_key: int) -> None:
    """Also where queries outnumber keys: the first ones then see nothing."""
    assert masks.causal(n_query, n_key).tolist() == table(n_query, n_key, lambda q, k: k <= q)


@given(SIZES, SIZES, st.integers(0, 40))
def test_a_window_shows_keys_at_most_so_far_away(n_query: int, n_key: int, width: int) -> None:
    expected = table(n_query, n_key, lambda q, k: abs(q - k) <= width)
    assert masks.window(n_query, n_key, width).tolist() == expected


@given(st.lists(st.booleans(), min_size=1, max_size=33), SIZES)
def test_padding_is_seen_by_nobody(real: list[bool], n_query: int) -> None:
    mask = masks.build("padding", torch.tensor(real), n_query)
    assert mask[0].tolist() == table(n_query, len(real), lambda q, k: real[k])


def test_padding_of_a_batch_broadcasts_over_heads_and_queries() -> None:
    real = torch.tensor([[True, True, False], [True, False, False]])
    mask = masks.padding(real)
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == real.tolist()


@settings(max_examples=30)
@given(st.lists(st.booleans(), min_size=1, max_size=33), st.integers(0, 9), st.data())
def test_joined_masks_are_open_where_all_agree(
    real: list[bool], width: int, data: st.DataObject
) -> None:
    n_key = len(real)
    n_query = data.draw(st.integers(1, n_key))
    spec = "+".join(data.draw(st.permutations(["causal", "padding", f"window:{width}", "none"])))
    expected = table(n_query, n_key, lambda q, k: k <= q and real[k] and q - k <= width)
    assert masks.build(spec, torch.tensor(real), n_query).tolist() == [expected]


def test_a_function_is_called_with_the_sizes() -> None:
    def odd(n_query: int, n_key: int) -> np.ndarray:
        return np.arange(n_query * n_key).reshape(n_query, n_key) % 2 == 1

    mask = masks.build(odd, everything(3), 2)
    assert mask.tolist() == [[[False, True, False], [True, False, True]]]


def test_an_array_may_have_one_mask_a_head() -> None:
    array = np.stack([np.eye(3, dtype=bool), np.tri(3, dtype=bool)])
    mask = masks.build(array, everything(3), 3)
    assert mask.tolist() == array.tolist()


def test_a_mask_does_not_follow_later_changes_of_the_array() -> None:
    array = np.ones((3, 3), dtype=bool)
    mask = masks.build(array, everything(3), 3)
    array[:] = False
    assert mask.all()


@pytest.mark.parametrize(
    "array",
    [
        np.ones((3, 3), dtype=bool)[:, ::-1],
        np.broadcast_to(np.array([True, False, True]), (3, 3)),
        np.asfortranarray(np.tri(3, dtype=bool)),
    ],
)
def test_arrays_of_any_memory_layout_are_read_right(array: np.ndarray) -> None:
    array.flags.writeable = False
    assert masks.build(array, everything(3), 3).tolist() == [array.tolist()]


UNKNOWN = (
    *(
        "",
        "Causal",
        "causal ",
        "future",
        "window",
        "window:",
        "window:-1",
        "window:1.5",
        "window:²",
    ),
    # Arabic three; a width of too many digits; a name too many or too few.
    *("window:٣", "window:9999999", "causal:3", "padding:1", "none+", "+causal", "causal++none"),
)


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"^There is no mask .*none, causal, padding, window:K"):
        masks.check_name(name)


@pytest.mark.parametrize("name", ["none", "causal", "padding", "window:0", "causal+window:4"])
def test_known_names_pass(name: str) -> None:
    masks.check_name(name)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (np.ones((3, 3)), "float64"),
        (np.ones((3, 3), dtype=np.int64), "int64"),
        (np.full((3, 3), True, dtype=object), "object"),
        (lambda q, k: [[True] * k] * q, "list"),
        (lambda q, k: None, "NoneType"),
        (np.ones((3, 2), dtype=bool), r"\(3, 2\).*\(3, 3\)"),
        (np.ones(3, dtype=bool), r"\(3,\).*\(3, 3\)"),
        (np.ones((1, 1, 3, 3), dtype=bool), r"\(1, 1, 3, 3\).*\(3, 3\)"),
    ],
)
def test_malformed_masks_are_refused_with_one_sentence(spec: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        masks.build(spec, everything(3), 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("array", [torch.ones(3, 3, dtype=torch.bool), [[True]], None])
def test_what_is_no_array_is_refused(array: object) -> None:
    with pytest.raises(InputError, match=type(array).__name__):
        masks.from_array(array, 3, 3)
