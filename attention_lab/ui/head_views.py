"""The other views of the Heads page: find the head, rollout and mean, how heads differ."""

from typing import Literal, get_args

import streamlit as st

from attention_lab.analysis.flow import mean_weights, rollout
from attention_lab.analysis.heads import rank
from attention_lab.analysis.similarity import Similarity, similarity
from attention_lab.figures import draw
from attention_lab.figures.head_grid import head_grid
from attention_lab.figures.similarity import similarity_map
from attention_lab.i18n import _
from attention_lab.tokens import Tokens
from attention_lab.tracing.trace import Trace
from attention_lab.ui import link
from attention_lab.ui.asking import ask
from attention_lab.ui.head_table import open_head
from attention_lab.ui.heads import CHART, part_name
from attention_lab.ui.keep import RESULTS
from attention_lab.ui.markup import plain
from attention_lab.ui.runs import Request, run

View = Literal["table", "find", "flow", "similarity"]
VIEWS: tuple[View, ...] = get_args(View)
Flow = Literal["rollout", "mean"]
FLOWS: tuple[Flow, ...] = get_args(Flow)
ASKS, ANSWERS = "it", "animal"  # of the first example


def restore() -> None:
    """The state of these views from the link."""
    link.restore("heads", VIEWS, "table")
    link.restore("flow", FLOWS, "rollout")


def view_switch() -> View:
    """Which view is shown."""
    names = {
        "table": _("all heads"),
        "find": _("find the head"),
        "flow": _("rollout and mean"),
        "similarity": _("how heads differ"),
    }
    view = st.segmented_control(
        _("View"),
        VIEWS,
        required=True,
        key="heads",
        persist_state="session",
        format_func=lambda view: names[view],
        label_visibility="collapsed",
        wrap=True,
    )
    return view or "table"


def find(trace: Trace, part: str) -> None:
    """Two tokens, and all heads by the weight with which the one looks at the other."""
    stack = part.split(".")[0]
    site = trace[f"{stack}.0.{part.split('.')[1]}"]
    left, right = st.columns([2, 3], gap="medium")
    with left:
        with st.container(horizontal=True):
            query = _token("query", _("Query: the token that looks"), site.query_tokens, ASKS)
            key = _token("key", _("Key: what it looks at"), site.key_tokens, ANSWERS)
        table = rank(trace, part, query, key)
        weight = st.column_config.ProgressColumn(
            _("weight"), format="%.3f", min_value=0, max_value=1
        )
        even = st.column_config.NumberColumn(_("uniform"), format="%.3f")
        selected = st.dataframe(
            table.drop(columns="part"),
            hide_index=True,
            height=300,
            key=f"rank_{part}",
            on_select="rerun",
            selection_mode="single-row",
            column_config={"weight": weight, "uniform": even},
            alt=_("All heads, ranked by this weight"),
        )
        st.caption(_("Tick a row, or click a cell of the picture, to open that head on Explore."))
    names = [site.query_tokens[query].label, site.key_tokens[key].label]
    with right:
        best = table.iloc[0]
        text = _("Layer {layer}, head {head} looks from {query} at {key} the most: {weight:.3f}.")
        found = text.format(**best, query=f"“{names[0]}”", key=f"“{names[1]}”")
        if not site.mask[:, query, key].any():
            found = _("The mask forbids this look to every head of the first layer.")
        st.markdown(f"**{plain(found)}**")
        grid = table.pivot(index="layer", columns="head", values="weight").to_numpy()
        alt = _("The weight of this pair of tokens in each head: rows are layers, columns heads")
        clicked = st.plotly_chart(
            head_grid(grid, _("weight")),
            key="grid",
            on_select="rerun",
            selection_mode="points",
            config=CHART,
            alt=alt,
        )
    if rows := selected["selection"]["rows"]:
        open_head(*table.loc[rows[0], ["layer", "head"]])
    if points := clicked["selection"]["points"]:
        open_head(points[0]["y"], points[0]["x"])


def flow(trace: Trace, part: str) -> None:
    """Attention through all layers, as rollout or as the raw mean."""
    kind = _flow_switch() if not part.endswith(".cross") else "mean"
    shown = rollout(trace, part) if kind == "rollout" else mean_weights(trace, part)
    name = part_name(part)
    titles = {
        "rollout": _("Attention rollout over all layers of the {part}"),
        "mean": _("Raw mean over all heads and layers of the {part}"),
    }
    st.markdown(f"**{plain(titles[kind].format(part=name))}**")
    st.plotly_chart(
        draw(shown), key="flow_picture", config=CHART, alt=titles[kind].format(part=name)
    )
    if kind == "rollout":
        st.latex(r"R_0=I,\qquad R_l=\tfrac12\left(\bar A_l+I\right)R_{l-1}")
    words = {
        "rollout": _(
            "Abnar and Zuidema 2020. The mean of a layer's heads and the residual connection (the "
            "identity) count half each; the layers are multiplied. It shows along which ways "
            "something could have come from a token of the text to a position after the last "
            "layer. It knows nothing of values, of the feed-forward nets, or of signs, and is no "
            "explanation of the output."
        ),
        "mean": _(
            "The plain average of all attention weights. It mixes heads that do quite different "
            "things, and is no explanation of the output either."
        ),
    }
    st.caption(plain(words[kind]))


def how_alike(request: Request, part: str) -> None:
    """The similarity map of all heads on this text."""
    found = ask(_("Comparing all heads with each other …"), alike, request, part)
    if not found.n_queries:
        st.info(_("Under this mask no token has a choice, so heads cannot be told apart."))
        return
    alt = _("Similarity of each two of {n} heads as a heatmap").format(n=len(found.places))
    st.plotly_chart(similarity_map(found), key="similarity", config=CHART, alt=alt)
    text = _(
        "1 minus the Jensen–Shannon distance of two heads' weights, the mean over {n} of {all} "
        "queries: 100 % is the same weights, 0 % is no token in common. It compares where two "
        "heads look on this text, not what they carry."
    )
    st.caption(plain(text.format(n=found.n_queries, all=found.n_tokens)))


@RESULTS.kept
def alike(request: Request, part: str) -> Similarity:
    """The similarities for a request, computed once."""
    return similarity(run(request), part)


def _token(key: str, label: str, tokens: Tokens, wanted: str) -> int:
    """Choose a token by its place; at first the one of the example, else the last but special."""
    names = list(tokens.labels)
    ordinary = [i for i, token in enumerate(tokens) if not token.special] or [0]
    default = names.index(wanted) if wanted in names else ordinary[-1 if key == "query" else 0]
    remembered = f"_default_{key}"
    before = st.session_state.get(remembered)
    if before not in (None, default) and st.session_state.get(key) == before:
        link.forget(key)  # nobody chose it: with another text another default
    st.session_state[remembered] = default
    link.restore(key, range(len(names)), default)
    place = st.selectbox(
        label,
        range(len(names)),
        key=key,
        persist_state="session",
        format_func=lambda i: f"{i}  {names[i]}",
    )
    return int(place)


def _flow_switch() -> Flow:
    names = {"rollout": _("attention rollout"), "mean": _("raw mean")}
    kind = st.segmented_control(
        _("Over all layers"),
        FLOWS,
        required=True,
        key="flow",
        persist_state="session",
        format_func=lambda kind: names[kind],
        label_visibility="collapsed",
    )
    return kind or "rollout"
