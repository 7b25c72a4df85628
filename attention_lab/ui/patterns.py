"""The pattern that positions make: the table of a kind, in five pictures, with its numbers."""

from typing import Literal, get_args

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attention_lab.analysis import positions as numbers
from attention_lab.analysis.embedding import learned_table
from attention_lab.figures.clock import clock
from attention_lab.figures.curves import curves
from attention_lab.figures.numbered import Titles, numbered
from attention_lab.i18n import _
from attention_lab.ui import link
from attention_lab.ui.asking import ask
from attention_lab.ui.heads import CHART
from attention_lab.ui.keep import RESULTS
from attention_lab.ui.markup import plain
from attention_lab.ui.runs import load_model

Picture = Literal["table", "curves", "clock", "similarity", "shift"]
PICTURES: tuple[Picture, ...] = get_args(Picture)
MOST = 512
MOST_CURVES = 6
FIRST_CURVES = (0, 1, 8, 32)


def restore() -> None:
    """The state of this view from the link."""
    link.restore("picture", PICTURES, "table")
    link.restore("places", range(2, MOST + 1), 50)
    link.restore("dims", range(2, MOST + 1), 128)


def table_view(model_name: str, kind: Literal["sinusoidal", "learned"]) -> None:
    """The controls and words on the left, the picture on the right."""
    left, right = st.columns([2, 3], gap="medium")
    with left:
        table = _table(model_name, kind)
        picture = _picture_switch()
    if picture == "table":
        _heatmap(table, kind, left, right)
    elif picture == "curves":
        _curves(table, kind, left, right)
    elif picture == "clock":
        _clock(table, kind, left, right)
    elif picture == "similarity":
        _similarity(table, left, right)
    else:
        _shift(table, kind, left, right, model_name)


def _learned(model_name: str) -> np.ndarray:
    found = learned_table(load_model(model_name))
    assert found is not None, "the page asks only models that have learned positions"
    return found


def _table(model_name: str, kind: str) -> np.ndarray:
    """As many positions and dimensions as chosen, at most those that there are."""
    most = MOST, MOST
    if kind == "learned":
        n, d = _learned(model_name).shape
        most = min(n, MOST), min(d, MOST)
    with st.container(horizontal=True):
        n = number("places", _("Positions (2 to {most})").format(most=most[0]), 2, most[0], 50)
        d = number("dims", _("Dimensions (2 to {most})").format(most=most[1]), 2, most[1], 128)
    if kind == "learned":
        return _learned(model_name)[:n, :d]
    return numbers.sinusoidal_table(n, d)


def number(key: str, label: str, least: int, most: int, default: int) -> int:
    """A number input whose state is in the link."""
    link.restore(key, range(least, most + 1), min(default, most))
    return int(st.number_input(label, least, most, step=1, key=key, persist_state="session"))


def _picture_switch() -> Picture:
    names = {
        "table": _("the table"),
        "curves": _("as curves"),
        "clock": _("as a clock"),
        "similarity": _("which are alike"),
        "shift": _("from one to another"),
    }
    picture = st.segmented_control(
        _("Picture"),
        PICTURES,
        required=True,
        key="picture",
        persist_state="session",
        format_func=lambda picture: names[picture],
        label_visibility="collapsed",
        wrap=True,
    )
    return picture or "table"


def column_names(d: int) -> list[str]:
    """The formula of each dimension of the sinusoidal table."""
    name = _("dimension {i}: {f}(pos / 10000^({even}/{d}))")
    return [name.format(i=i, f="cos" if i % 2 else "sin", even=i - i % 2, d=d) for i in range(d)]


def _heatmap(table: np.ndarray, kind: str, left: DeltaGenerator, right: DeltaGenerator) -> None:
    n, d = table.shape
    with left:
        words = {
            "sinusoidal": _(
                "Each row is a position, each column a dimension. Columns come in pairs, a sine "
                "and a cosine of the same wavelength; from pair to pair the wave gets longer, from "
                "{short:.1f} to {long:,.0f} positions. So each row is different from all others."
            ),
            "learned": _(
                "These are parameters: training has given each position its own row. Nobody wrote "
                "a formula, and there is no row after the last."
            ),
        }
        waves = numbers.wavelengths(d)
        st.markdown(plain(words[kind].format(short=waves[0], long=waves[-1])))
        position = number("pos", _("Position to look at"), 0, n - 1, min(1, n - 1))
        _row(table, position, kind)
    with right:
        titles = Titles(_("position"), _("dimension"), _("value"))
        names = column_names(d) if kind == "sinusoidal" else None
        figure = numbered(table, titles, names=names, chosen_row=position, height=480)
        alt = _("The positions as a heatmap of {n} positions and {d} dimensions").format(n=n, d=d)
        st.plotly_chart(figure, key="position_table", config=CHART, alt=alt)


def _row(table: np.ndarray, position: int, kind: str) -> None:
    """The first numbers of the chosen row, each with its formula."""
    shown = table[position][:6]
    if kind == "sinusoidal":
        d = table.shape[1]
        lines = [
            f"{'cos' if i % 2 else 'sin'}({position} / 10000^({i - i % 2}/{d})) = {value:+.4f}"
            for i, value in enumerate(shown)
        ]
    else:
        lines = [f"PE[{position}, {i}] = {value:+.4f}" for i, value in enumerate(shown)]
    st.code("\n".join(lines), language=None)


