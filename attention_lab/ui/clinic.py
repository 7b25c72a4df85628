"""The parts of the Clinic page: the picker, the two ways side by side, the check and the cure."""

import pandas as pd
import streamlit as st

from attention_lab import i18n
from attention_lab.clinic.catalogue import exhibits
from attention_lab.clinic.exhibit import Exhibit, Matrix, Result, Side, source
from attention_lab.clinic.subject import Subject
from attention_lab.figures.clinic import draw_curves, draw_matrix
from attention_lab.i18n import _
from attention_lab.ui import heads, link
from attention_lab.ui.asking import ask
from attention_lab.ui.heads import CHART
from attention_lab.ui.keep import RESULTS
from attention_lab.ui.markup import plain
from attention_lab.ui.runs import Request, run
from attention_lab.zoo.loaded import Model


def restore(request: Request) -> None:
    """The exhibit and its setting from the link."""
    key = link.restore("exhibit", list(exhibits()), next(iter(exhibits())))
    _restore_setting(exhibits()[key], Subject(run(request), 0, 0))


def pickers(model: Model, request: Request) -> tuple[Exhibit, Subject, int]:
    """Choose the bug, the head it is shown on, and the exhibit's number."""
    left, middle, right = st.columns([4, 4, 4], gap="medium", vertical_alignment="bottom")
    known = exhibits()
    with left:
        key = st.selectbox(
            _("Bug"),
            list(known),
            key="exhibit",
            persist_state="session",
            format_func=lambda key: known[key].title,
        )
    with middle:
        place = heads.layer_and_head(model.config, heads.parts(model.config)[0])
    chosen, subject = known[key], Subject(run(request), place.layer, place.head)
    with right:
        return chosen, subject, _setting(chosen, subject)


def _restore_setting(chosen: Exhibit, subject: Subject) -> None:
    if chosen.setting is not None:
        setting = chosen.setting(subject)
        link.restore(setting.key, setting.options, setting.default)


def _setting(chosen: Exhibit, subject: Subject) -> int:
    if chosen.setting is None:
        return 0
    setting = chosen.setting(subject)
    value = int(link.restore(setting.key, setting.options, setting.default))
    if len(setting.options) == 1:
        return value
    return int(
        st.select_slider(setting.label, setting.options, key=setting.key, persist_state="session")
    )


@RESULTS.kept
def _result(request: Request, key: str, layer: int, head: int, value: int, language: str) -> Result:
    return exhibits()[key].run(Subject(run(request), layer, head), value)


def examine(request: Request, chosen: Exhibit, subject: Subject, value: int) -> Result:
    """What the exhibit shows of this sentence: computed once, also when many ask for it."""
    place = (subject.layer, subject.head)
    text = _("Both ways run on your sentence …")
    return ask(text, _result, request, chosen.key, *place, value, i18n.language())


def both_ways(chosen: Exhibit, result: Result) -> None:
    """Wrong on the left, right on the right: picture, numbers, code."""
    st.markdown(plain(chosen.story))
    largest = max(result.wrong.matrix.largest, result.right.matrix.largest)
    lines = max(side.code.count("\n") for side in (result.wrong, result.right))
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("#### :red[:material/close:] " + _("Wrong"))
        _side(result.wrong, largest, "wrong", lines)
    with right:
        st.markdown("#### :green[:material/check:] " + _("Right"))
        _side(result.right, largest, "right", lines)
    if result.note:
        st.caption(plain(result.note))


def _side(side: Side, largest: float, name: str, lines: int) -> None:
    blank = "\n " * (lines - side.code.count("\n"))  # so that the pictures stand side by side
    st.code(side.code + blank, language="python", wrap_lines=True)
    matrix = side.matrix
    alt = _("{value} as a heatmap: {rows} rows, {columns} columns. {strange}")
    rows, columns = matrix.values.shape
    alt = alt.format(value=matrix.titles[2], rows=rows, columns=columns, strange=_strange(matrix))
    st.plotly_chart(draw_matrix(matrix, largest), key=f"matrix_{name}", config=CHART, alt=alt)
    numbers = [f"{plain(label)}: **{plain(value)}**" for label, value in side.numbers]
    st.markdown("  \n".join(numbers))
    if strange := _strange(matrix):
        st.caption(plain(strange))
    for complaint in side.complaints:
        st.error(plain(complaint.text), icon=":material/terminal:")
        if complaint.meaning:
            st.caption(plain(complaint.meaning))


def _strange(matrix: Matrix) -> str:
    """The cells that are no finite numbers, counted in words; empty without any."""
    if not matrix.n_nan + matrix.n_infinite:
        return ""
    text = _("Of {n} cells, {nan} are NaN (not a number) and {infinite} are infinite.")
    return text.format(n=matrix.values.size, nan=matrix.n_nan, infinite=matrix.n_infinite)


def more_numbers(result: Result) -> None:
    """The curves against the setting, and the table, where the exhibit has them."""
    if result.curves:
        for column, curves in zip(st.columns(2, gap="medium"), result.curves, strict=False):
            with column:
                st.markdown(f"**{plain(curves.title)}**")
                alt = _("{title} against {x}, wrong and right")
                alt = alt.format(title=curves.title, x=curves.x_title)
                figure = draw_curves(curves)
                st.plotly_chart(figure, key=f"curves_{curves.title}", config=CHART, alt=alt)
    if result.table is not None:
        table = pd.DataFrame(result.table.rows, columns=list(result.table.headings))
        st.dataframe(table, hide_index=True, alt=_("More numbers of this exhibit"))


def check_and_cure(chosen: Exhibit, result: Result) -> None:
    """The check that would have caught the bug, its outcome on both ways, and the cure."""
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("#### " + _("The check that would have caught it"))
        st.code(source(chosen.check), language="python", wrap_lines=True)
    with right:
        st.markdown("#### " + _("What it says"))
        if result.wrong.passes:
            text = _("Wrong: the check passes. With this sentence and setting the two agree.")
            st.markdown(f":material/check_circle: {plain(text)}")
        else:
            text = _("Wrong: the check fails, and the bug is found.")
            st.markdown(f":material/cancel: {plain(text)}")
        outcome = (
            (":material/check_circle:", _("Right: the check passes."))
            if result.right.passes
            else (":material/cancel:", _("Right: the check fails here; please report this."))
        )
        st.markdown(f"{outcome[0]} {plain(outcome[1])}")
        st.markdown("#### " + _("The cure"))
        st.markdown(plain(chosen.cure))


def cut(subject: Subject) -> None:
    """What of a long sentence the exhibits leave out."""
    if subject.left_out:
        text = _("The exhibits look at the first {n} tokens; {left_out} were left out.")
        st.caption(plain(text.format(n=subject.n, left_out=subject.left_out)))
