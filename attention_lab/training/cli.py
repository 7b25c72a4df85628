"""`python -m attention_lab train …` and `evaluate …`."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from attention_lab.errors import LabError, ModelError
from attention_lab.i18n import _
from attention_lab.model.transformer import Transformer
from attention_lab.training import checkpoints, corpus, evaluation, export, report
from attention_lab.training import translator as translator_data
from attention_lab.training.loop import Run, Step
from attention_lab.training.recipe import Recipe
from attention_lab.zoo.loading import load

train_app = typer.Typer(help="Train a model of the project's own.", no_args_is_help=True)
evaluate_app = typer.Typer(help="Measure how good a trained model is.", no_args_is_help=True)

CorpusFile = Annotated[
    Path, typer.Option("--corpus", help="Tab-separated text: English, Chinese, attribution.")
]
Heldout = Annotated[
    Path | None, typer.Option(help="English sentences, one a line, never to train on.")
]
RunFolder = Annotated[Path, typer.Option("--out", help="The folder of the run.")]
OUT = Path("runs/translator")
DEFAULT = Recipe()


@contextmanager
def _plain_errors() -> Iterator[None]:
    """The package's own errors as one sentence and exit status 1.

    One thread an operation: on small tensors more only wait for each other.
    """
    torch.set_num_threads(1)
    try:
        yield
    except LabError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from error


@train_app.command("translator")
def train_translator(
    corpus_file: CorpusFile,
    heldout: Heldout = None,
    out: RunFolder = OUT,
    epochs: Annotated[int, typer.Option(min=1, help="Stop after so many epochs.")] = 40,
    minutes: Annotated[float, typer.Option(min=0, help="Or after so many minutes; 0: never.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    threads: Annotated[int, typer.Option(min=1, help="Threads, a part of the batch each.")] = 2,
    seed: int = DEFAULT.seed,
    lr_factor: float = DEFAULT.lr_factor,
    dropout: float = DEFAULT.dropout,
    bf16: Annotated[bool, typer.Option(help="Matrix products in 16 bits.")] = DEFAULT.bf16,
) -> None:
    """Train the English-Chinese translator on a corpus and the project's phrasebook."""
    with _plain_errors():
        recipe = Recipe(seed=seed, lr_factor=lr_factor, dropout=dropout, bf16=bf16)
        if resume:
            recipe = export.read_recipe(out)
        run = _prepare(corpus_file, heldout, out, recipe, resume, threads)
        _train(run, epochs, minutes * 60 or math.inf)
    Console().print(
        _("Best held-out loss {loss:.3f} after epoch {epoch}; the run is in {out}.").format(
            loss=run.state.best_loss, epoch=run.state.best_epoch + 1, out=out
        )
    )


def _prepare(
    path: Path, heldout: Path | None, out: Path, recipe: Recipe, resume: bool, threads: int
) -> Run:
    closed = corpus.read_heldout(heldout) if heldout else []
    tokenizers = export.read_tokenizers(out) if resume else None
    data = translator_data.prepare(path, closed, recipe, tokenizers)
    if resume and (out / "data.sha256").read_text(encoding="utf-8") != data.fingerprint:
        message = _("The run in {out} began with another corpus; give that one, or a new --out.")
        raise ModelError(message.format(out=out))
    sizes = data.english.get_vocab_size(), data.chinese.get_vocab_size()
    batches = translator_data.epoch_batches(data, recipe)
    valid = translator_data.valid_batches(data, recipe)
    run = Run(Transformer(recipe.config(*sizes)), recipe, batches, valid, out, resume, threads)
    if not resume:
        checkpoints.write_text(out / "recipe.json", recipe.to_json())
        checkpoints.write_text(out / "english.json", data.english.to_str())
        checkpoints.write_text(out / "chinese.json", data.chinese.to_str())
        checkpoints.write_text(out / "data.sha256", data.fingerprint)
    return run


def _train(run: Run, epochs: int, seconds: float) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(
            "loss {task.fields[loss]:.3f}  lr {task.fields[rate]:.2e}  "
            "|grad| {task.fields[norm]:.2f}  {task.fields[speed]:,.0f} tokens/s"
        ),
        TimeRemainingColumn(),
    )
    with Progress(*columns) as progress:
        task = progress.add_task("", total=1.0, loss=0.0, rate=0.0, norm=0.0, speed=0.0)
        mean = 0.0
        for step in run.steps(epochs, seconds):
            mean = step.loss if mean == 0 else 0.98 * mean + 0.02 * step.loss
            progress.update(
                task,
                description=_("epoch {n}").format(n=step.epoch + 1),
                completed=_share(run, step, epochs, seconds),
                loss=mean,
                rate=step.learning_rate,
                norm=step.gradient_norm,
                speed=step.tokens_per_second,
            )


def _share(run: Run, step: Step, epochs: int, seconds: float) -> float:
    """How much of the run is done: by epochs or by time, whichever ends it first."""
    done = (step.epoch + run.state.batch / run.batches_in_epoch) / epochs
    return min(1.0, max(done, run.state.seconds / seconds))


@train_app.command("export")
def export_translator(
    folder: Annotated[Path, typer.Argument(help="Where the app finds it: assets/checkpoints/…")],
    corpus_file: CorpusFile,
    heldout: Annotated[Path, typer.Option(help="English sentences to measure on.")],
    out: RunFolder = OUT,
    history: Annotated[
        Path | None, typer.Option(help="Markdown for the card: how the quality grew.")
    ] = None,
) -> None:
    """Write a run's best parameters as a model the app loads, with a card of measured figures."""
    with _plain_errors():
        model = export.load(out)
        figures = report.measure_all(model, corpus_file, heldout)
        export.export(out, folder, report.card(out, figures, history))
    print(report.text(figures))


@evaluate_app.command("translator")
def evaluate_translator(
    corpus_file: CorpusFile,
    heldout: Annotated[Path, typer.Option(help="English sentences to measure on.")],
    model: Annotated[str, typer.Option(help="A model's name, or the folder of a run.")] = (
        "translator-en-zh"
    ),
    show: Annotated[bool, typer.Option("--show", help="Print the workshop's sentences.")] = False,
) -> None:
    """Print BLEU and chrF, greedy and beam 4, the workshop's score and the alignment figure."""
    with _plain_errors():
        is_run = (Path(model) / "best.safetensors").is_file()
        loaded = export.load(Path(model)) if is_run else load(model)
        figures = report.measure_all(loaded, corpus_file, heldout)
        print(report.text(figures))
        for judged in evaluation.judge_workshop(loaded, width=4) if show else ():
            print("+" if judged.right else "-", judged.english, judged.chinese)
