"""Three views of the Masks page: a row without any key, the leak test, and what a mask costs."""

import math
from dataclasses import replace

import numpy as np
import streamlit as st
import torch

from attention_lab.analysis import mask_cost, mask_ways
from attention_lab.analysis.leak import Leak, another, changeable, leak
from attention_lab.analysis.mask_cost import SIDES, blocks_kept, cost_table, share
from attention_lab.clinic import masking
from attention_lab.clinic.exhibit import Matrix, source, written
from attention_lab.figures.clinic import draw_matrix
from attention_lab.figures.masks import written_mask
from attention_lab.i18n import _
from attention_lab.model import masks as masks_by_name
from attention_lab.tokens import Tokens, name_of
from attention_lab.ui import heads, link
from attention_lab.ui.asking import ask, trace_of
from attention_lab.ui.cells import Cell
from attention_lab.ui.heads import CHART
from attention_lab.ui.keep import RESULTS
from attention_lab.ui.markup import plain
from attention_lab.ui.mask_control import mask_control
from attention_lab.ui.runs import Request, load_model, run
from attention_lab.ui.sidebar import Shared
from attention_lab.zoo.loaded import Model

LENGTHS = (128, 512, 2048)
PICTURE = (512, 64)  # the length and the side of the blocks that are drawn


