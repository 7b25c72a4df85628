"""The table of all heads, their measured roles, and the way from a head to Explore."""

from collections.abc import Sequence
from typing import Literal, get_args

import pandas as pd
import streamlit as st

from attention_lab.analysis.heads import MEASURES, PLACE, baseline_table, head_table
from attention_lab.analysis.roles import (
    DRAWS,
    HALF,
    SENTENCES,
    Progress,
    RoleScores,
    measure_roles,
    n_runs,
)
from attention_lab.i18n import _
from attention_lab.ui import link
from attention_lab.ui.asking import ask, outside
from attention_lab.ui.head_columns import columns, role_names
from attention_lab.ui.keep import RESULTS
from attention_lab.ui.markup import plain
from attention_lab.ui.runs import SMALL, Request, load_model, run
from attention_lab.zoo.loaded import Model

Source = Literal["yours", "fixed"]
SOURCES: tuple[Source, ...] = get_args(Source)
PERCENTS = range(10, 96, 5)
_ASKED = "_roles_asked_for"  # session state: names of models


def _measure_roles(model: str, progress: Progress | None = None) -> RoleScores:
    """The measured roles of a model: once for all sessions, since the sentences are fixed."""
    return measure_roles(load_model(model), progress)


roles_of = RESULTS.kept(_measure_roles, key=lambda model, progress=None: model)


def restore() -> None:
    """The state of the table from the link."""
    link.restore("of", SOURCES, "yours")
    link.restore("role", PERCENTS, 50)


@RESULTS.kept
def measured(request: Request) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The measures of all heads on a text and their baseline, computed once for all sessions."""
    trace = run(request)
    return head_table(trace), baseline_table(trace)


def all_heads(request: Request, part: str) -> None:
    """The table; a tick opens the head on Explore. Under it the roles with their thresholds."""
    scores = _roles(load_model(request.model))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = _source() if scores is not None else "yours"
        percent = _threshold() if scores is not None else 50
    of_text, even = ask(_("Measuring all heads …"), measured, request)
    table = of_text if source == "yours" or scores is None else scores.mean
    names = _role_texts(scores, percent / 100)
    shown = table.assign(roles=names, induction=_induction(scores, len(table)))
    here = shown["part"] == part
    chosen = shown[here].reset_index(drop=True)
    selected = st.dataframe(
        chosen[["layer", "head", "roles", *_measured(chosen)]],
        hide_index=True,
        height=392,
        key=f"heads_{part}",
        on_select="rerun",
        selection_mode="single-row",
        column_config=columns(),
        placeholder="–",
        alt=_("All heads with their measures and roles"),
    )
    st.caption(_("Click a column to sort by it; tick a row to open that head on Explore."))
    if rows := selected["selection"]["rows"]:
        open_head(*chosen.loc[rows[0], ["layer", "head"]])
    if source == "yours":
        _baseline(even, part)
    if scores is not None:
        _summary(scores, percent / 100, part)
    st.download_button(
        _("Download as CSV"),
        lambda: _file(of_text, scores).to_csv(index=False),
        file_name=f"heads-{request.model}.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
    )


def open_head(layer: int, head: int) -> None:
    """Go to Explore with this head chosen; the part is the one that is chosen here already."""
    st.session_state["layer"], st.session_state["head"] = int(layer), int(head)
    st.switch_page("pages/explore.py")


def _roles(model: Model) -> RoleScores | None:
    """The model's roles; of a large model only once somebody has asked for them."""
    n = n_runs(model)
    asked = model.name in st.session_state.get(_ASKED, ())
    known = roles_of.cache_key(model.name) in roles_of.cache
    if model.n_parameters > SMALL and not asked and not known:
        text = _("Measure the roles: {n} runs of the model on fixed texts").format(n=n)
        st.button(
            text,
            key="measure",
            icon=":material/science:",
            type="primary",
            on_click=_ask,
            args=(model.name,),
        )
        return None
    if known:
        return roles_of(model.name)
    text = _("Measuring the roles: {done} of {n} runs of the model on fixed texts …")
    bar = st.progress(0.0, text=text.format(done=0, n=n))

    def show(done: int, n: int) -> None:
        bar.progress(done / n, text=text.format(done=done, n=n))

    with outside():
        scores = roles_of(model.name, show)
    bar.empty()
    return scores


