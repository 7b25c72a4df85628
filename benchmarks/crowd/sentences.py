"""A bounded supply of distinct sentences, the same in every run."""

from attention_lab.ui.examples import FIRST

WHO = ("cat", "dog", "teacher", "doctor", "horse", "child", "robot", "farmer", "pilot", "nurse")
HOW = ("old", "small", "happy", "tired", "young", "quiet", "clever", "brave", "lazy", "proud")
DID = ("saw", "followed", "helped", "found", "forgot", "liked", "missed", "asked", "met", "heard")
WHY = ("late", "cold", "lost", "hungry", "early", "busy", "bored", "strong", "afraid", "alone")
PLACES = (WHO, HOW, DID, HOW, WHO, WHY)
MOST = 10 ** len(PLACES)
ENDINGS = (".", "!", " today.", " in the garden.", " 猫追老鼠", " 😀", "?")

SHARED = (
    FIRST,
    "The dog saw the dog that saw the dog.",
    "The capital of France is",
    "She poured water from the bottle into the cup until it was full.",
    "I love my cat 😺 and my family 👨‍👩‍👧‍👦 so much!",
)


def sentence(number: int) -> str:
    """The sentence of that number; two numbers below `MOST` never give the same one."""
    words = []
    # A prime step, so that neighbours differ in more than their last word.
    rest = number * 7_919 % MOST
    for place in PLACES:
        rest, choice = divmod(rest, 10)
        words.append(place[choice])
    one, how, did, other, two, why = words
    text = f"The {how} {one} {did} the {other} {two} because it was {why}"
    return text + ENDINGS[number % len(ENDINGS)]
