"""Positions that are not added but turn q and k (rotary), or lower the scores (ALiBi)."""

from typing import Literal, get_args

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attention_lab.analysis import rotary
from attention_lab.analysis.positions import by_distance
from attention_lab.config import ModelConfig
from attention_lab.figures.bars import bars
from attention_lab.figures.clock import clock
from attention_lab.figures.curves import curves
from attention_lab.figures.numbered import Titles, numbered
from attention_lab.i18n import _
from attention_lab.model import positions
from attention_lab.tracing.trace import Trace
from attention_lab.ui import heads, link
from attention_lab.ui.heads import CHART
from attention_lab.ui.markup import plain
from attention_lab.ui.patterns import number
from attention_lab.ui.walkthrough import token_picker

Turn = Literal["turn", "score", "speeds"]
TURNS: tuple[Turn, ...] = get_args(Turn)
PLACES = 256  # positions at which a pair is tried
CLOCK = 64  # positions on a clock
SHOWN = 64  # bars of ALiBi's bias


def restore() -> None:
    """The state of this view from the link."""
    link.restore("turn", TURNS, "turn")


def rotary_view(trace: Trace) -> None:
    """How q and k turn, what their score then depends on, and how fast each pair turns."""
    config = trace.model.config
    left, right = st.columns([2, 3], gap="medium")
    with left:
        if config.position != "rotary":
            text = _(
                "{name} was trained with {kind} positions; here it runs with rotary ones, to which "
                "it is not used. smollm2 was trained with them: choose it in the sidebar."
            )
            st.info(plain(text.format(name=trace.model.name, kind=kind_name(config.position))))
        picture = _turn_switch()
    if picture == "turn":
        _turn(trace, left, right)
    elif picture == "score":
        _score(trace, left, right)
    else:
        _speeds(trace.model.config, left, right)


def _turn(trace: Trace, left: DeltaGenerator, right: DeltaGenerator) -> None:
    config = trace.model.config
    half = config.d_head // 2
    with left:
        q, k, names = _query_and_key(trace)
        with st.container(horizontal=True):
            label = _("Pair (0 to {last})").format(last=half - 1)
            pair = number("pair", label, 0, half - 1, 0)
            position = number("pos", _("Position of the hands"), 0, CLOCK - 1, 1)
        wave = rotary.wavelengths(config)[pair]
        text = _(
            "Nothing is added to the words. Inside the head, two dimensions of each query and key "
            "are turned by the position: this pair by {angle:.4f} of a turn for each position, "
            "once around in {wave:,.1f}. Shown are two tokens as they would be at each position; "
            "a vector's length never changes."
        )
        st.markdown(plain(text.format(angle=1 / wave, wave=wave)))
    titles = {"q": _("query of “{name}”"), "k": _("key of “{name}”")}
    pairs = zip(right.columns(2, gap="small"), titles.items(), (q, k), names, strict=True)
    for column, (letter, title), vector, name in pairs:
        with column:
            st.markdown(f"**{plain(title.format(name=name))}**")
            rows = rotary.turned(vector, np.arange(CLOCK), config).numpy()
            axis = _("dimension {i} of {letter}")
            one, other = (axis.format(i=i, letter=letter) for i in (pair, pair + half))
            figure = clock(rows[:, [pair, pair + half]], position, (one, other))
            alt = _("Two dimensions of the {title} at each position, as points on a circle")
            alt = alt.format(title=title.format(name=name))
            st.plotly_chart(figure, key=f"turn_{letter}", config=CHART, alt=alt)


