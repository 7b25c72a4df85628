"""Two views of the Masks page: padding in a real batch, and one mask in every convention."""

from typing import Literal, get_args

import numpy as np
import pandas as pd
import streamlit as st
import torch

from attention_lab.analysis import mask_ways
from attention_lab.analysis.mask_ways import unwanted
from attention_lab.analysis.numbers import output_shift
from attention_lab.analysis.padding import PaddedText, PaddingStudy, padding_study
from attention_lab.clinic.exhibit import Function, Matrix, source, written
from attention_lab.figures.clinic import draw_matrix
from attention_lab.figures.masks import written_mask
from attention_lab.i18n import _
from attention_lab.model.masks import causal
from attention_lab.tracing.edits import mask as mask_edit
from attention_lab.tracing.record import trace as trace_text
from attention_lab.tracing.site import Site
from attention_lab.tracing.trace import Trace
from attention_lab.ui import heads, link, words
from attention_lab.ui.asking import ask
from attention_lab.ui.heads import CHART
from attention_lab.ui.keep import RESULTS, TRACES
from attention_lab.ui.markup import plain
from attention_lab.ui.mask_control import mask_control
from attention_lab.ui.runs import Request, load_model, run
from attention_lab.ui.sidebar import Shared

MOST = 64  # tokens of each text of the batch
FEW = 8  # tokens in the small pictures of the conventions
SECOND, THIRD = "The cat sat.", "Nobody saw the dog."
MixUp = Literal["inverted", "added"]
MIX_UPS: tuple[MixUp, ...] = get_args(MixUp)


def restore() -> None:
    """What only these views have, from the link."""
    link.restore_text("text2", SECOND)
    link.restore_text("text3", THIRD)
    link.restore("mixup", MIX_UPS, "inverted")


def padding(request: Request, shared: Shared) -> None:
    """Two or three sentences in one forward: the masks, how they broadcast, and the numbers."""
    left, right = st.columns(2, gap="medium")
    with left:
        second = st.text_input(_("A second sentence"), key="text2", persist_state="session")
    with right:
        third = st.text_input(_("A third one, if you like"), key="text3", persist_state="session")
    texts = tuple(text for text in (request.text, second, third) if text.strip())
    if len(texts) == 1:
        st.info(_("Type a second sentence: padding fills the shorter one up."))
        return
    study = ask(_("The model reads your sentences …"), study_of, request.model, texts)
    _broadcast(study, len(texts))
    _proof(study)
    with st.expander(_("The formula and the code"), icon=":material/function:", expanded=True):
        st.latex(r"M_{b,h,i,j}=\mathrm{real}_{b,j}\wedge\mathrm{own}_{i,j}")
        st.code(source(mask_ways.padding_mask), language="python", wrap_lines=True)


@RESULTS.kept
def study_of(model: str, texts: tuple[str, ...]) -> PaddingStudy:
    """The numbers of a batch, computed once."""
    return padding_study(load_model(model), texts, MOST)


def _broadcast(study: PaddingStudy, n: int) -> None:
    """Two masks with axes of length 1, and what they become together."""
    length = study.own.shape[0]
    numbers = [str(i) for i in range(length)]
    link.restore("sentence", range(n), int(np.argmin([each.n_real for each in study.texts])))
    parts = st.columns([3, 3, 4], gap="medium")
    names = [_("sentence {i}").format(i=i) for i in range(n)]
    with parts[0]:
        st.markdown(_("**Padding:** `({n}, 1, 1, {length})`").format(n=n, length=length))
        titles = ("", _("key (is looked at)"))
        picture = written_mask(study.padding[:, 0, 0], names, numbers, height=300, titles=titles)
        st.plotly_chart(picture, key="real", config=CHART, alt=_("The padding mask of the batch"))
        st.caption(_("batch, 1, 1, key: one row a sentence, the same for all heads and queries."))
    with parts[1]:
        st.markdown(_("**The model’s own:** `({length}, {length})`").format(length=length))
        picture = written_mask(study.own, numbers, numbers)
        st.plotly_chart(picture, key="own", config=CHART, alt=_("The model's own mask"))
        st.caption(_("query, key: the same for all sentences and heads."))
    with parts[2]:
        shape = ", ".join(map(str, study.both.shape))
        st.markdown(_("**Both, broadcast:** `({shape})`").format(shape=shape))
        row = st.segmented_control(
            _("Sentence"),
            range(n),
            required=True,
            key="sentence",
            persist_state="session",
            format_func=lambda i: names[i],
            label_visibility="collapsed",
        )
        chosen = study.texts[row or 0]
        picture = written_mask(study.both[row or 0, 0], chosen.labels, chosen.labels, height=340)
        alt = _("The mask of one sentence, the same for all heads")
        st.plotly_chart(picture, key="both", config=CHART, alt=alt)
        text = _("batch, head, query, key; here one sentence, the same for all {h} heads.")
        st.caption(plain(text.format(h=study.n_heads)))


