"""The loop on a tiny set: it learns, and a killed run goes on as if nothing had been."""

import json
import random
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch import nn

from attention_lab.errors import ModelError
from attention_lab.model.transformer import Transformer
from attention_lab.training import checkpoints
from attention_lab.training.batches import Batch, make_batches
from attention_lab.training.loop import Run, initialise, mean_loss
from attention_lab.training.recipe import Recipe
from attention_lab.training.schedule import learning_rate
from tests.factories import tiny_config, tiny_module

RECIPE = Recipe(
    d_model=16,
    n_layers=1,
    n_heads=2,
    warmup=20,
    lr_factor=1.0,
    batch_tokens=60,
    n_average=2,
    bf16=False,
)
# "Translate" by counting down from 11: learnable by attention alone.
PAIRS = [([random.Random(i).randrange(4, 12) for _ in range(1 + i % 4)],) * 2 for i in range(60)]


def epoch(number: int) -> list[Batch]:
    ids = [(source, [15 - id for id in target]) for source, target in PAIRS]
    return make_batches(ids, RECIPE.batch_tokens, random.Random(number))


def new_run(folder: Path, recipe: Recipe = RECIPE, resume: bool = False, threads: int = 2) -> Run:
    module = Transformer(recipe.config(12, 12))
    return Run(module, recipe, epoch, epoch(99)[:3], folder, resume, threads)