def _score(trace: Trace, left: DeltaGenerator, right: DeltaGenerator) -> None:
    config = trace.model.config
    with left:
        q, k, names = _query_and_key(trace)
        fall = by_distance(rotary.scores(q, k, np.arange(PLACES), config))
        text = _(
            "The query of “{query}” and the key of “{key}”, put at each two of {n} positions: "
            "{pairs:,} scores. Pairs of the same distance have the same score, wherever they "
            "stand. Largest difference found: {deviation:.1e}, from rounding."
        )
        values = {"query": names[0], "key": names[1], "n": PLACES, "deviation": fall.deviation}
        st.markdown(plain(text.format(**values, pairs=PLACES * (PLACES + 1) // 2)))
    with right:
        figure = curves(
            np.arange(PLACES),
            {_("score"): fall.mean},
            (_("distance from the query back to the key"), _("score")),
            band=(fall.smallest, fall.largest),
            height=440,
        )
        alt = _("The score of one query and one key over their distance")
        st.plotly_chart(figure, key="score_fall", config=CHART, alt=alt)


def _query_and_key(trace: Trace) -> tuple[rotary.Vector, rotary.Vector, tuple[str, str]]:
    """Choose a head and two tokens: q and k before they are turned, and the tokens' names."""
    config = trace.model.config
    place = heads.layer_and_head(config, heads.parts(config)[0])
    labels = [token.label for token in trace[place.site].query_tokens]
    with st.container(horizontal=True):
        query = token_picker("query", _("Query (looks)"), labels)
        key = token_picker("key", _("Key (is looked at)"), labels)
    q, k = rotary.unturned(trace, place.site, place.head, query, key)
    return q, k, (labels[query], labels[key])


def _speeds(config: ModelConfig, left: DeltaGenerator, right: DeltaGenerator) -> None:
    waves = rotary.wavelengths(config)
    with left:
        text = _(
            "Each of the {n} pairs turns at its own speed: pair 0 once in {fast:.2f} positions, "
            "the last one once in {slow:,.0f}. The base is {base:,.0f}. Fast pairs tell neighbours "
            "apart, slow ones tell near from far."
        )
        values = {"n": len(waves), "fast": waves[0], "slow": waves[-1], "base": config.rotary_base}
        st.markdown(plain(text.format(**values)))
    with right:
        figure = bars(
            [str(i) for i in range(len(waves))],
            {_("wavelength"): waves},
            (_("pair of dimensions"), _("positions for one turn")),
            logarithmic=True,
            height=440,
        )
        alt = _("After how many positions each pair of dimensions has turned once")
        st.plotly_chart(figure, key="speeds", config=CHART, alt=alt)


def kind_name(kind: str) -> str:
    """A kind of positions in words."""
    names = {
        "sinusoidal": _("sinusoidal"),
        "learned": _("learned"),
        "rotary": _("rotary"),
        "alibi": _("ALiBi"),
        "none": _("none"),
    }
    return names[kind]


def _turn_switch() -> Turn:
    names = {
        "turn": _("how q and k turn"),
        "score": _("score over distance"),
        "speeds": _("how fast each pair turns"),
    }
    picture = st.segmented_control(
        _("Picture"),
        TURNS,
        required=True,
        key="turn",
        persist_state="session",
        format_func=lambda picture: names[picture],
        label_visibility="collapsed",
        wrap=True,
    )
    return picture or "turn"


def alibi_view(trace: Trace) -> None:
    """ALiBi's slope for each head, and what the chosen head takes off each score."""
    config = trace.model.config
    link.restore("head", range(config.n_heads), 0)
    slopes = positions.alibi_slopes(config.n_heads).numpy()
    n = min(len(trace.tokens), SHOWN)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        head = number("head", _("Head"), 0, config.n_heads - 1, 0)
        text = _(
            "ALiBi adds nothing to the words and turns nothing. It takes from each score the "
            "distance times the head's slope: {slope:.4f} in this head. Heads with a steep slope "
            "look near, heads with a gentle one look far. No model here was trained with it."
        )
        st.markdown(plain(text.format(slope=slopes[head])))
        figure = bars(
            [str(i) for i in range(len(slopes))],
            {_("slope"): slopes},
            (_("head"), _("slope")),
            chosen=head,
        )
        st.plotly_chart(figure, key="slopes", config=CHART, alt=_("The slope of each head"))
    with right:
        bias = positions.alibi_bias(config.n_heads, n, n)[head].numpy()
        titles = Titles(_("query"), _("key"), _("added to the score"))
        labels = [token.label for token in trace.tokens[:n]]
        figure = numbered(bias, titles, rows=labels, columns=labels, height=480)
        alt = _("What ALiBi adds to each score of head {head}").format(head=head)
        st.plotly_chart(figure, key="alibi_bias", config=CHART, alt=alt)


def no_positions() -> None:
    """What a model without positions is."""
    text = _(
        "Without positions a Transformer reads a bag of words: each token finds the same others "
        "with the same weights, in whatever order they stand. See it happen under “Order matters”. "
        "Only a causal mask still tells something: the first token sees one, the second two."
    )
    st.info(plain(text))
