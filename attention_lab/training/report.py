"""The figures that the evaluation prints and the model card states."""

import json
from dataclasses import dataclass
from pathlib import Path

from attention_lab.beam import PENALTY
from attention_lab.i18n import _
from attention_lab.training import checkpoints, corpus, evaluation, export, phrasebook
from attention_lab.training.decoding import translate_all
from attention_lab.zoo.loaded import Model

EXAMPLES = (
    "The cat chased the mouse.",
    "The mouse chased the cat.",
    "The animal didn't cross the street because it was too tired.",
)


@dataclass(frozen=True)
class Figures:
    """What was measured."""

    n_sentences: int
    n_parameters: int
    greedy: evaluation.Score
    beam: evaluation.Score
    workshop_right: int  # greedy, as the app translates while one types
    workshop_right_beam: int
    workshop_all: int
    alignment: evaluation.Alignment
    examples: tuple[tuple[str, str], ...]


def measure_all(model: Model, corpus_file: Path, heldout: Path) -> Figures:
    """Measure everything; half a minute."""
    sentences = corpus.read_heldout(heldout)
    references = corpus.references(corpus.read_rows(corpus_file), sentences)
    scores = [
        evaluation.measure(translate_all(model, sentences, width), references) for width in (1, 4)
    ]
    judged = [sum(j.right for j in evaluation.judge_workshop(model, width)) for width in (1, 4)]
    return Figures(
        n_sentences=len(sentences),
        n_parameters=model.n_parameters,
        greedy=scores[0],
        beam=scores[1],
        workshop_right=judged[0],
        workshop_right_beam=judged[1],
        workshop_all=len(phrasebook.workshop()),
        alignment=evaluation.align(model, phrasebook.aligned()),
        examples=tuple(zip(EXAMPLES, translate_all(model, EXAMPLES, 4), strict=True)),
    )


def text(figures: Figures) -> str:
    """The figures as lines."""
    layers = ", ".join(f"{share:.0%}" for share in figures.alignment.by_layer)
    score = "{name:<7} BLEU {score.bleu:.1f}  chrF {score.chrf:.1f}"
    lines = (
        _("{n} held-out sentences, {parameters:,} parameters").format(
            n=figures.n_sentences, parameters=figures.n_parameters
        ),
        score.format(name=_("greedy"), score=figures.greedy),
        score.format(name=_("beam 4"), score=figures.beam),
        _("Workshop sentences right: {greedy} of {n} greedy, {beam} with beam 4.").format(
            greedy=figures.workshop_right,
            n=figures.workshop_all,
            beam=figures.workshop_right_beam,
        ),
        _("Words that cross-attention aligns, by decoder layer: {layers} of {n}.").format(
            layers=layers, n=figures.alignment.n_words
        ),
    )
    return "\n".join(lines)


def card(run: Path, figures: Figures, history: Path | None = None) -> str:
    """The README.md of the shipped folder; `history` is Markdown that goes in after the recipe."""
    recipe = export.read_recipe(run)
    _all, best = checkpoints.read_tensors(run / "best.safetensors")
    _all, state = checkpoints.read_tensors(run / "checkpoint.safetensors")
    at_best = next(r for r in state["epochs"] if r["epoch"] == best["epoch"])
    alignment = figures.alignment
    examples = "".join(f"| {english} | {chinese} |\n" for english, chinese in figures.examples)
    facts = {
        "epochs": int(at_best["epoch"]) + 1,
        "steps": int(at_best["step"]),
        "minutes of training (2 shared cores)": round(at_best["seconds"] / 60),
        "held-out loss (nats a token)": round(at_best["valid_loss_average"], 3),
    }
    return TEMPLATE.format(
        parameters=figures.n_parameters,
        layers=recipe.n_layers,
        d_model=recipe.d_model,
        heads=recipe.n_heads,
        d_ff=4 * recipe.d_model,
        phrases=len(phrasebook.pairs()),
        n=figures.n_sentences,
        greedy=figures.greedy,
        beam=figures.beam,
        workshop=figures.workshop_right,
        workshop_beam=figures.workshop_right_beam,
        workshop_all=figures.workshop_all,
        penalty=PENALTY,
        alignment=alignment,
        by_layer=json.dumps([round(share, 3) for share in alignment.by_layer]),
        examples=examples,
        recipe=export.recipe_table(recipe, facts),
        history=f"\n{history.read_text(encoding='utf-8')}" if history else "",
    )


TEMPLATE = """# Translator English → Chinese

The architecture of "Attention Is All You Need" (2017), small: encoder and decoder of {layers}
layers each, d_model {d_model}, {heads} heads, feed-forward {d_ff}, post-norm, ReLU, sinusoidal
positions, {parameters:,} parameters. Trained from scratch by this project to be looked into,
not to be relied on.

## Data and licence
- Sentence pairs of the Tatoeba project (https://tatoeba.org), as selected by
  https://www.manythings.org/anki/ (cmn-eng), licence CC BY 2.0 FR
  (https://creativecommons.org/licenses/by/2.0/fr/), by many contributors; each line of that
  file names its own. The pairs were cleaned, and traditional characters made simplified with
  OpenCC.
- {phrases:,} pairs generated by the project's phrasebook
  (`attention_lab/training/phrasebook.py`), so that the sentences a workshop types work.
- The checkpoint is given under the same licence, CC BY 2.0 FR. The corpus is not part of the
  project.
- Never trained on: {n} held-out sentences, the workshop's sentences
  (`assets/examples/workshop-en-zh.tsv`) and 100 phrasebook sentences for the alignment figure;
  excluded by their English side, whatever its case, punctuation, spaces and quotes. Other
  sentences of the corpus may be near them in wording.

## Measured quality
| {n} held-out sentences | BLEU (sacreBLEU, zh) | chrF |
|---|---|---|
| greedy | {greedy.bleu:.1f} | {greedy.chrf:.1f} |
| beam 4 | {beam.bleu:.1f} | {beam.chrf:.1f} |

Beam search divides log P by ((5 + length) / 6)^{penalty:g}. References: all
Chinese versions in the corpus, made simplified, otherwise untouched.

Workshop sentences right by a fixed list: {workshop} of {workshop_all} greedy, {workshop_beam}
with beam 4.

Alignment: over 100 phrasebook pairs with {alignment.n_words} linked words, cross-attention of
decoder layer {alignment.layer} (mean over heads, in the step that writes the Chinese word) has
its largest weight on the linked English word in {alignment.best:.0%}; by layer {by_layer}.

| English | beam 4 |
|---|---|
{examples}
## Recipe
{recipe}
Adam (0.9, 0.98), linear warm-up and inverse square root decay (from epoch "cool from" on times
"cool factor"), batches by length; the shipped parameters are the mean of the last epochs' at the
lowest held-out loss, in 16 bits. Train again with
`python -m attention_lab train translator --corpus FILE --heldout FILE`.
{history}
## Known weaknesses
- Short everyday sentences only: long, technical or literary text comes out fluent and wrong, and
  parts of a long sentence may be missing.
- Rare words and names outside the corpus are left out or replaced; characters it does not know
  are [UNK].
- Tense, number and "the" are often not expressed, as Chinese allows; he/she after a long clause
  may slip.
- Translates out of context, and repeats the bias of its sentences (Tom and Mary are
  everywhere).
- The alignment figure is for simple sentences; in others attention also rests on punctuation
  and the end.
"""
