"""What the Positions page shows: four views, five kinds of positions, and the formula of each."""

from dataclasses import replace
from typing import Literal, get_args

import streamlit as st

from attention_lab.analysis.order import compare
from attention_lab.clinic.exhibit import source
from attention_lab.config import Position
from attention_lab.i18n import _
from attention_lab.model import positions
from attention_lab.ui import link, patterns, rotary
from attention_lab.ui.asking import trace_of
from attention_lab.ui.runs import Request, load_model
from attention_lab.zoo.loaded import Model

View = Literal["pattern", "sentence", "order", "beyond"]
VIEWS: tuple[View, ...] = get_args(View)
KINDS: tuple[Position, ...] = ("sinusoidal", "learned", "rotary", "alibi", "none")

FORMULAS: dict[str, str] = {
    "sinusoidal": r"PE_{pos,2i}=\sin\frac{pos}{10000^{2i/d}},\qquad"
    r"PE_{pos,2i+1}=\cos\frac{pos}{10000^{2i/d}}",
    "learned": r"x_{pos} \leftarrow x_{pos} + P_{pos},\qquad P \in \mathbb{R}^{n \times d}",
    "rotary": r"q_m^\top k_n = (R_m q)^\top (R_n k) = q^\top R_{n-m}\, k",
    "alibi": r"\mathrm{score}_{mn} = \frac{q_m \cdot k_n}{\sqrt{d}} - s_h\,|m-n|",
    "none": r"f(Px) = P f(x) \quad \text{for every reordering } P",
}
LEARNED = """\
x = embedding.weight[ids] + position.weight[torch.arange(len(ids))]
"""
ADDED = """\
x = embedding.weight[ids] * math.sqrt(d_model)          # without the factor in BERT's family
pe = sinusoidal(torch.arange(len(ids)), d_model)        # or the rows that were learned
total = x + pe                                          # what the first layer reads
lengths = [part.norm(dim=-1) for part in (x, pe, total)]
"""
ORDER = """\
on = lab.trace(model, text), lab.trace_ids(model, reordered)
edits = [lab.position("none")]
off = lab.trace(model, text, edits=edits), lab.trace_ids(model, reordered, edits=edits)
for trace, other in (on, off):
    print(np.abs(other.hidden - trace.hidden[order]).max())
"""
BEYOND = """\
for start in (0, 100, 1000):
    print(start, lab.trace(model, text, edits=[lab.position(start=start)]).hidden)
"""


def restore() -> None:
    """The view and the kind from the link."""
    link.restore("about", VIEWS, "pattern")
    link.restore("kind", KINDS, "sinusoidal")


def view_switch() -> View:
    """Which view is shown."""
    names = {
        "pattern": _("the pattern"),
        "sentence": _("in your sentence"),
        "order": _("order matters"),
        "beyond": _("longer than trained"),
    }
    view = st.segmented_control(
        _("View"),
        VIEWS,
        required=True,
        key="about",
        persist_state="session",
        format_func=lambda view: names[view],
        label_visibility="collapsed",
        wrap=True,
    )
    return view or "pattern"


def pattern(request: Request) -> None:
    """The pictures of a kind of positions."""
    kind = _kind_switch()
    model = load_model(request.model)
    if kind == "sinusoidal" or (kind == "learned" and model.config.position == "learned"):
        patterns.table_view(model.name, kind)
    elif kind == "learned":
        text = _("This model has learned no positions. Choose minilm in the sidebar: it has 512.")
        st.info(text)
    elif kind == "rotary":
        rotary.rotary_view(trace_of(replace(request, position="rotary")))
    elif kind == "alibi":
        rotary.alibi_view(trace_of(request))
    else:
        rotary.no_positions()


def _kind_switch() -> Position:
    kind = st.segmented_control(
        _("Positions"),
        KINDS,
        required=True,
        key="kind",
        persist_state="session",
        format_func=rotary.kind_name,
        label_visibility="collapsed",
        wrap=True,
    )
    return kind or "sinusoidal"


def added(model: Model) -> Position:
    """The positions that are added to the words: the model's own, else sinusoidal ones."""
    own = model.config.position
    return own if own in ("sinusoidal", "learned") else "sinusoidal"


def formula(view: View) -> None:
    """The formula of what is shown, and the lines that this app itself runs."""
    kind = str(st.session_state["kind"])
    lines = {
        "sinusoidal": source(positions.sinusoidal_exact),
        "learned": LEARNED,
        "rotary": source(positions.rotary_angles, positions.rotate),
        "alibi": source(positions.alibi_slopes, positions.alibi_bias),
        "none": ORDER,
    }
    with st.expander(_("The formula and the code"), icon=":material/function:"):
        if view == "pattern":
            st.latex(FORMULAS[kind])
            st.code(lines[kind], language="python", wrap_lines=True)
        elif view == "sentence":
            st.latex(r"x' = x + PE")
            st.code(ADDED, language="python", wrap_lines=True)
        elif view == "order":
            st.latex(FORMULAS["none"])
            st.code(ORDER + "\n" + source(compare), language="python", wrap_lines=True)
        else:
            st.code(BEYOND, language="python", wrap_lines=True)