def log(folder: Path) -> list[dict[str, float]]:
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_it_learns(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    first = mean_loss(run.module, run.valid)
    steps = list(run.steps(epochs=8, seconds=1e9))
    assert run.state.epoch == 8
    assert run.state.best_loss < 0.7 * first
    assert [step.step for step in steps] == list(range(1, len(steps) + 1))
    records = log(tmp_path)
    assert sum("loss" in record for record in records) == len(steps)
    assert [r["valid_loss_average"] for r in records if "event" in r] == [
        e["valid_loss_average"] for e in run.state.epochs
    ]


def test_a_seed_makes_runs_repeatable(tmp_path: Path) -> None:
    def losses(name: str, seed: int) -> list[float]:
        run = new_run(tmp_path / name, Recipe(**{**RECIPE.__dict__, "seed": seed}))
        return [step.loss for step in islice(run.steps(2, 1e9), 12)]

    assert losses("a", 1) == losses("b", 1)
    assert losses("a2", 1) != losses("c", 2)


@pytest.mark.parametrize("killed_at", [2, 17])
def test_a_killed_run_ends_where_an_undisturbed_one_does(tmp_path: Path, killed_at: int) -> None:
    whole = new_run(tmp_path / "whole")
    list(whole.steps(epochs=4, seconds=1e9))

    killed = new_run(tmp_path / "killed")
    steps = killed.steps(epochs=4, seconds=1e9, save_every=0.0)  # saves after every step
    list(islice(steps, killed_at))
    del killed, steps  # no chance to tidy up
    with (tmp_path / "killed/log.jsonl").open("a") as file:
        file.write('{"step": ')  # the line that the kill cut short

    resumed = new_run(tmp_path / "killed", resume=True)
    assert 0 < resumed.state.step <= killed_at
    list(resumed.steps(epochs=4, seconds=1e9))
    assert resumed.state.step == whole.state.step
    for name, value in whole.module.state_dict().items():
        torch.testing.assert_close(resumed.module.state_dict()[name], value, rtol=0, atol=0)
    assert resumed.state.best_loss == whole.state.best_loss
    strip = [
        [{k: v for k, v in r.items() if k not in ("seconds", "tokens_per_second")} for r in log(f)]
        for f in (tmp_path / "whole", tmp_path / "killed")
    ]
    assert strip[0] == strip[1]


def test_a_run_is_not_overwritten(tmp_path: Path) -> None:
    list(islice(new_run(tmp_path).steps(1, 1e9, save_every=0.0), 3))
    with pytest.raises(ModelError, match="--resume"):
        new_run(tmp_path)
    with pytest.raises(ModelError, match="another model"):
        new_run(tmp_path, Recipe(**{**RECIPE.__dict__, "d_model": 32}), resume=True)


def test_time_is_a_limit_too(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    assert list(run.steps(epochs=5, seconds=0.0)) == []
    steps = list(run.steps(epochs=5, seconds=1e-9))
    assert len(steps) == 1
    assert (tmp_path / "checkpoint.safetensors").exists()


def test_the_average_of_the_last_epochs_is_kept(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    list(run.steps(epochs=3, seconds=1e9))
    files = sorted((tmp_path / "epochs").iterdir())
    assert [file.stem for file in files] == ["0001", "0002"]
    mean = checkpoints.average(files)
    one, two = (checkpoints.read_tensors(file)[0] for file in files)
    for name, value in mean.items():
        torch.testing.assert_close(value, (one[name] + two[name]) / 2)
    best, state = checkpoints.read_tensors(tmp_path / "best.safetensors")
    assert state == {"epoch": run.state.best_epoch}
    if run.state.best_epoch == 2:
        torch.testing.assert_close(best, mean)


def test_shards_give_the_gradient_of_the_whole_batch(tmp_path: Path) -> None:
    recipe = Recipe(**{**RECIPE.__dict__, "dropout": 0.0})
    modules = []
    for threads in (1, 3):
        run = new_run(tmp_path / str(threads), recipe, threads=threads)
        next(run.steps(1, 1e9))
        modules.append(run.module)
    for one, three in zip(*(module.parameters() for module in modules), strict=True):
        torch.testing.assert_close(three.grad, one.grad, rtol=1e-4, atol=1e-6)


def test_a_broken_gradient_stops_the_run(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with torch.no_grad():
        run.module.get_parameter("decoder.embed.token.weight").fill_(float("nan"))
    with pytest.raises(ModelError, match="not finite at step 1"):
        list(run.steps(1, 1e9))


def test_a_broken_checkpoint_is_named(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.safetensors").write_bytes(b"\x80\x04pickle")
    with pytest.raises(ModelError, match=r"checkpoint\.safetensors cannot be read"):
        new_run(tmp_path, resume=True)
    with pytest.raises(ModelError, match="no checkpoint to average"):
        checkpoints.average([])


def test_the_last_epochs_are_cooler(tmp_path: Path) -> None:
    recipe = Recipe(**{**RECIPE.__dict__, "cool_from": 1, "cool_factor": 0.25})
    steps = list(new_run(tmp_path, recipe).steps(2, 1e9))
    for step in steps:
        factor = 1.0 if step.epoch == 0 else 0.25
        rate = learning_rate(step.step, recipe.d_model, recipe.warmup, factor * recipe.lr_factor)
        assert step.learning_rate == pytest.approx(rate)
    assert {step.epoch for step in steps} == {0, 1}


def test_r_drop_changes_the_loss_alone(tmp_path: Path) -> None:
    run = new_run(tmp_path, Recipe(**{**RECIPE.__dict__, "r_drop": 4.0, "dropout": 0.5}))
    first = next(run.steps(1, 1e9))
    plain = new_run(tmp_path / "plain", Recipe(**{**RECIPE.__dict__, "dropout": 0.5}))
    assert first.loss > next(plain.steps(1, 1e9)).loss  # the divergence of two masks is added


def test_padding_changes_nothing() -> None:
    module = tiny_module(tiny_config("encoder-decoder"))
    pairs = [([7, 8, 9], [10, 11]), ([7], [8, 9, 10, 11, 12])]
    both = mean_loss(module, make_batches(pairs, 100, random.Random(0)))
    alone = [mean_loss(module, make_batches([pair], 100, random.Random(0))) for pair in pairs]
    # Three labels and six, [EOS] included.
    assert both == pytest.approx((3 * alone[0] + 6 * alone[1]) / 9, rel=1e-5)


def test_initial_parameters() -> None:
    module = Transformer(Recipe().config(500, 600))
    torch.manual_seed(0)
    initialise(module, 256)
    assert module.encoder.embed.token.weight.std().item() == pytest.approx(1 / 16, rel=0.02)
    limit = (6 / (256 + 256)) ** 0.5
    layer = module.decoder.layers[0]
    assert layer.cross_attn.w_q.weight.abs().max().item() == pytest.approx(limit, rel=0.01)
    assert layer.cross_attn.w_v.weight.abs().max().item() == pytest.approx(limit / 2, rel=0.01)
    linears = [child for child in module.modules() if isinstance(child, nn.Linear)]
    assert all(not child.bias.any() for child in linears)
