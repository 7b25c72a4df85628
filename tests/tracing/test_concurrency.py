"""Many runs of one model at once: each is its own world, and nothing of it stays."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier, Semaphore
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import attention_lab as lab
from attention_lab.errors import InputError
from attention_lab.model.points import is_observed
from attention_lab.tracing import edits
from attention_lab.tracing.trace import Trace
from attention_lab.zoo.loaded import Model
from tests.factories import tiny_model
from tests.tracing.helpers import TEXTS, assert_identical, stored

Job = Callable[[], Trace]

MASKS: list[Any] = [None, "causal", "window:1", lambda q, k: np.eye(q, k, dtype=bool)]


def jobs(model: Model, stack: str) -> list[Job]:
    """25 different runs: every text with every edit, and the masks mixed in."""
    target = "追 cat it" if model.target_tokenizer else None
    changes: list[list[edits.Edit]] = [
        [],
        [lab.ablate(f"{stack}.0.self", head=1)],
        [lab.ablate(f"{stack}.*", to="mean"), lab.mask(f"{stack}.1.self", "window:2")],
        [lab.position("none")],
        [lab.ablate("*", head=[0, 2])],
    ]
    return [
        partial(lab.trace, model, text, target, MASKS[(i + j) % 4], edits=change)
        for i, text in enumerate(TEXTS)
        for j, change in enumerate(changes)
    ]


def hooks(module: torch.nn.Module) -> int:
    """How many hooks stand on the module and all that it is made of."""
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return sum(len(getattr(part, kind)) for part in module.modules() for kind in kinds)


def check(model: Model, stack: str, n_runs: int) -> None:
    """Runs from 8 threads, each bit for bit its sequential run; parameters untouched."""
    parameters = {name: value.clone() for name, value in model.module.state_dict().items()}
    wanted = jobs(model, stack)
    sequential = [stored(job()) for job in wanted]
    assert not np.array_equal(sequential[0]["hidden"], sequential[1]["hidden"])
    order = np.random.default_rng(0).permutation(n_runs) % len(wanted)

    def run(index: int) -> bool:
        assert_identical(stored(wanted[index]()), sequential[index])
        return is_observed()

    with ThreadPoolExecutor(8) as pool:
        assert not any(pool.map(run, order))
    assert hooks(model.module) == 0
    for name, value in model.module.state_dict().items():
        assert torch.equal(value, parameters[name]), name


def test_200_runs_from_8_threads_equal_their_sequential_runs() -> None:
    check(tiny_model("encoder-decoder", n_kv_heads=2), "decoder", 200)


@pytest.mark.pulled
def test_runs_of_a_real_model_equal_their_sequential_runs(minilm: Model) -> None:
    check(minilm, "encoder", 80)


class FailingError(Exception):
    pass


def failing(config: Any, ablations: Any) -> dict[str, edits.Change]:
    """In the place of `edits.changes`: raises in the middle of the forward."""

    def change(tensor: Tensor, captured: Any) -> Tensor:
        raise FailingError

    return {"decoder.1.self.weights": change}


def test_a_run_that_raises_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit, a mask and positions that raise: before, in the middle of, and in a forward."""
    model = tiny_model("decoder")
    before = stored(lab.trace(model, TEXTS[0]))

    def broken(n_query: int, n_key: int) -> np.ndarray:
        raise FailingError

    with monkeypatch.context() as patch:
        patch.setattr("attention_lab.tracing.record.changes", failing)
        with pytest.raises(FailingError):
            lab.trace(model, TEXTS[0])
    assert not is_observed()
    with pytest.raises(FailingError):
        lab.trace(model, TEXTS[0], mask=broken)
    with pytest.raises(InputError):
        lab.trace(model, TEXTS[0], edits=[lab.position("learned")])
    assert not is_observed()
    assert hooks(model.module) == 0
    assert_identical(stored(lab.trace(model, TEXTS[0])), before)


def test_runs_that_raise_among_others_do_not_use_up_the_room_for_runs() -> None:
    """More of them than may run at once, beside runs that go well."""
    model = tiny_model("decoder")
    before = stored(lab.trace(model, TEXTS[0]))

    def run(index: int) -> bool:
        if index % 2:
            with pytest.raises(InputError):
                lab.trace(model, TEXTS[0], edits=[lab.position("learned")])
        else:
            assert_identical(stored(lab.trace(model, TEXTS[0])), before)
        return is_observed()

    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(run, index) for index in range(40)]
        assert not any(future.result(timeout=60) for future in futures)


def test_two_runs_that_are_in_the_forward_at_the_same_time_do_not_meet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each waits in the middle for the other; one is ablated there, and the other is not."""
    model, both, room = tiny_model("decoder"), Barrier(2), Semaphore(2)
    monkeypatch.setattr("attention_lab.tracing.run.gate", lambda: room)
    plain = stored(lab.trace(model, TEXTS[0]))
    ablation = [lab.ablate("decoder.0.self", head=0), lab.ablate("decoder.1.self", head=3)]
    ablated = stored(lab.trace(model, TEXTS[0], edits=ablation))
    original = edits.changes

    def waiting(config: Any, ablations: Any) -> dict[str, edits.Change]:
        def wait(tensor: Tensor, captured: Any) -> Tensor:
            both.wait(timeout=30)
            return tensor

        places = ("decoder.0.self.q", "decoder.1.self.q", "decoder.1.post")
        return {**original(config, ablations), **dict.fromkeys(places, wait)}

    monkeypatch.setattr("attention_lab.tracing.record.changes", waiting)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lab.trace, model, TEXTS[0])
        second = pool.submit(lab.trace, model, TEXTS[0], edits=ablation)
    assert_identical(stored(first.result()), plain)
    assert_identical(stored(second.result()), ablated)