def _ask(model: str) -> None:
    st.session_state[_ASKED] = {*st.session_state.get(_ASKED, ()), model}


def _source() -> Source:
    names = {"yours": _("on your sentence"), "fixed": _("mean over {n} fixed sentences")}
    source = st.segmented_control(
        _("Measured"),
        SOURCES,
        required=True,
        key="of",
        persist_state="session",
        format_func=lambda source: names[source].format(n=len(SENTENCES)),
    )
    return source or "yours"


def _threshold() -> int:
    return int(
        st.select_slider(
            _("A role needs a score of at least (percent)"),
            PERCENTS,
            key="role",
            persist_state="session",
            width=260,
        )
    )


def _role_texts(scores: RoleScores | None, threshold: float) -> Sequence[str]:
    """Each head's roles with score and spread; a head that shows nothing has no text."""
    if scores is None:
        return ""
    words = role_names()
    return [
        " · ".join(
            f"{words[role]} {scores.mean[role].iloc[row]:.2f} ± {scores.spread[role].iloc[row]:.2f}"
            for role in roles
        )
        for row, roles in enumerate(scores.labels(threshold))
    ]


def _induction(scores: RoleScores | None, n: int) -> pd.Series:
    return pd.Series([float("nan")] * n) if scores is None else scores.mean["induction"]


def _measured(table: pd.DataFrame) -> list[str]:
    """The measures that say something here; the others would be empty columns."""
    return [name for name in (*MEASURES, "induction") if table[name].notna().any()]


def _baseline(even: pd.DataFrame, part: str) -> None:
    """What heads that choose nothing would score on this sentence."""
    mean = even[even["part"] == part][list(MEASURES)].mean().dropna()
    words = {"entropy": _("entropy"), "distance": _("distance")} | role_names()
    numbers = ", ".join(f"{words[str(name)]} {value:.2f}" for name, value in mean.items())
    text = _("To compare: uniform weights under the same mask on this sentence give {numbers}.")
    st.caption(plain(text.format(numbers=numbers)))


def _summary(scores: RoleScores, threshold: float, part: str) -> None:
    """Each role: how many heads have it, threshold, baseline, and its best head with spread."""
    here = scores.mean["part"] == part
    without = sum(not roles for roles in pd.Series(scores.labels(threshold))[here])
    text = _(
        "A head has a role if its mean score over the fixed texts reaches the threshold, and lies "
        "above the baseline by more than its spread (standard deviation over the texts). {n} of "
        "{all} heads show none of these roles and get no label. The first token is often a place "
        "to rest: a head that looks there mostly does little (an attention sink). Roles belong to "
        "the model as it was trained; the sidebar's changes do not touch them."
    )
    st.markdown(plain(text.format(n=without, all=int(here.sum()))))
    number = st.column_config.NumberColumn
    summary = scores.summary(part, threshold)
    st.dataframe(
        summary.assign(role=summary["role"].map(role_names())),
        hide_index=True,
        column_config={
            "role": _("role"),
            "heads": _("heads with it"),
            "threshold": number(_("threshold"), format="%.2f"),
            "baseline": number(_("baseline (uniform weights)"), format="%.3f"),
            "score": number(_("highest score"), format="%.3f"),
            "spread": number(_("its spread (±)"), format="%.3f"),
            "layer": _("its layer"),
            "head": _("its head"),
        },
        alt=_("Roles and thresholds"),
    )
    with st.expander(_("The fixed texts"), icon=":material/list:"):
        st.code("\n".join(SENTENCES), language=None)
        if scores.mean["induction"].notna().any():
            text = _("Induction: {n} random words of the vocabulary, repeated; {draws} draws.")
            st.caption(text.format(n=HALF, draws=DRAWS))


def _file(of_text: pd.DataFrame, scores: RoleScores | None) -> pd.DataFrame:
    """Everything as one table: this sentence, and mean, spread and baseline of the fixed texts."""
    if scores is None:
        return of_text
    tables = {"mean": scores.mean, "spread": scores.spread, "baseline": scores.baseline}
    parts = [of_text]
    for name, table in tables.items():
        parts.append(table.drop(columns=PLACE).add_prefix(f"{name}_"))
    return pd.concat(parts, axis="columns")