def _proof(study: PaddingStudy) -> None:
    """Each sentence alone against itself in the batch, as numbers."""
    st.dataframe(
        pd.DataFrame([_row(i, each) for i, each in enumerate(study.texts)]),
        hide_index=True,
        alt=_("Each sentence alone and in the batch"),
    )
    text = _(
        "“Off” is the largest difference of an output number from that of the sentence alone, "
        "relative to the largest output. With the padding mask, a sentence does not notice its "
        "company; what is left is rounding. The model's own mask is used here, whatever is chosen "
        "in the other views."
    )
    st.caption(plain(text))
    notes = []
    if study.on_left:
        notes.append(
            _(
                "A model that writes is padded on the left, so that its last token is a real one; "
                "padding that may look only at padding gets weights of zero."
            )
        )
    elif not study.own.all():
        notes.append(
            _("Padding on the right comes later than every token: a causal mask hides it.")
        )
    if left_out := sum(each.left_out for each in study.texts):
        text = _("Sentences are cut after {most} tokens here; {n} were left out.")
        notes.append(text.format(most=MOST, n=left_out))
    for note in notes:
        st.caption(plain(note))


def _row(number: int, each: PaddedText) -> dict[str, object]:
    return {
        _("sentence"): number,
        _("tokens"): each.n_real,
        _("padding"): len(each.labels) - each.n_real,
        _("off, with the padding mask"): written(each.off_masked),
        _("off, without it"): written(each.off_unmasked),
        _("attention to padding, without it"): f"{each.on_padding:.1%}",
    }


def conventions(request: Request, shared: Shared) -> None:
    """The present mask in four ways of writing it, who uses which, and two mix-ups."""
    left, right = st.columns(2, gap="medium")
    with right:
        place = heads.pickers(shared.model.config)
    with left:
        mask_control()
    site = run(request)[place.site]
    name, mask = request.mask_at(place.part), site.mask[0]
    if mask.all() and place.part.endswith(".self"):
        st.caption(_("The chosen mask closes nothing, so that a causal one stands here."))
        name, mask = "causal", causal(*mask.shape).numpy()
    elif mask.all():
        st.caption(_("This mask closes nothing: cross-attention is open."))
    _four_ways(mask, site)
    st.markdown(f"#### {_('What happens on a mix-up')}")
    _mix_up(request, name, mask, site, place.head)