def _curves(table: np.ndarray, kind: str, left: DeltaGenerator, right: DeltaGenerator) -> None:
    n, d = table.shape
    with left:
        options = [str(i) for i in range(d)]
        link.restore_list("curve", options)
        chosen = st.multiselect(
            _("Dimensions, up to {most}").format(most=MOST_CURVES),
            options,
            key="curve",
            persist_state="session",
            max_selections=MOST_CURVES,
            placeholder=_("the first ones"),
        )
        dimensions = [int(i) for i in chosen[:MOST_CURVES]] or [i for i in FIRST_CURVES if i < d]
        text = _(
            "Each curve is one column of the table, from position to position. The first ones "
            "turn fast, like the second hand of a clock; the last ones hardly move."
        )
        learned = _("Each curve is one column of the table, from position to position.")
        st.markdown(text if kind == "sinusoidal" else learned)
    with right:
        waves = numbers.wavelengths(d)
        name = _("dimension {i}, wavelength {wave:,.1f}")
        plain_name = _("dimension {i}")
        lines = {
            (name if kind == "sinusoidal" else plain_name).format(i=i, wave=waves[i // 2]): table[
                :, i
            ]
            for i in dimensions
        }
        figure = curves(np.arange(n), lines, (_("position"), _("value")), height=440)
        alt = _("Some dimensions as curves over the position")
        st.plotly_chart(figure, key="position_curves", config=CHART, alt=alt)


def _clock(table: np.ndarray, kind: str, left: DeltaGenerator, right: DeltaGenerator) -> None:
    n, d = table.shape
    with left:
        with st.container(horizontal=True):
            last = d // 2 - 1
            pair = number("pair", _("Pair (0 to {last})").format(last=last), 0, last, min(4, last))
            position = number("pos", _("Position of the hand"), 0, n - 1, min(1, n - 1))
        wave = numbers.wavelengths(d)[pair]
        words = {
            "sinusoidal": _(
                "A sine and its cosine are the height and the width of a hand that turns: by "
                "{angle:.4f} of a turn from each position to the next, once around in {wave:,.1f} "
                "positions. Pair 0 is the fastest hand; a position is told by all hands together."
            ),
            "learned": _(
                "Two neighbouring dimensions of the learned table, drawn in the same way. Nobody "
                "told training to make clocks, and these two are none."
            ),
        }
        st.markdown(plain(words[kind].format(angle=1 / wave, wave=wave)))
    x, y = 2 * pair + 1, 2 * pair
    with right:
        name = _("dimension {i}")
        figure = clock(table[:, [x, y]], position, (name.format(i=x), name.format(i=y)))
        alt = _("Dimensions {y} and {x} as a clock, its hand at position {position}")
        st.plotly_chart(
            figure, key="clock", config=CHART, alt=alt.format(x=x, y=y, position=position)
        )


def _similarity(table: np.ndarray, left: DeltaGenerator, right: DeltaGenerator) -> None:
    lengths = np.linalg.norm(table, axis=1)
    stands_out = float(lengths[0] / np.median(lengths))
    first = int(stands_out > 2 and len(table) > 2)
    table = table[first:]
    product = numbers.similarity(table)
    fall = numbers.by_distance(product)
    n = len(product)
    with left:
        text = _(
            "PE·PEᵀ: the product of each two positions. Near positions are alike, far ones less "
            "so. At the same distance the product differs by at most {deviation:.2g}."
        )
        st.markdown(plain(text.format(deviation=fall.deviation)))
        if first:
            text = _(
                "Position 0 is left out: its row is {times:.1f} times as long as the others, and "
                "would hide them."
            )
            st.caption(plain(text.format(times=stands_out)))
        figure = curves(
            np.arange(n),
            {_("mean"): fall.mean},
            (_("distance"), _("product")),
            band=(fall.smallest, fall.largest),
            height=300,
        )
        alt = _("The product of two positions over their distance")
        st.plotly_chart(figure, key="similarity_fall", config=CHART, alt=alt)
    with right:
        titles = Titles(_("position"), _("position"), _("product"))
        alt = _("The product of each two of {n} positions as a heatmap").format(n=n)
        figure = numbered(product, titles, first=first, height=480)
        st.plotly_chart(figure, key="similarity_map", config=CHART, alt=alt)


@RESULTS.kept
def _fit(model_name: str, n: int, d: int, k: int) -> numbers.Fit:
    return numbers.fitted_shift(_learned(model_name)[:n, :d], k)


def _shift(
    table: np.ndarray, kind: str, left: DeltaGenerator, right: DeltaGenerator, model_name: str
) -> None:
    n, d = table.shape
    with left:
        most = max(1, min(64, n - 2))
        k = number("k", _("How far, k (1 to {most})").format(most=most), 1, most, 1)
        if kind == "sinusoidal":
            shift = numbers.shift_map(d, k)
            error = numbers.shift_error(table, shift, k)
            text = _(
                "One matrix M takes every position to the one {k} further on: PE(pos + {k}) = "
                "M · PE(pos). It turns each pair by its angle, so a head can learn to look “{k} "
                "back” with one matrix. Largest error over all positions: {error:.1e}."
            )
            st.markdown(plain(text.format(k=k, error=error)))
        else:
            fit = ask(_("Looking for the best matrix …"), _fit, model_name, n, d, k)
            shift = fit.shift
            text = _(
                "Learned positions promise no such matrix. The best one (least squares, on every "
                "other position) is off by {seen:.0%} on the positions it was fitted to, and by "
                "{unseen:.0%} on the others."
            )
            st.markdown(plain(text.format(seen=fit.seen, unseen=fit.unseen)))
    with right:
        titles = Titles(_("to dimension"), _("from dimension"), _("value"))
        alt = _("The matrix that moves positions by {k}, as a heatmap").format(k=k)
        figure = numbered(shift, titles, height=480)
        st.plotly_chart(figure, key="shift_map", config=CHART, alt=alt)
