"""The learning rate of "Attention Is All You Need", section 5.3."""


def learning_rate(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    """factor · d_model^-0.5 · min(step^-0.5, step · warmup^-1.5); steps count from 1.

    It rises in a line for `warmup` steps and then falls with the root of the step.
    """
    return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
