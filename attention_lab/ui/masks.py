"""The first view of the Masks page: choose a mask, click its cells, see what the model does."""

from typing import Literal, get_args

import streamlit as st

from attention_lab.analysis.mask_ways import attend
from attention_lab.analysis.numbers import next_tokens, output_shift, token_shifts
from attention_lab.clinic.exhibit import Function, source
from attention_lab.figures.masks import MOST_POINTS, mask_grid
from attention_lab.figures.shift import next_token_bars, token_bars
from attention_lab.i18n import _
from attention_lab.model import masks
from attention_lab.tokens import name_of
from attention_lab.tracing.trace import Trace
from attention_lab.ui import cells, detail, heads, link, words
from attention_lab.ui.asking import ask
from attention_lab.ui.cells import Cell
from attention_lab.ui.heads import CHART, Place
from attention_lab.ui.markup import plain
from attention_lab.ui.mask_control import mask_control, meaning
from attention_lab.ui.runs import Request, run, write, write_changed
from attention_lab.ui.sidebar import Shared, put_back
from attention_lab.ui.walkthrough import token_picker
from attention_lab.zoo.loaded import Model

View = Literal["edit", "padding", "conventions", "closed", "leak", "cost"]
VIEWS: tuple[View, ...] = get_args(View)
# The presets whose code is shown, by the first of their names.
CODE: dict[str, Function] = {
    "none": masks.none,
    "causal": masks.causal,
    "padding": masks.padding,
    "window": masks.window,
    "dilated": masks.dilated,
    "prefix": masks.prefix,
    "blocks": masks.blocks,
    "global": masks.global_tokens,
}


def restore(shared: Shared) -> None:
    """The state of the page from the link."""
    heads.restore(shared.model, ".self")
    cells.restore(shared.model.config)
    link.restore("masks", VIEWS, "edit")
    link.restore("view", detail.VIEWS, "after")


def view_switch() -> View:
    """One view at a time."""
    names: dict[View, str] = {
        "edit": _("cell by cell"),
        "padding": _("padding"),
        "conventions": _("true or false?"),
        "closed": _("a row without keys"),
        "leak": _("leak test"),
        "cost": _("cost"),
    }
    view: View | None = st.segmented_control(
        _("View"),
        VIEWS,
        required=True,
        key="masks",
        persist_state="session",
        format_func=lambda view: names[view],
        label_visibility="collapsed",
        wrap=True,
    )
    return view or "edit"


def edit(request: Request, shared: Shared) -> None:
    """The mask on the left, the weights under it on the right, and what became of the output."""
    left, right = st.columns([4, 5], gap="medium")
    with right:
        place = heads.pickers(shared.model.config)
    trace, baseline = run(request), run(request.baseline)
    with left:
        mask_control()
        st.markdown(f"**{plain(_('The mask: click a cell to turn it over'))}**")
        grid(request, trace, place)
    with right:
        weights(request, trace, baseline, place)
        if request.is_changed:
            output(request, trace, baseline)
    code(request, place)


def grid(request: Request, trace: Trace, place: Place) -> None:
    """The mask of the chosen head, to click in, with pickers that do the same."""
    config, site = trace.model.config, trace[place.site]
    n_query, n_key = len(site.query_tokens), len(site.key_tokens)
    rows, columns = site.query_tokens.labels, site.key_tokens.labels
    chosen = (
        int(link.restore("query", range(n_query), min(1, n_query - 1))),
        int(link.restore("key", range(n_key), min(1, n_key - 1))),
    )
    mask = site.mask[0]
    turned = cells.inside(request.cells, place.part, n_query, n_key)
    figure = mask_grid(mask, rows, columns, [cell[1:] for cell in turned], chosen)
    alt = _("The mask as a heatmap of {rows} rows and {columns} columns; {n} cells are open.")
    st.plotly_chart(
        figure,
        key="grid",
        on_select=lambda: _clicked(trace.model, place.part, n_query, n_key),
        selection_mode="points",
        config=CHART,
        alt=alt.format(rows=n_query, columns=n_key, n=int(mask.sum())),
    )
    st.caption(plain(meaning()))
    if mask.size > MOST_POINTS:
        st.caption(_("This sentence is too long to click its cells; choose one here instead."))
    with st.container(horizontal=True):
        query = token_picker("query", _("Query"), rows)
        key = token_picker("key", _("Key"), columns)
    is_open = bool(mask[query, key])
    with st.container(horizontal=True):
        st.button(
            _("Close this cell") if is_open else _("Open this cell"),
            key="turn",
            icon=":material/lock:" if is_open else ":material/lock_open:",
            on_click=cells.turn,
            args=(config, Cell(place.part, query, key)),
        )
        if request.cells:
            text = _("Undo all cell edits")
            st.button(text, key="undo", icon=":material/undo:", on_click=cells.turn_all_back)
        if request.is_changed:
            text = _("Put everything back")
            st.button(text, key="back", icon=":material/restart_alt:", on_click=put_back)
    _notes(request, trace, place, len(turned))


