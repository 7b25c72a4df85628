"""The formulas of the walk in LaTeX, with the chosen positions and the model's own parts."""

from attention_lab.walk.inputs import Inputs, Norm

MASK = (
    r"\tilde s_{ij}=\begin{cases}s_{ij}&\text{if } i \text{ may attend to } j\\"
    r"-\infty&\text{otherwise}\end{cases}"
)


def residual(inputs: Inputs) -> str:
    """What the site reads."""
    if inputs.pre_norm is None:
        return r"x\in\mathbb{R}^{d_\mathrm{model}}"
    return r"\hat x=\mathrm{norm}(x),\quad x\in\mathbb{R}^{d_\mathrm{model}}"


def projections(inputs: Inputs) -> str:
    """Queries, keys and values; a hat where the norm comes first, c for the encoder's output."""
    x = r"\hat x" if inputs.pre_norm is not None else "x"
    y = "c" if inputs.is_cross else x
    biases = ["+b_Q", "+b_K", "+b_V"] if inputs.b_q.any() else ["", "", ""]
    q, k, v = (f"{s}W_{n}{b}" for s, n, b in zip((x, y, y), "QKV", biases, strict=True))
    if inputs.angles is not None:
        q, k = rf"R_i({q})", rf"R_j({k})"
    return rf"\begin{{aligned}}q&={q}\\k&={k}\\v&={v}\end{{aligned}}"


def one_score(query: int, key: int, d_head: int) -> str:
    """A dot product written out."""
    terms = rf"\sum_{{d=1}}^{{{d_head}}} q_{{{query},d}}\,k_{{{key},d}}"
    return rf"q_{{{query}}}\cdot k_{{{key}}}={terms}"


def scores(inputs: Inputs, d_head: int) -> str:
    """The scaled scores, with the position bias where there is one."""
    bias = "+b_{ij}" if inputs.bias.any() else ""
    return rf"s_{{ij}}=\frac{{q_i\cdot k_j}}{{\sqrt{{{d_head}}}}}{bias}"


def softmax(query: int) -> str:
    """The softmax of the chosen row."""
    top, below = rf"e^{{\tilde s_{{{query},j}}}}", rf"\sum_l e^{{\tilde s_{{{query},l}}}}"
    return rf"w_{{{query},j}}=\frac{{{top}}}{{{below}}}"


def weighted_sum(query: int) -> str:
    """The mix of the values."""
    return rf"z_{{{query}}}=\sum_j w_{{{query},j}}\,v_j"


def concat(n_heads: int) -> str:
    """Heads side by side."""
    return rf"\mathrm{{Concat}}(z^{{(0)}},\dots,z^{{({n_heads - 1})}})"


def output(inputs: Inputs) -> str:
    """The output projection."""
    return r"\mathrm{out}=\mathrm{Concat}(z)\,W_O" + ("+b_O" if inputs.b_o.any() else "")


def norm(which: Norm | None) -> str:
    """The norm after the sum."""
    if which is None:
        return "y=x'"
    if which.bias is None:
        return r"y=\frac{x'}{\sqrt{\mathrm{mean}(x'^2)+\varepsilon}}\,\gamma"
    return r"y=\frac{x'-\mathrm{mean}(x')}{\sqrt{\mathrm{var}(x')+\varepsilon}}\,\gamma+\beta"
