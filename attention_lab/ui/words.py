"""The words beside the pictures: headings, what a change did, what one is looking at, the code."""

import streamlit as st

from attention_lab.analysis.numbers import OutputShift
from attention_lab.analysis.panel import Combine
from attention_lab.i18n import _
from attention_lab.tokens import name_of
from attention_lab.tracing.site import PAIR_STAGES, Stage
from attention_lab.ui.detail import View, title
from attention_lab.ui.heads import Place
from attention_lab.ui.markup import plain
from attention_lab.ui.runs import Request
from attention_lab.zoo.loaded import Model

FORMULA = r"\mathrm{Attention}(Q,K,V)=\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)V"

CODE = """\
q, k, v = split(x @ W_Q), split(x @ W_K), split(x @ W_V)    # head, position, d_head
scores = q @ k.transpose(-2, -1) / math.sqrt(d_head)        # head, query, key
masked_scores = scores.masked_fill(~mask, -math.inf)        # mask: True = may attend
weights = masked_scores.softmax(dim=-1)                     # each row sums to 1
z = weights @ v                                             # head, query, d_head
"""


def stage_words() -> dict[Stage, str]:
    """Each stage in one sentence."""
    return {
        "q": _("q, the queries: what each token is looking for, as a vector of this head."),
        "k": _("k, the keys: what each token offers to be found by."),
        "v": _("v, the values: what a token hands over to those that look at it."),
        "scores": _("Scores: q · k divided by √d_head, how well a query and a key fit together."),
        "mask": _("Mask: which keys a query may look at; the others are ruled out."),
        "masked_scores": _("Masked scores: the scores, minus infinity where the mask is closed."),
        "weights": _("Weights: the softmax of each row; how a token divides its attention of 1."),
        "z": _("z: the values, mixed by the weights; what the head gives to each token."),
        "result": _("Result: what the head adds to the residual stream."),
    }


def heading(place: Place, stage: Stage, combine: Combine) -> None:
    """What the large picture shows, in one line."""
    st.markdown(
        f"**{plain(title(place, stage, combine))}**", help=stage_words()[stage], width="content"
    )


def conditions(request: Request, view: View, hide: bool, place: Place) -> None:
    """What has to be known to read the picture: the changes it shows, what it leaves out."""
    views = {
        "after": _("The model was run again with your changes; it was not trained with them."),
        "before": _("The model as it was trained, before your changes."),
        "difference": _("What your changes add (red) and take away (blue)."),
    }
    if request.is_changed:
        st.caption(views[view])
    if view != "before" and {place.site, f"{place.site}:{place.head}"} & set(request.off):
        text = _(
            "This head is switched off: its z is set to zero, so that it adds nothing. "
            "Its weights come before that; what changes is z and the layers above."
        )
        st.caption(plain(text))
    if hide:
        st.caption(_("Special tokens are left out of the picture; no value is changed by that."))


def what_moved(shift: OutputShift, model: Model) -> None:
    """How far the changes moved the model's output."""
    if shift.divergence is None or shift.next_before is None or shift.next_after is None:
        text = _(
            "The output moved: the largest change of a number is {largest:.3f}, the smallest "
            "cosine similarity of a token's output before and after is {cosine:.3f} (1 = unmoved)."
        )
        st.info(plain(text.format(largest=shift.largest, cosine=shift.cosine)))
        return
    text = _(
        "The output moved: the next token's distribution by {bits:.3f} bits (KL divergence, "
        "0 = unmoved). Likeliest next token before: {before}; after: {after}."
    )
    tokenizer = model.target_tokenizer or model.tokenizer
    before, after = (name_of(tokenizer, id) for id in (shift.next_before, shift.next_after))
    st.info(plain(text.format(bits=shift.divergence, before=before, after=after)))


def explanation(stage: Stage) -> None:
    """What one is looking at, and what it is not."""
    st.markdown(stage_words()[stage])
    axes = (
        _("Each row is a token that looks (the query), each column one it looks at (the key). ")
        if stage in PAIR_STAGES
        else _("Each row is the vector of a token, each column one of its dimensions. ")
    )
    st.markdown(
        axes
        + _(
            "Every number comes from the model's run on your sentence. The weights of a query sum "
            "to 1; they say where a head takes information from. They are not by themselves an "
            "explanation of what the model puts out: values, other heads and the layers above "
            "decide that too. To test what a head does, switch it off."
        )
    )


def formula() -> None:
    """Attention as a formula and as code."""
    with st.expander(_("The formula and the code"), icon=":material/function:"):
        st.latex(FORMULA)
        st.code(CODE, language="python")
