"""What it costs to keep everything a model computed: ours, transformers, TransformerLens.

All start from the text, run in turn in one process on the same parameters, and end with their
attention weights, and logits where the model has any, in memory.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import torch
import typer
from rich.progress import track

import attention_lab as lab
from attention_lab.zoo.loaded import Model
from benchmarks.libraries import in_transformer_lens, in_transformers
from benchmarks.measure import alternate, report

OURS, BARE = "ours", "ours, no capture"
THEIRS, LENS = "transformers", "TransformerLens"
WORDS = ("the", "cat", "sat", "on", "the", "mat", "and", "the", "dog", "ran", "to", "the", "house")


def text_of(model: Model, n: int) -> str:
    """A text of exactly `n` tokens, the model's special ones among them."""
    special = len(model.tokenizer.encode(""))
    return " ".join(WORDS[i % len(WORDS)] for i in range(n - special))


def contenders(model: Model) -> tuple[dict[str, Callable[[str], Any]], str | None]:
    """Name -> a run on a text, and why TransformerLens is not among them, if so."""
    theirs, lens = in_transformers(model), in_transformer_lens(model)

    def ids(text: str) -> torch.Tensor:
        return torch.tensor([model.tokenizer.encode(text).ids])

    def bare(text: str) -> object:
        with torch.inference_mode():
            return model.module(ids(text))

    def eager(text: str) -> Any:
        with torch.inference_mode():
            return theirs(ids(text), output_attentions=True)

    found: dict[str, Callable[[str], Any]] = {
        OURS: partial(lab.trace, model),
        BARE: bare,
        THEIRS: eager,
    }
    if isinstance(lens, str):
        return found, lens
    found[LENS] = lambda text: lens(ids(text))
    return found, None


def check(model: Model, functions: dict[str, Callable[[str], Any]], text: str) -> None:
    """Raise `AssertionError` unless ours and transformers' attention weights are the same."""
    trace, theirs = functions[OURS](text), functions[THEIRS](text)
    for site, weights in zip(trace.sites, theirs.attentions, strict=True):
        ours = torch.from_numpy(trace[site].weights.copy())
        torch.testing.assert_close(ours, weights[0], rtol=0, atol=1e-4)


def measure(model: Model, lengths: list[int], threads: int, rounds: int) -> list[dict[str, Any]]:
    """One row a length: medians in ms, and ours as a share of the others.

    With one thread it is the thread's own time on the CPU that counts, which others on the machine
    disturb less; with more it is the time on the wall.
    """
    torch.set_num_threads(threads)
    clock = time.thread_time_ns if threads == 1 else time.perf_counter_ns
    functions, _why = contenders(model)
    check(model, functions, text_of(model, lengths[0]))
    rows = []
    for n in track(lengths, f"{model.name}, {threads} thread(s)", transient=True):
        text = text_of(model, n)
        runs = {name: partial(function, text) for name, function in functions.items()}
        times = alternate(runs, rounds, clock)
        rows.append(
            {"model": model.name, "threads": threads, "tokens": n}
            | {f"{name}, ms": value for name, value in times.items()}
            | {"ours / transformers": times[OURS] / times[THEIRS]}
            | {"ours / no capture": times[OURS] / times[BARE]}
        )
    return rows


def main(
    models: Annotated[list[str] | None, typer.Option("--model")] = None,
    lengths: Annotated[list[int] | None, typer.Option("--tokens")] = None,
    threads: Annotated[list[int] | None, typer.Option()] = None,
    rounds: int = 15,
) -> None:
    """Measure, print a table, and write benchmarks/results/capture.json."""
    rows, notes = [], []
    for name in models or ["minilm", "smollm2"]:
        model = lab.load(name)
        _functions, why = contenders(model)
        if why:
            notes.append(f"TransformerLens does not run {name}: {why}.")
        for n in threads or [1]:
            rows += measure(model, lengths or [16, 64, 128, 256], n, rounds)
    notes.append("Aims: at most 0.80 of transformers, at most 1.20 of no capture, to 128 tokens.")
    report("capture", "Capture: medians", rows, notes)


if __name__ == "__main__":
    typer.run(main)
