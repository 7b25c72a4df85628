"""The one place where a token's text becomes Plotly's markup."""

import html
from collections.abc import Sequence

from attention_lab.figures import scales
from attention_lab.tokens import Token


def escape(text: str) -> str:
    """`text` so that Plotly shows it as typed: no tags, no entities, no MathJax between dollars."""
    return html.escape(text).replace("$", "&#36;")


def axis(tokens: Sequence[Token], most: int) -> dict[str, object]:
    """A linear axis labelled with tokens: repeated tokens stay apart, at most about `most` ticks.

    Every position is named on hover; where there are too many to write, every k-th has a tick.
    """
    return label_axis([token.label for token in tokens], most)


def label_axis(labels: Sequence[str], most: int) -> dict[str, object]:
    """The same for any labels."""
    names = [escape(label) for label in labels]
    step = -(-len(names) // most)
    places = list(range(0, len(names), step))
    return {
        "tickmode": "array",
        "tickvals": places,
        "ticktext": [names[i] for i in places],
        "labelalias": {} if step == 1 else {str(i): name for i, name in enumerate(names)},
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"family": scales.MONOSPACE, "size": 12 if len(names) <= 32 else 9},
        "automargin": True,
        "ticklabeloverflow": "allow",
    }
