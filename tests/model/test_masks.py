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


@given(SIZES, SIZES, st.integers(0, 8), st.integers(1, 8))
def test_a_dilated_window_has_gaps(n_query: int, n_key: int, width: int, apart: int) -> None:
    def cell(q: int, k: int) -> bool:
        return any(k in (q - step * apart, q + step * apart) for step in range(width + 1))

    found = masks.dilated(n_query, n_key, width, apart)
    assert found.tolist() == table(n_query, n_key, cell)
    if apart == 1:
        assert torch.equal(found, masks.window(n_query, n_key, width))


@given(SIZES, SIZES, st.integers(0, 40))
def test_a_prefix_is_seen_by_all(n_query: int, n_key: int, length: int) -> None:
    found = masks.prefix(n_query, n_key, length)
    assert found.tolist() == table(n_query, n_key, lambda q, k: k <= q or k < length)


@given(SIZES, SIZES, st.lists(st.integers(1, 12), min_size=1, max_size=8))
def test_packed_sentences_see_themselves_alone(
    n_query: int, n_key: int, lengths: list[int]
) -> None:
    owner = [block for block, length in enumerate(lengths) for _ in range(length)]
    owner += [len(lengths)] * (n_key + 1)  # what is left over

    def cell(q: int, k: int) -> bool:
        return owner[max(q, 0)] == owner[k]  # a query before the first position: as the first

    assert masks.blocks(n_query, n_key, lengths).tolist() == table(n_query, n_key, cell)


@given(SIZES, SIZES, st.lists(st.integers(0, 40), min_size=1, max_size=5))
def test_global_tokens_see_all_and_are_seen_by_all(
    n_query: int, n_key: int, places: list[int]
) -> None:
    found = masks.global_tokens(n_query, n_key, places)
    assert found.tolist() == table(n_query, n_key, lambda q, k: q in places or k in places)


@given(SIZES, SIZES, st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40))))
def test_cells_are_named_by_row_and_column(
    n_query: int, n_key: int, places: list[tuple[int, int]]
) -> None:
    expected = [[(row, column) in places for column in range(n_key)] for row in range(n_query)]
    assert masks.cells(n_query, n_key, places).tolist() == expected


PRESETS: dict[str, Cell] = {
    "none": lambda q, k: True,
    "causal": lambda q, k: k <= q,
    "window:0": lambda q, k: k == q,
    "window:4": lambda q, k: -4 <= k - q <= 4,
    "dilated:2:3": lambda q, k: k - q in (-6, -3, 0, 3, 6),
    "prefix:5": lambda q, k: k <= q or k in (0, 1, 2, 3, 4),
    "blocks:3,5": lambda q, k: (q < 3, 3 <= q < 8) == (k < 3, 3 <= k < 8),
    "global:0,7": lambda q, k: 0 in (q, k) or 7 in (q, k),
    "causal+window:2": lambda q, k: k <= q <= k + 2,
    "window:4|global:0": lambda q, k: abs(q - k) <= 4 or q == 0 or k == 0,  # Longformer
    "causal^cells:0.1,2.2": lambda q, k: (k <= q) != ((q, k) in ((0, 1), (2, 2))),
}


@pytest.mark.parametrize("n", range(1, 34))
@pytest.mark.parametrize("spec", PRESETS)
def test_every_preset_by_its_name_at_every_size(spec: str, n: int) -> None:
    assert masks.build(spec, everything(n), n).tolist() == [table(n, n, PRESETS[spec])]


@pytest.mark.parametrize("spec", [name for name in PRESETS if "cells" not in name])
def test_with_a_cache_the_queries_are_the_last_positions(spec: str) -> None:
    whole = masks.build(spec, everything(12), 12)
    for n_query in (1, 2, 7):
        assert torch.equal(masks.build(spec, everything(12), n_query), whole[:, -n_query:])


