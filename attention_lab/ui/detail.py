"""The chosen head, large: stage switch, before and after, numbers and statistics."""

from collections.abc import Sequence
from typing import Literal, get_args

import streamlit as st

from attention_lab.analysis.numbers import as_table, closed_rows, row_statistics
from attention_lab.analysis.panel import COMBINES, Combine, Panel, difference, panel
from attention_lab.figures import draw
from attention_lab.i18n import _
from attention_lab.tracing.site import Stage
from attention_lab.tracing.trace import Trace
from attention_lab.ui import link
from attention_lab.ui.heads import CHART, Place, part_name
from attention_lab.ui.markup import plain
from attention_lab.ui.sidebar import toggle_off

STAGES: tuple[Stage, ...] = ("q", "k", "v", "scores", "mask", "masked_scores", "weights", "z")
View = Literal["after", "before", "difference"]
VIEWS: tuple[View, ...] = get_args(View)


def restore() -> None:
    """The choice of what is shown, from the link."""
    link.restore("stage", STAGES, "weights")
    link.restore("combine", COMBINES, "none")
    link.restore("view", VIEWS, "after")
    link.restore("hide", (False, True), False)
    link.restore("table", (False, True), False)


def stage_switch() -> Stage:
    """Which stage of the computation is shown."""
    names = {"masked_scores": _("masked scores")}
    stage = st.segmented_control(
        _("Stage: from queries and keys to the result"),
        STAGES,
        required=True,
        key="stage",
        persist_state="session",
        format_func=lambda stage: names.get(stage, stage),
        label_visibility="collapsed",
        wrap=True,
    )
    return stage or "weights"


def view_switches(stage: Stage) -> tuple[Combine, bool]:
    """How it is shown: one head or several combined, with special tokens or without."""
    with st.container(key="switches", horizontal=True, vertical_alignment="center"):
        combine = combine_switch() if stage == "weights" else "none"
        hide = st.toggle(_("Hide special tokens"), key="hide", persist_state="session")
    return combine, hide


def combine_switch(options: Sequence[Combine] = COMBINES) -> Combine:
    """One head, or several combined."""
    names: dict[Combine, str] = {
        "none": _("this head"),
        "mean_heads": _("mean over heads"),
        "max_heads": _("maximum over heads"),
        "mean_layers": _("mean over layers"),
        "max_layers": _("maximum over layers"),
    }
    return st.selectbox(
        _("Show"),
        options,
        key="combine",
        persist_state="session",
        format_func=lambda name: names[name],
        label_visibility="collapsed",
        width=190,
    )


def change_switch() -> View:
    """Before or after the user's changes, or the difference."""
    names: dict[View, str] = {
        "after": _("after"),
        "before": _("before"),
        "difference": _("after − before"),
    }
    view = st.segmented_control(
        _("Your changes"),
        VIEWS,
        required=True,
        key="view",
        persist_state="session",
        format_func=lambda view: names[view],
        label_visibility="collapsed",
    )
    return view or "after"


def off_switches(place: Place, off: tuple[str, ...]) -> None:
    """Buttons that switch the chosen head, or all heads of its site, off and on."""
    head = f"{place.site}:{place.head}"
    labels = {
        head: (_("Switch this head off"), _("Switch this head on")),
        place.site: (
            _("Switch the whole layer off"),
            _("Switch the whole layer on"),
        ),
    }
    with st.container(horizontal=True):
        for target, (turn_off, turn_on) in labels.items():
            if st.button(
                turn_on if target in off else turn_off,
                key=f"toggle_{'head' if ':' in target else 'layer'}",
                icon=":material/toggle_on:" if target in off else ":material/toggle_off:",
                on_click=toggle_off,
                args=(target,),
            ):
                st.rerun()


def shown_panel(
    trace: Trace,
    baseline: Trace,
    place: Place,
    choice: tuple[Stage, Combine, bool],
    view: View,
) -> tuple[Panel, float | None]:
    """The panel to draw, and the common scale of before and after for signed stages."""
    after = panel(trace, place.site, place.head, *choice)
    if trace is baseline:
        return after, None
    before = panel(baseline, place.site, place.head, *choice)
    if view == "difference":
        return difference(after, before), None
    return (before if view == "before" else after), max(before.bound, after.bound)


def title(place: Place, stage: Stage, combine: Combine) -> str:
    """What the large picture shows, in one line."""
    titles = {
        "none": _("Layer {layer}, head {head}: {stage}"),
        "mean_heads": _("Layer {layer}, mean over all heads: {stage}"),
        "max_heads": _("Layer {layer}, maximum over all heads: {stage}"),
        "mean_layers": _("Head {head}, mean over all layers: {stage}"),
        "max_layers": _("Head {head}, maximum over all layers: {stage}"),
    }
    name = stage.replace("_", " ")
    return titles[combine].format(layer=place.layer, head=place.head, stage=name)


def large_picture(shown: Panel, bound: float | None, place: Place, combine: Combine) -> None:
    """The heatmap, and what its colours cannot say."""
    alt = _("{part}. {title}, as a heatmap of {rows} rows and {columns} columns.").format(
        part=part_name(place.part).capitalize(),
        title=title(place, shown.stage, combine),
        rows=shown.values.shape[0],
        columns=shown.values.shape[1],
    )
    st.plotly_chart(draw(shown, bound), key="detail", config=CHART, alt=alt)
    closed = closed_rows(shown)
    if closed:
        names = ", ".join(shown.rows[row].label for row in closed[:8])
        text = _(
            "{n} rows are all masked ({names}): softmax over nothing is undefined, so these tokens "
            "get weights of zero and take nothing from the others."
        )
        st.info(plain(text.format(n=len(closed), names=names)))


def numbers(shown: Panel, place: Place) -> None:
    """The panel as a table with a file to download, and statistics of each row; on request."""
    if not st.toggle(_("Show the numbers as a table"), key="table", persist_state="session"):
        return
    statistics = row_statistics(shown)
    st.dataframe(statistics, hide_index=True, alt=_("Statistics of each row"))
    if shown.stage == "weights" and not shown.is_difference and "entropy" not in statistics:
        st.caption(_("There is no entropy here: the rows that are shown do not sum to 1."))
    table = as_table(shown)
    st.dataframe(table, alt=_("All numbers of the picture"))
    st.download_button(
        _("Download as CSV"),
        table.to_csv(),
        file_name=f"{place.site}.head{place.head}.{shown.stage}.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
    )
