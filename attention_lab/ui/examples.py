"""Sentences to start from, and the head of each model that shows something on the first of them."""

from attention_lab.i18n import _

FIRST = "The animal didn't cross the street because it was too tired."

# Sentence → the same words in another order, with another meaning.
REORDERED = {
    FIRST: "The street didn't cross the animal because it was too tired.",
    "猫追老鼠": "老鼠追猫",
    "老鼠追猫": "猫追老鼠",
    "The dog chased the cat.": "The cat chased the dog.",
}

# (layer, head) where "it" looks at "animal"
FOCUS: dict[str, tuple[int, int]] = {
    "minilm": (3, 1),
    "smollm2": (13, 8),
    "translator-en-zh": (2, 1),  # cross-attention: each Chinese word looks at its English one
}


def examples() -> dict[str, str]:
    """Label → sentence."""
    return {
        _("The animal …"): FIRST,
        "猫追老鼠": "猫追老鼠",
        "老鼠追猫": "老鼠追猫",
        _("Repeated words"): "The dog saw the dog that saw the dog.",
        _("Emoji"): "I love my cat 😺 and my family 👨‍👩‍👧‍👦 so much!",
        _("Right to left"): "الكلب يطارد القطة في الحديقة",
        _("Capital"): "The capital of France is",
    }