def closed_row(request: Request, shared: Shared) -> None:
    """One row of the chosen head with all its cells closed, in three ways."""
    left, right = st.columns([2, 3], gap="medium")
    with left:
        place = heads.pickers(shared.model.config)
        site = run(request)[place.site]
        labels = site.query_tokens.labels
        link.restore("closed", range(len(labels)), len(labels) // 2)
        row = st.selectbox(
            _("The token whose row is closed"),
            range(len(labels)),
            key="closed",
            persist_state="session",
            format_func=lambda i: f"{i}  {labels[i]}",
        )
        st.markdown(
            _(
                "A softmax divides by the sum of its exponentials. Where every key is blocked that "
                "sum is 0, and 0 / 0 is no number. There is no right answer: a query that may "
                "attend to nothing has nothing to divide. This app gives such a row weights of "
                "zero, so that the token takes nothing from others and goes on as it is."
            )
        )
        st.latex(
            r"\frac{e^{-\infty}}{\sum_j e^{-\infty}}=\frac{0}{0}\qquad"
            r"\frac{e^{s-10^9}}{\sum_j e^{s_j-10^9}}\approx\frac1n"
        )
    mask = site.mask[0].copy()
    mask[row] = False
    scores, v = torch.tensor(site.scores[place.head]), torch.tensor(site.v[place.head])
    ways = (
        (_("−∞ alone"), masking.fills_with_infinity),
        (_("−1e9 instead"), masking.fills_with_a_billion),
        (_("zeros: this app"), masking.zeros_in_closed_rows),
    )
    found = [function(scores, torch.tensor(mask)) for _name, function in ways]
    with right:
        titles = ("", _("key (is looked at)"), _("weight"))
        rows = tuple(name for name, _function in ways)
        values = torch.stack([weights[row] for weights in found]).numpy()
        st.markdown(f"**{plain(_('The weights of “{token}”').format(token=labels[row]))}**")
        figure = draw_matrix(Matrix(values, rows, site.key_tokens.labels, titles), 1.0)
        alt = _("The weights of the closed row in three ways")
        st.plotly_chart(figure, key="closed_ways", config=CHART, alt=alt)
        lines = []
        for name, weights in zip(rows, found, strict=True):
            text = _("{name}: the row's weights sum to {sum}; numbers of z that are NaN: {nan}")
            nan = int((weights @ v).isnan().sum())
            total = written(weights[row].sum())
            lines.append(plain(text.format(name=name, sum=total, nan=nan)))
        st.markdown("  \n".join(lines))
        _through_the_model(request, place.part, row)
        st.code(source(*(function for _name, function in ways)), language="python", wrap_lines=True)


def _through_the_model(request: Request, part: str, row: int) -> None:
    """Run the model with that row closed in every layer, and look for NaN."""
    open_keys = np.flatnonzero(run(request)[_first_site(part)].mask[0, row])
    closing = {Cell(part, row, int(key)) for key in open_keys}
    model = load_model(request.model)
    trace = trace_of(replace(request, cells=tuple(sorted(set(request.cells) ^ closing))))
    broken = int(np.isnan(trace.hidden).sum())
    text = _(
        "Run through all {n} layers of the model with this row closed in each of them, the output "
        "has {broken} numbers that are NaN."
    )
    st.markdown(plain(text.format(n=model.config.n_layers, broken=broken)))


def leak_test(request: Request, shared: Shared) -> None:
    """Change one token, and see which outputs move under the present mask."""
    left, right = st.columns([2, 3], gap="medium")
    trace, config = run(request), shared.model.config
    with left:
        part = heads.part_switch(config)
        mask_control()
        stack = part.split(".")[0]
        is_target = trace.target_tokens is not None and stack == "decoder"
        tokens = trace.target_tokens if is_target else trace.tokens
        assert tokens is not None
        first = 1 if is_target else 0  # the start token stays
        if len(tokens) <= first:
            st.info(_("The model has written nothing here that could be changed."))
            return
        middle = changeable(tokens[: max(first + 1, len(tokens) // 2 + 1)])
        link.restore("place", range(first, len(tokens)), max(first, middle))
        place = int(
            st.selectbox(
                _("The token that is changed"),
                range(first, len(tokens)),
                key="place",
                persist_state="session",
                format_func=lambda i: f"{i}  {tokens.labels[i]}",
            )
        )
        found = ask(_("The model reads both sentences …"), leak_of, request, stack, place)
        _verdict(request, found, tokens.labels[place], stack)
    with right:
        st.markdown(f"**{plain(_('How far the output of each layer moved'))}**")
        titles = (_("layer"), _("token"), _("largest change"))
        rows = tuple(map(str, range(len(found.layers))))
        still = found.layers == 0
        matrix = Matrix(
            found.layers, rows, tokens.labels, titles, "size", still, _("not moved by one bit")
        )
        alt = _("Largest change of each token's output after each layer, as a heatmap")
        figure = draw_matrix(matrix, matrix.largest)
        st.plotly_chart(figure, key="leak", config=CHART, alt=alt)
        text = _(
            "Grey has not moved by a single bit: both runs have the same shapes and do the same "
            "arithmetic, and a masked weight is exactly 0. So there is no tolerance here."
        )
        st.caption(plain(text))
        st.latex(r"\Delta_i=\max_d\left|\mathrm{out}_{i,d}(x)-\mathrm{out}_{i,d}(x')\right|")
        st.code(source(mask_ways.moved_by), language="python", wrap_lines=True)


@RESULTS.kept
def leak_of(request: Request, stack: str, place: int) -> Leak:
    """The leak test of a request, run once."""
    model, trace = load_model(request.model), run(request)
    is_target = trace.target_tokens is not None and stack == "decoder"
    tokens = trace.target_tokens if is_target else trace.tokens
    assert tokens is not None
    target = trace.target_tokens.ids[1:] if trace.target_tokens else ()
    ids, new_id = trace.tokens.ids, replacement(model, tokens, place, is_target)
    return leak(model, ids, place, new_id, stack, target, request.mask, request.edits)


def replacement(model: Model, tokens: Tokens, place: int, is_target: bool) -> int:
    """The id that takes the place of a token."""
    config = model.config
    return another(tokens, place, config.d_vocab_target if is_target else config.d_vocab)


def _verdict(request: Request, found: Leak, changed: str, stack: str) -> None:
    model, trace = load_model(request.model), run(request)
    is_target = trace.target_tokens is not None and stack == "decoder"
    tokens = trace.target_tokens if is_target else trace.tokens
    tokenizer = model.target_tokenizer if is_target else model.tokenizer
    assert tokens is not None
    assert tokenizer is not None
    new_id = replacement(model, tokens, found.changed, is_target)
    text = _("Token {place}, “{old}”, became “{new}”.")
    said = text.format(place=found.changed, old=changed, new=name_of(tokenizer, new_id))
    st.markdown(plain(said))
    if not found.before:
        text = _("Passed: no output before it moved. Under this mask nobody sees what comes later.")
        st.success(plain(text), icon=":material/check_circle:")
        return
    names = ", ".join(f"{i} “{tokens.labels[i]}”" for i in found.before[:6])
    text = _(
        "A leak: {n} outputs before it moved ({names}), by up to {largest}. Under this mask tokens "
        "see what comes later; for a model that writes that is a fault, for one that reads it is "
        "meant."
    )
    largest = written(float(found.output[: found.changed].max()))
    said = text.format(n=len(found.before), names=names, largest=largest)
    st.warning(plain(said), icon=":material/water_drop:")


def cost(request: Request, shared: Shared) -> None:
    """The share of cells that the mask keeps, and what a kernel could leave out."""
    left, right = st.columns([2, 3], gap="medium")
    with left:
        part = heads.part_switch(shared.model.config)
        mask_control()
        mask = torch.tensor(run(request)[_first_site(part)].mask[0])
        text = _("On your sentence it keeps {kept:,} of {all:,} cells: {share:.1%}.")
        kept = int(mask.sum())
        said = text.format(kept=kept, all=mask.numel(), share=share(mask))
        st.markdown(f"**{plain(said)}**")
        text = _(
            "This app computes every cell and then masks: a mask saves it nothing. A kernel such "
            "as FlashAttention or FlexAttention works in blocks and can leave out a block only if "
            "all of its cells are closed, so that it computes the share of blocks, not of cells."
        )
        st.markdown(plain(text))
        st.latex(r"\mathrm{cells}=\frac1{n^2}\sum_{i,j}M_{ij}")
        st.latex(r"\mathrm{block}_{IJ}=\bigvee_{i\in I,\,j\in J}M_{ij}")
        st.code(source(mask_cost.blocks_kept), language="python", wrap_lines=True)
    with right:
        name, (length, side) = request.mask_at(part), PICTURE
        table = cost_table(name, (len(mask), *LENGTHS))
        shown = table.map(lambda x: "–" if math.isnan(x) else f"{x:.1%}").assign(
            length=table["length"]
        )
        headings = {f"block {n}": _("blocks of {n} × {n}").format(n=n) for n in SIDES}
        shown = shown.rename(columns={"length": _("tokens"), "cells": _("cells kept"), **headings})
        st.dataframe(shown, hide_index=True, alt=_("Shares of cells and blocks that are kept"))
        whole = masks_by_name.build(name, torch.ones(length, dtype=torch.bool), length)[0]
        blocks = blocks_kept(whole, side)
        text = _(
            "This mask at {length} tokens, in blocks of {side} × {side}: {kept} of {all} blocks "
            "have an open cell and are computed (green), the others are left out."
        )
        kept = int(blocks.sum())
        said = text.format(length=length, side=side, kept=kept, all=blocks.numel())
        st.markdown(plain(said))
        numbers = [str(i) for i in range(len(blocks))]
        names = (_("computed"), _("left out"))
        titles = (_("block of queries"), _("block of keys"))
        picture = written_mask(blocks.numpy(), numbers, numbers, names=names, titles=titles)
        st.plotly_chart(picture, key="blocks", config=CHART, alt=said)
        if part.endswith(".cross"):
            text = _("Cross-attention has as many rows as the target; the table has squares.")
            st.caption(plain(text))


def _first_site(part: str) -> str:
    stack, kind = part.split(".")
    return f"{stack}.0.{kind}"
