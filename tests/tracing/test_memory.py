"""A trace that nobody holds any more is gone at once, without a garbage collection."""

import gc
import weakref

import pytest

import attention_lab as lab
from tests.factories import tiny_model


@pytest.mark.parametrize("position", [None, "alibi", "none"])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "encoder-decoder"])
def test_a_trace_is_freed_at_once(kind: str, position: str | None) -> None:
    """The app collects garbage rarely: rings of references would keep many old traces for long."""
    model = tiny_model(kind)  # type: ignore[arg-type]
    edits = [lab.ablate("*", head=1), *([lab.position(position)] if position else [])]  # type: ignore[arg-type]
    target = "a dog" if kind == "encoder-decoder" else None
    trace = lab.trace(model, "the cat sat", target, "causal", edits)
    gc.collect()
    gc.disable()
    try:
        for site in trace.sites:
            assert trace[site].masked_scores.size
            assert trace[site].result.size
        site = trace.sites[0]
        assert lab.figures.heatmap(trace, site).to_dict()
        assert lab.figures.overview(trace, f"{site.split('.')[0]}.self").to_dict()
        gone = weakref.ref(trace)
        del trace
        assert gone() is None
    finally:
        gc.enable()