def _four_ways(mask: np.ndarray, site: Site) -> None:
    few = mask[:FEW, :FEW]
    rows, columns = site.query_tokens.labels[:FEW], site.key_tokens.labels[:FEW]
    ways = (
        (
            _("True = may attend"),
            ("1", "0"),
            _(
                "This app; PyTorch's scaled_dot_product_attention (bool) and FlexAttention; Keras; "
                "JAX and Flax; Hugging Face's attention_mask, where 1 is a real token."
            ),
        ),
        (
            _("True = blocked"),
            ("0", "1"),
            _(
                "PyTorch's nn.MultiheadAttention and nn.Transformer: attn_mask and "
                "key_padding_mask, where they are bool."
            ),
        ),
        (
            _("added, −∞ = blocked"),
            ("0", "−∞"),
            _(
                "PyTorch, where the mask is float: scaled_dot_product_attention and "
                "nn.MultiheadAttention; attn_bias of xFormers."
            ),
        ),
        (
            _("added, −1e9 = blocked"),
            ("0", "−1e9"),
            _(
                "Many older codes, some with −10,000; Hugging Face adds the smallest number of the "
                "format instead (−3.4e38 in float32)."
            ),
        ),
    )
    columns_of_page = [*st.columns(2, gap="medium"), *st.columns(2, gap="medium")]
    for number, (place, way) in enumerate(zip(columns_of_page, ways, strict=True)):
        title, values, users = way
        with place:
            st.markdown(f"**{plain(title)}**")
            picture = written_mask(few, rows, columns, values, 270, ("", ""), ("", ""))
            alt = _("The mask in the convention {title}").format(title=title)
            st.plotly_chart(picture, key=f"way_{number}", config=CHART, alt=alt)
            st.caption(plain(users))
    text = _(
        "The first {n} tokens. Green is open, grey is closed, in all four pictures alike: it is "
        "one mask."
    )
    st.caption(text.format(n=min(FEW, len(rows))))
    st.latex(r"\mathrm{softmax}\left(S+M\right),\qquad M_{ij}=0\ \text{or}\ -\infty")
    st.code(source(mask_ways.in_all_ways), language="python", wrap_lines=True)


def _mix_up(request: Request, name: str, mask: np.ndarray, site: Site, head: int) -> None:
    names: dict[MixUp, str] = {
        "inverted": _("read the wrong way round"),
        "added": _("True and False added as 1 and 0"),
    }
    kind: MixUp | None = st.segmented_control(
        _("Mix-up"),
        MIX_UPS,
        required=True,
        key="mixup",
        persist_state="session",
        format_func=lambda kind: names[kind],
        label_visibility="collapsed",
    )
    scores, is_open = torch.tensor(site.scores[head]), torch.tensor(mask)
    wrong: Function = mask_ways.is_added if kind == "added" else mask_ways.true_blocks
    sides = ((_("Right"), mask_ways.true_attends), (_("Mixed up"), wrong))
    for column, (title, function) in zip(st.columns(2, gap="medium"), sides, strict=True):
        with column:
            st.markdown(f"**{plain(title)}**")
            st.code(source(function), language="python", wrap_lines=True)
            found = function(scores, is_open)
            closed = (~is_open & (found == 0)).numpy()
            titles = (_("query (looks)"), _("key (is looked at)"), _("weight"))
            tokens = (site.query_tokens.labels, site.key_tokens.labels)
            matrix = Matrix(
                found.numpy(), *tokens, titles, closed=closed, closed_title=_("weight 0")
            )
            alt = _("Attention weights, {title}").format(title=title)
            key = f"mix_{function.__name__}"
            st.plotly_chart(draw_matrix(matrix, 1.0), key=key, config=CHART, alt=alt)
            share, broken = unwanted(found, is_open)
            text = _("Attention to cells that should be closed: {share:.1%}. Rows of NaN: {n}.")
            st.markdown(plain(text.format(share=share, n=broken)))
    if kind != "added":
        _whole_model(request, name, site)


def _whole_model(request: Request, name: str, site: Site) -> None:
    """The model itself, run with the mask the wrong way round in every layer."""
    stack, _layer, part = site.name.split(".")
    text = _("The model reads your sentence …")
    wrong = ask(text, _reversed, request, f"{stack}.*.{part}", name)
    st.markdown(_("The model, run with this mask the wrong way round in every layer:"))
    words.what_moved(output_shift(run(request), wrong), wrong.model)


@TRACES.kept
def _reversed(request: Request, sites: str, name: str) -> Trace:
    """The trace of a request with the mask `name` the wrong way round at `sites`."""
    edits = [*request.edits, mask_edit(sites, f"{name}^none")]
    model, limit = load_model(request.model), len(run(request).tokens)
    return trace_text(model, request.text, request.target_ids, request.mask, edits, limit)
