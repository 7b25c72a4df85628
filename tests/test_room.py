"""A few simulated people on a real server; a check that cannot fail would show nothing."""

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import attention_lab as lab
from attention_lab import figures
from attention_lab.analysis.panel import panel
from benchmarks.crowd import answers, tables
from benchmarks.crowd.answers import Answer, Asked
from benchmarks.crowd.crowd import Crowd
from benchmarks.crowd.faults import Faults
from benchmarks.crowd.person import config_of
from benchmarks.crowd.sentences import sentence
from benchmarks.crowd.server import Server
from tests.factories import tiny_model
from tests.ui.conftest import MODELS, write

TEXT = "the cat saw the dog ."


def test_sentences_are_distinct() -> None:
    assert len({sentence(number) for number in range(20_000)}) == 20_000


def test_a_state_survives_its_link() -> None:
    asked = Asked(
        "a & b=c 猫", "smollm2", 4, 7, "z", "causal", ("decoder.1.self:2", "decoder.0.self")
    )
    assert Asked.from_link(asked.to_link()) == asked
    assert Asked.from_link("") == Asked()


@pytest.fixture
def right(monkeypatch: pytest.MonkeyPatch) -> Answer:
    """An answer as the app gives it, of a tiny model."""
    model = tiny_model(n_layers=4, n_heads=2, n_kv_heads=2)
    monkeypatch.setattr(answers.lab, "load", lambda name: model)
    trace = lab.trace(model, TEXT, mask="causal", edits=[lab.ablate("encoder.0.self", head=1)])
    asked = Asked(TEXT, "minilm", 2, 1, "weights", "causal", ("encoder.0.self:1",))
    answer = Answer(0, "mask", asked, 0.0, 1.0)
    large = figures.draw(panel(trace, "encoder.2.self", 1))
    small = figures.overview(trace, "encoder.self", (2, 1))
    answers.take(answer, {"detail": large.to_json(), "overview": small.to_json()})
    return answer


def test_the_right_answer_is_right(right: Answer) -> None:
    assert answers.check([right]) == 1
    assert right.problem == ""
    assert right.tile is not None


def test_a_wrong_number_is_seen(right: Answer) -> None:
    assert right.values is not None
    right.values = right.values + np.float32(0.001)
    answers.check([right])
    assert right.problem == "wrong numbers in weights"


@pytest.mark.parametrize(
    "other", [{"head": 0}, {"layer": 1}, {"mask": "own"}, {"off": ()}, {"stage": "scores"}]
)
def test_another_picture_is_seen(right: Answer, other: dict[str, object]) -> None:
    right.asked = replace(right.asked, **other)  # type: ignore[arg-type]
    answers.check([right])
    assert right.problem.startswith("wrong")


def test_a_wrong_tile_is_seen(right: Answer) -> None:
    assert right.tile is not None
    right.tile = right.tile.T.copy()
    answers.check([right])
    assert right.problem == "wrong numbers in the overview"


def test_another_persons_answer_is_a_mix_up(right: Answer) -> None:
    theirs = replace(right, person=1)
    mine = replace(right, asked=replace(right.asked, text="a dog ."))
    answers.check([theirs, mine])
    assert theirs.problem == ""
    assert mine.problem.startswith("mix-up")
    (row,) = [row for row in tables.kinds([theirs, mine]) if row["action"] == "mask"]
    assert (row["n"], row["mix-ups"], row["wrong"], row["errors"]) == (2, 1, 0, 0)


def test_people_in_a_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each gets the right answers, also those whose network fails and after a restart."""
    for name, model in MODELS.items():
        write(tmp_path / "models" / name, model)
    monkeypatch.setenv("ATTENTION_LAB_HOME", str(tmp_path))
    config_of.cache_clear()
    with Server(tmp_path / "log") as server:
        asyncio.run(server.wait())
        crowd = Crowd(server.address, think=0.3, server=server)
        faults = Faults(crowd, ["cut", "restart"], 9.0)
        asyncio.run(crowd.live(3, 9.0, faults.happen))
    config_of.cache_clear()
    assert answers.check(crowd.answers) >= 3
    assert [answer for answer in crowd.answers if answer.problem] == []
    assert len(crowd.answers) >= 6
    cut, restart = faults.rows
    assert cut["said"].startswith("10 of 10")
    assert (restart["people cut off"], restart["errors after"]) == (3, 0)
    assert "Traceback" not in server.logged
    assert crowd.use().rss == 0  # it has ended
