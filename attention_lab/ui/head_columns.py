"""The columns of the table of heads: names, explanations, widths; and the roles in words."""

from typing import Any

import streamlit as st

from attention_lab.analysis.roles import DRAWS, HALF
from attention_lab.i18n import _

NARROW = 78  # pixels: all columns side by side on a projector


def role_names() -> dict[str, str]:
    """The roles in words."""
    return {
        "first": _("first token"),
        "self": _("itself"),
        "previous": _("previous token"),
        "next": _("next token"),
        "separators": _("separators"),
        "repeated": _("repeated token"),
        "induction": _("induction"),
    }


def columns() -> dict[str, Any]:
    """Headings, formats and explanations."""
    share = _(
        "The share of its attention, 0 to 1, that a query gives to {what}; mean over queries."
    )
    what = {
        "first": (_("first"), _("the first token")),
        "self": (_("itself"), _("itself")),
        "previous": (_("previous"), _("the token before it")),
        "next": (_("next"), _("the token after it")),
        "separators": (_("separators"), _("special tokens and punctuation, the first token apart")),
        "repeated": (_("repeated"), _("earlier occurrences of the same token")),
    }
    columns: dict[str, Any] = {
        name: st.column_config.ProgressColumn(
            label,
            help=share.format(what=words),
            format="%.2f",
            min_value=0,
            max_value=1,
            width=NARROW,
        )
        for name, (label, words) in what.items()
    }
    induction = _(
        "On {n} random tokens and the same again: mean weight from a token of the second half to "
        "the token after its first occurrence; mean over {draws} draws."
    )
    columns["induction"] = st.column_config.ProgressColumn(
        _("induction"),
        help=induction.format(n=HALF, draws=DRAWS),
        format="%.2f",
        min_value=0,
        max_value=1,
        width=NARROW,
    )
    entropy = _("How widely a query spreads its attention, in bits: 0 = one token only.")
    distance = _("How far it looks: the mean of weight times distance, in tokens.")
    return columns | {
        "layer": st.column_config.NumberColumn(_("layer"), width=50),
        "head": st.column_config.NumberColumn(_("head"), width=50),
        "roles": st.column_config.TextColumn(
            _("roles"), help=_("Measured on fixed texts; score ± spread."), width=190
        ),
        "entropy": st.column_config.NumberColumn(
            _("entropy"), help=entropy, format="%.2f", width=64
        ),
        "distance": st.column_config.NumberColumn(
            _("distance"), help=distance, format="%.2f", width=64
        ),
    }
