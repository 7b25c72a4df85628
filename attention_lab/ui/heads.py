"""The overview of all heads, and the choice of one: by click or by the pickers."""

from dataclasses import dataclass

import streamlit as st

from attention_lab.config import Limits, ModelConfig
from attention_lab.figures import overview
from attention_lab.figures.overview import pooling
from attention_lab.i18n import _
from attention_lab.tracing.trace import Trace
from attention_lab.ui import link
from attention_lab.ui.examples import FOCUS
from attention_lab.ui.markup import plain
from attention_lab.zoo.loaded import Model

CHART = {"displayModeBar": False, "scrollZoom": False}


@dataclass(frozen=True)
class Place:
    """A chosen head."""

    part: str  # "encoder.self", "decoder.cross"
    layer: int
    head: int

    @property
    def site(self) -> str:
        """The site's name, "encoder.3.self"."""
        stack, kind = self.part.split(".")
        return f"{stack}.{self.layer}.{kind}"


def parts(config: ModelConfig) -> list[str]:
    """The kinds of attention a model has, in the order of computation."""
    return list(dict.fromkeys(f"{s.split('.')[0]}.{s.split('.')[2]}" for s in config.sites))


def is_translator(model: Model) -> bool:
    """Whether the model writes a target beside the text it reads."""
    return model.target_tokenizer is not None


def pickers(config: ModelConfig) -> Place:
    """Choose the kind of attention (where there are several), the layer and the head."""
    return layer_and_head(config, part_switch(config))


def part_switch(config: ModelConfig) -> str:
    """Choose the kind of attention; drawn only where there are several."""
    kinds = parts(config)
    if len(kinds) == 1:
        return kinds[0]
    part = st.segmented_control(
        _("Attention"),
        kinds,
        key="part",
        persist_state="session",
        required=True,
        format_func=part_name,
        label_visibility="collapsed",
        wrap=True,
    )
    return part or kinds[-1]


def layer_and_head(config: ModelConfig, part: str) -> Place:
    """Choose the layer and the head of a kind of attention."""
    row = st.container(horizontal=True)
    last = {"layer": config.n_layers - 1, "head": config.n_heads - 1}
    layer = row.number_input(
        _("Layer (0 to {last})").format(last=last["layer"]),
        0,
        last["layer"],
        step=1,
        key="layer",
        persist_state="session",
    )
    head = row.number_input(
        _("Head (0 to {last})").format(last=last["head"]),
        0,
        last["head"],
        step=1,
        key="head",
        persist_state="session",
    )
    return Place(part, int(layer), int(head))


def restore(model: Model, kind: str = "") -> None:
    """The choice of a head from the link; without one the head worth looking at first.

    It is one of the last part, or of the last that ends with `kind`.
    """
    config = model.config
    layer, head = FOCUS.get(model.name, (0, 0))
    known = parts(config)
    link.restore("part", known, [part for part in known if part.endswith(kind)][-1])
    link.restore("layer", range(config.n_layers), layer)
    link.restore("head", range(config.n_heads), head)


def part_name(part: str) -> str:
    """A kind of attention in words."""
    names = {
        "encoder.self": _("encoder self-attention"),
        "decoder.self": _("decoder self-attention"),
        "decoder.cross": _("cross-attention"),
    }
    return names[part]


def all_heads(trace: Trace, place: Place) -> None:
    """Every head in one picture; a click chooses."""
    limit = Limits.from_environment().overview_tokens
    config = trace.model.config
    figure = overview(trace, place.part, (place.layer, place.head), limit)
    alt = _("Attention weights of all {n} heads, one tile each: rows are layers, columns heads.")
    st.plotly_chart(
        figure,
        key="overview",
        on_select=_choose,
        selection_mode="points",
        config=CHART,
        alt=alt.format(n=config.n_layers * config.n_heads),
    )
    st.caption(_("Each tile is a head: queries down, keys across. Click one to see it large."))
    k = pooling(trace, place.part, limit)
    if k > 1:
        text = _("Each dot of a tile is the largest of {k} × {k} weights.")
        st.caption(plain(text.format(k=k)))
    longest = max(len(trace[place.site].query_tokens), len(trace[place.site].key_tokens))
    if longest > limit:
        text = _("The tiles show the first {limit} of {n} tokens; the large picture shows all.")
        st.caption(text.format(limit=limit, n=longest))


def _choose() -> None:
    points = st.session_state["overview"]["selection"]["points"]
    if points:
        st.session_state["head"] = int(points[0]["x"])
        st.session_state["layer"] = int(points[0]["y"])
