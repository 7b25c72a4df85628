"""The parts of the Step by step page: one stage with its numbers, formula, shapes and lines."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st
from torch import Tensor

from attention_lab.figures.matrix import Kind, matrix
from attention_lab.i18n import _
from attention_lab.ui import link
from attention_lab.ui.heads import CHART
from attention_lab.ui.markup import plain
from attention_lab.walk.stages import Shape, Stage

N_STAGES = 11


def stage_switch(stages: Sequence[Stage]) -> Stage:
    """Previous and next, by button or arrow key, and a jump to any stage."""
    at = link.restore("at", range(1, N_STAGES + 1), 1)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button(
            _("Previous"),
            icon=":material/arrow_back:",
            shortcut="Left",
            on_click=_move,
            args=(-1,),
            disabled=at == 1,
        )
        st.button(
            _("Next"),
            icon=":material/arrow_forward:",
            shortcut="Right",
            on_click=_move,
            args=(1,),
            disabled=at == N_STAGES,
            type="primary",
        )
        st.selectbox(
            _("Stage"),
            range(1, N_STAGES + 1),
            key="at",
            persist_state="session",
            format_func=lambda number: f"{number} / {N_STAGES}  {stages[number - 1].title}",
            label_visibility="collapsed",
        )
    return stages[int(st.session_state["at"]) - 1]


def token_picker(key: str, label: str, names: Sequence[str]) -> int:
    """Choose a token by its place."""
    link.restore(key, range(len(names)), min(1, len(names) - 1))
    place = st.selectbox(
        label,
        range(len(names)),
        key=key,
        persist_state="session",
        format_func=lambda i: f"{i}  {names[i]}",
    )
    return int(place)


def accuracy(
    deviation: Mapping[str, float], model_numbers: Mapping[str, np.ndarray], is_off: bool
) -> None:
    """How far the model's own numbers lie from this recomputation."""
    worst = max(deviation, key=lambda name: deviation[name])
    size = float(np.abs(np.nan_to_num(model_numbers[worst], neginf=0.0)).max())
    text = _(
        "Recomputed here in float64 from the model's parameters. The model's own float32 numbers "
        "lie at most {deviation:.1e} away (in {name}, whose largest number is {size:.3g})."
    )
    st.caption(plain(text.format(deviation=deviation[worst], name=worst, size=size)))
    if is_off:
        st.caption(_("Heads that are switched off are switched on in this walk."))


def take_away(script: str, file: Callable[[], bytes], name: str) -> None:
    """The script and the numbers it runs on."""
    with st.expander(_("Copy as Python"), icon=":material/content_copy:"):
        text = _(
            "Download the numbers as {name} beside this script, and run it: it makes each again."
        )
        st.caption(plain(text.format(name=name)))
        st.download_button(
            _("Download the numbers"),
            file,
            file_name=name,
            mime="application/octet-stream",
            icon=":material/download:",
            on_click="ignore",
        )
        st.code(script, language="python", height=300)


def _move(by: int) -> None:
    st.session_state["at"] = min(max(st.session_state["at"] + by, 1), N_STAGES)


def explanation(stage: Stage) -> None:
    """The stage in words, its formula, its shapes and its lines of PyTorch."""
    st.markdown(plain(words()[stage.key]))
    st.latex(stage.formula)
    shapes = {"before": _shape(stage.before), "after": _shape(stage.after)}
    st.caption(plain(_("Shape: {before} → {after}").format(**shapes)))
    st.code(stage.code, language="python", wrap_lines=True)


def words() -> dict[str, str]:
    """What happens at each stage, in a sentence or two."""
    return {
        "x": _("Each token comes as a vector, the residual stream: all that is known of it yet."),
        "qkv": _(
            "Three matrices make of each vector a query (what it looks for), a key (what it can be "
            "found by) and a value (what it hands over); then each is cut into heads."
        ),
        "products": _(
            "How well do this query and this key fit? Multiply them dimension by dimension and add."
        ),
        "scores": _(
            "All scores, divided by the square root of the head's size. Without that the sums grow "
            "with the size, and the softmax puts everything on one key."
        ),
        "mask": _("Keys that the query may not see get minus infinity, so that their weight is 0."),
        "softmax": _("Each score becomes e to its power; divided by their sum, they add up to 1."),
        "z": _("Each value times its weight, all added: what this head collects for the token."),
        "concat": _("The results of all heads stand side by side in one long vector."),
        "output": _("W_O mixes the heads and brings them back to the residual stream's width."),
        "residual": _("The result is added to what the token was before; nothing is overwritten."),
        "norm": _("A norm brings the vector back to a steady size for what follows."),
    }


def pictures(
    stage: Stage, rows: Sequence[str], keys: Sequence[str], head: int, query: int, key: int
) -> None:
    """Every array of the stage as a heatmap, the chosen token framed; a single number as one."""
    for name, tensor in stage.arrays.items():
        array, labels, columns = _matrix_of(name, tensor, rows, keys, head)
        if array is None:
            st.metric(name, f"{float(tensor):.6f}")
            continue
        st.markdown(f"**{plain(name)}** {plain(_of_head(tensor, head))}")
        chosen = None if len(array) == 1 else key if name in KEY_ROWS else query
        figure = matrix(array, labels, columns, _kind(name), chosen)
        alt = _("{name} as a heatmap").format(name=name)
        st.plotly_chart(figure, key=f"stage_{stage.key}_{name}", config=CHART, alt=alt)
        if st.session_state.get("tables"):
            alt = _("The numbers of {name}").format(name=name)
            st.dataframe(as_frame(array, labels, columns), alt=alt)


def as_frame(array: np.ndarray, rows: Sequence[str], columns: Sequence[str] | None) -> pd.DataFrame:
    """An array as a table with unique names."""
    index = [f"{i} {name}" for i, name in enumerate(rows)]
    names = (
        range(array.shape[1]) if columns is None else [f"{i} {c}" for i, c in enumerate(columns)]
    )
    return pd.DataFrame(array, index=index, columns=[str(name) for name in names])


KEY_ROWS = {"k", "v", "weighted_values"}
KEY_COLUMNS = {"dots", "scores", "mask", "masked_scores", "exps", "weights"}


def _matrix_of(
    name: str, tensor: Tensor, rows: Sequence[str], keys: Sequence[str], head: int
) -> tuple[np.ndarray | None, list[str], list[str] | None]:
    array = tensor.numpy()
    if array.ndim == 3:
        array = array[head]
    if array.ndim == 0:
        return None, [], None
    columns = list(keys) if name in KEY_COLUMNS else None
    if array.ndim == 1:
        return array[None], [name], columns
    return array, list(keys if name in KEY_ROWS else rows), columns


def _of_head(tensor: Tensor, head: int) -> str:
    return _("(head {head} of {n})").format(head=head, n=len(tensor)) if tensor.ndim == 3 else ""


def _kind(name: str) -> Kind:
    return "mask" if name == "mask" else "weights" if name == "weights" else "signed"


def _shape(shape: Shape) -> str:
    letters, numbers = shape
    return f"({letters}) = {numbers}" if numbers else letters