@given(st.data(), st.lists(st.booleans(), min_size=1, max_size=33))
def test_joined_names_are_sums_of_products(data: st.DataObject, real: list[bool]) -> None:
    """`^` of `|` of `+`, against the same joined cell by cell."""
    names = st.sampled_from([*(n for n in PRESETS if n.isalpha() or ":" in n), "padding"])
    names = names.filter(lambda name: not set("+|^") & set(name))
    some = st.lists(names, min_size=1, max_size=3)
    flips = data.draw(st.lists(st.lists(some, min_size=1, max_size=3), min_size=1, max_size=3))
    spec = "^".join("|".join(map("+".join, either)) for either in flips)

    def one(name: str, q: int, k: int) -> bool:
        return real[k] if name == "padding" else PRESETS[name](q, k)

    def cell(q: int, k: int) -> bool:
        each = [any(all(one(n, q, k) for n in both) for both in either) for either in flips]
        return sum(each) % 2 == 1

    n = len(real)
    assert masks.build(spec, torch.tensor(real), n).tolist() == [table(n, n, cell)]


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
    *("none:", "none|", "|causal", "causal||none", "^none", "causal^", "none&causal", "(none)"),
    *("dilated:2", "dilated:2:0", "dilated:2:3:4", "prefix", "prefix:-1", "blocks:", "blocks:0,3"),
    *("blocks:3,", "blocks:3,,4", "global", "global:,", "global:1.5", "cells:1", "cells:1.2.3"),
    *("cells:1.2,", "window:4\n", "\nnone", "global: 1", "window:0x4", "prefix:1e3"),
)


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"^There is no mask .*none, causal, padding, window:K"):
        masks.check_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "+".join(["none"] * 100_000),
        "global:" + ",".join(["1"] * 100_000),
        "blocks:" + "1," * 100_000,
        "cells:" + "1" * 100_000,
        "x" * 10_000_000,
    ],
)
def test_a_name_without_end_is_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(InputError) as caught:
        masks.check_name(name)
    assert len(str(caught.value)) < 500


def test_the_longest_name_is_built_for_the_longest_text() -> None:
    """What a name may cost is bounded: at most so many masks are joined."""
    name = "+".join(["none"] * ((masks.MOST_CHARACTERS + 1) // 5))
    assert len(name) <= masks.MOST_CHARACTERS
    assert masks.build(name, everything(64), 64).all()
    far = "global:999999|blocks:999999,999999|window:999999|cells:999999.999999"
    assert masks.build(far, everything(64), 64).shape == (1, 64, 64)


@pytest.mark.parametrize("name", ["padding", *PRESETS])
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
        (lambda q, k: np.ones((q, k + 1), dtype=bool), r"\(3, 4\).*\(3, 3\)"),
        (lambda q, k: np.tri(q), "float64"),
        (lambda q, k: "causal", "str"),
        (np.full((3, 3), np.nan), "float64"),
        (np.ones((3, 3), dtype=complex), "complex128"),
        (np.full((3, 3), "True"), "<U4"),
        (np.array([[True] * 3, [True] * 2], dtype=object), "object"),
        (np.ones((), dtype=bool), r"\(\).*\(3, 3\)"),
        (np.ones((3, 0), dtype=bool), r"\(3, 0\)"),
        (np.ones((3, 2), dtype=bool), r"\(3, 2\).*\(3, 3\)"),
        (np.ones(3, dtype=bool), r"\(3,\).*\(3, 3\)"),
        (np.ones((1, 1, 3, 3), dtype=bool), r"\(1, 1, 3, 3\).*\(3, 3\)"),
    ],
)
def test_malformed_masks_are_refused_with_one_sentence(spec: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        masks.build(spec, everything(3), 3)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 500


@pytest.mark.parametrize(
    ("function", "error"), [(lambda q, k: 1 / 0, ZeroDivisionError), (lambda: None, TypeError)]
)
def test_what_a_mask_function_raises_comes_through_as_it_is(
    function: masks.MaskFunction, error: type[Exception]
) -> None:
    with pytest.raises(error):
        masks.build(function, everything(3), 3)


NO_ARRAYS = (
    *(torch.ones(3, 3, dtype=torch.bool), np.bool_(True), None, 3, True, b"causal"),
    *([[True] * 3] * 3, [[True] * 3, [True] * 2, [True] * 3], ((True,) * 3,) * 3),
)


@pytest.mark.parametrize("array", NO_ARRAYS, ids=lambda array: type(array).__name__)
def test_what_is_no_array_is_refused(array: object) -> None:
    with pytest.raises(InputError, match=f"is of type {type(array).__name__};"):
        masks.from_array(array, 3, 3)