def _notes(request: Request, trace: Trace, place: Place, n_turned: int) -> None:
    """What of the choice does nothing here."""
    here = sum(cell.part == place.part for cell in request.cells)
    if here > n_turned:
        text = _("{n} turned cells lie outside of this sentence and do nothing.")
        st.caption(plain(text.format(n=here - n_turned)))
    if place.part.endswith(".cross") and request.mask is not None:
        text = _(
            "The masks of the list are those of self-attention. Cross-attention stays open; its "
            "cells can be turned over one by one."
        )
        st.caption(plain(text))
    if request.mask == "padding" and all(
        token.id != trace.model.card.pad_id for token in trace.tokens
    ):
        text = _("One sentence has no padding, so this mask closes nothing; see “padding” above.")
        st.caption(plain(text))


def _clicked(model: Model, part: str, n_query: int, n_key: int) -> None:
    """Turn the cell over that was clicked, and choose it."""
    for point in st.session_state["grid"]["selection"]["points"][:1]:
        query, key = int(point["y"]), int(point["x"])
        if query < n_query and key < n_key:
            st.session_state["query"], st.session_state["key"] = query, key
            cells.turn(model.config, Cell(part, query, key))


def weights(request: Request, trace: Trace, baseline: Trace, place: Place) -> None:
    """The chosen head's weights: after, before, or the difference, all on one scale."""
    with st.container(horizontal=True, vertical_alignment="center"):
        words.heading(place, "weights", "none")
        view = detail.change_switch() if request.is_changed else "after"
    shown, _bound = detail.shown_panel(trace, baseline, place, ("weights", "none", False), view)
    detail.large_picture(shown, 1.0, place, "none")  # a weight is 0 to 1, a difference −1 to 1
    if not request.is_changed:
        text = _("This is the model's own mask. Click a cell, or choose another mask.")
        st.caption(plain(text))
    else:
        words.conditions(request, view, False, place)


def output(request: Request, trace: Trace, baseline: Trace) -> None:
    """What the change did to what the model puts out."""
    st.markdown(f"**{plain(_('What became of the output'))}**")
    if trace.target_tokens is not None:
        before = write(request.model, request.text)
        after = ask(_("The model writes under this mask …"), write_changed, request)
        text = _("Its translation before: {before}")
        st.markdown(plain(text.format(before=before.text or "—")))
        st.markdown(plain(_("and under this mask: {after}").format(after=after.text or "—")))
        text = _(
            "Each token of the second was chosen by a run of its own under this mask. The pictures "
            "above keep to the first, so that before and after can be compared."
        )
        st.caption(plain(text))
        return
    found = next_tokens(baseline, trace)
    if found:
        names = [name_of(trace.model.tokenizer, each.id) for each in found]
        names = [  # " I" and "I" are two tokens of one name
            f"{name} ({each.id})" if names.count(name) > 1 else name
            for name, each in zip(names, found, strict=True)
        ]
        alt = _("The likeliest next tokens before and after, as bars")
        st.plotly_chart(next_token_bars(found, names), key="next", config=CHART, alt=alt)
    else:
        moved = token_shifts(baseline.hidden, trace.hidden)
        title = _("1 − cosine similarity")
        figure = token_bars((1 - moved["cosine"]).tolist(), trace.tokens.labels, title)
        alt = _("How far the output of each token moved, as bars")
        st.plotly_chart(figure, key="moved", config=CHART, alt=alt)
    words.what_moved(output_shift(baseline, trace), trace.model)


def code(request: Request, place: Place) -> None:
    """The formula, and the lines that make and use the mask."""
    with st.expander(_("The formula and the code"), icon=":material/function:", expanded=True):
        left, right = st.columns([2, 3], gap="medium")
        with left:
            st.latex(r"A=\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}+M\right)")
            st.latex(r"M_{ij}=\begin{cases}0&\text{may attend}\\-\infty&\text{blocked}\end{cases}")
            text = _("In Python this run is lab.trace(model, text, mask={name}).")
            if request.mask and not (request.cells or request.off or request.target_ids):
                st.markdown(plain(text.format(name=f'"{request.mask}"')))
        with right:
            name = request.mask_at(place.part)
            used = [kind for kind in CODE if kind in name]
            st.code(
                source(*[CODE[kind] for kind in used[:2]], attend),
                language="python",
                wrap_lines=True,
            )
