"""The benchmarks' cores run, on a tiny model; nothing here looks at a time."""

import json
from pathlib import Path

import pytest
from plotly.io import from_json
from streamlit.proto.PlotlyChart_pb2 import PlotlyChart

import attention_lab as lab
from attention_lab import figures
from benchmarks import capture, measure, picture
from tests.factories import tiny_model

BERT = {
    "norm_place": "post", "norm_eps": 1e-12, "activation": "gelu", "position": "learned",
    "n_segments": 2, "embed_norm": True, "final_norm": False,
}  # fmt: skip
LLAMA = {
    "norm": "rms", "activation": "silu_gated", "position": "rotary", "n_kv_heads": 2,
    "attention_bias": False, "mlp_bias": False, "tie_embeddings": True,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_contenders_compute_the_same(kind: str) -> None:
    """Row by row: ours and transformers', with the same parameters."""
    model = tiny_model(kind, **(BERT if kind == "encoder" else LLAMA))  # type: ignore[arg-type]
    functions, _why = capture.contenders(model)
    capture.check(model, functions, capture.text_of(model, 9))
    assert len(lab.trace(model, capture.text_of(model, 9)).tokens) == 9


def test_a_picture_is_counted_as_it_is_sent() -> None:
    trace = lab.trace(tiny_model(), "the cat sat")
    figure = figures.overview(trace, "encoder.self")
    sent = PlotlyChart.FromString(picture.message(figure))
    assert from_json(sent.spec).to_dict() == from_json(figure.to_json()).to_dict()


def test_every_function_runs_in_every_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    order: list[str] = []
    ticks = iter(range(0, 10**9, 1_000_000))
    times = measure.alternate(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 3, lambda: next(ticks)
    )
    assert order == ["a", "b"] * 4  # a round for what happens only the first time
    assert times == {"a": 1.0, "b": 1.0}
    measure.report("test", "Test", [times], ["A note."])
    assert json.loads((tmp_path / "test.json").read_text())["rows"] == [times]
    assert "A note." in capsys.readouterr().out
