import pytest

from attention_lab.training.schedule import learning_rate


def test_the_papers_values() -> None:
    """d_model 512, 4,000 warm-up steps (section 5.3): its peak is 512^-0.5 · 4000^-0.5."""
    assert learning_rate(4_000, 512, 4_000) == pytest.approx(6.9877e-4, rel=1e-4)
    assert learning_rate(1, 512, 4_000) == pytest.approx(6.9877e-4 / 4_000, rel=1e-4)
    assert learning_rate(2_000, 512, 4_000) == pytest.approx(6.9877e-4 / 2, rel=1e-4)
    assert learning_rate(100_000, 512, 4_000) == pytest.approx(6.9877e-4 / 5, rel=1e-4)


def test_it_rises_then_falls() -> None:
    rates = [learning_rate(step, 256, 100, factor=0.5) for step in range(1, 400)]
    assert rates.index(max(rates)) == 99
    assert rates[:100] == sorted(rates[:100])
    assert rates[99:] == sorted(rates[99:], reverse=True)
    assert learning_rate(7, 256, 100, factor=0.5) == pytest.approx(learning_rate(7, 256, 100) / 2)
