"""The walls of the design: imports point one way, and what run-time code never touches."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Each part may import what stands to its left, and itself.
ORDER = (
    *("errors", "i18n", "config", "labels", "tokens", "model", "zoo"),
    *("tracing", "generation", "beam", "training", "analysis", "walk", "clinic"),
    *("figures", "__init__", "__main__", "ui", "pages"),
)
PACKAGE = sorted((ROOT / "attention_lab").rglob("*.py"))
SCRIPTS = [*ROOT.glob("app.py"), *sorted((ROOT / "pages").glob("*.py"))]
FORBIDDEN_MODULES = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}


def imports(source: str, module: str) -> Iterator[str]:
    """The absolute name of everything that `module` imports, at any depth of its code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = module.split(".")[: -node.level] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{start}.{alias.name}" for alias in node.names)


def name_of(path: Path) -> str:
    """ "attention_lab.zoo.cli" for its file; a package's is "attention_lab.zoo.__init__"."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def part(name: str) -> str | None:
    """The part of the project that a dotted name belongs to; None: not the project's."""
    first, *rest = name.split(".")
    if first == "attention_lab":
        # `from attention_lab import load` asks the package's own __init__.
        return rest[0] if rest and rest[0] in ORDER else "__init__"
    return "pages" if first in {"pages", "app"} else None


def pinned(file: str) -> set[str]:
    """The names under which what a requirements file lists is imported."""
    lines = (ROOT / file).read_text().splitlines()
    wanted = {re.split(r"[=\[]", line)[0].lower() for line in lines if "==" in line}
    return {
        top
        for top, owners in packages_distributions().items()
        if wanted & {owner.lower().replace("_", "-") for owner in owners}
    }


def loaded_after(names: set[str], without: Collection[str] = ()) -> set[str]:
    """All modules that a new interpreter holds after importing `names`, some packages missing."""
    code = (
        "import importlib, json, sys\n"
        "names, without = json.loads(sys.argv[1])\n"
        "sys.modules.update(dict.fromkeys(without))\n"
        "for name in names: importlib.import_module(name)\n"
        "print(json.dumps([name for name, module in sys.modules.items() if module]))"
    )
    command = [sys.executable, "-c", code, json.dumps([sorted(names), sorted(without)])]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    loaded = set(json.loads(run.stdout.splitlines()[-1]))
    assert names <= loaded
    return loaded


def against_the_flow(source: str, module: str) -> list[str]:
    """What `module` imports from a part to the right of its own."""
    here = ORDER.index(part(module) or "")
    return [
        f"{module} imports {name}"
        for name in imports(source, module)
        if (other := part(name)) and ORDER.index(other) > here
    ]


def unsafe(source: str) -> list[str]:
    """Ways to run code that came as data: pickles, `torch.load`, `eval`, `exec`."""
    found = [name for name in imports(source, "") if name.split(".")[0] in FORBIDDEN_MODULES]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in {"eval", "exec", "torch.load"} or called.endswith(".read_pickle"):
                found.append(called)
            found += [
                f"{word.arg}={ast.unparse(word.value)}"
                for word in node.keywords
                if word.arg == "allow_pickle" and ast.unparse(word.value) != "False"
            ]
    return found


MODULES = {name_of(path).removesuffix(".__init__") for path in PACKAGE}
APP_IMPORTS = {
    name.rpartition(".")[0] or name
    for path in SCRIPTS
    for name in imports(path.read_text(), name_of(path))
}


@pytest.mark.parametrize(
    ("source", "module", "wrong"),
    [
        ("from attention_lab.config import Limits", "attention_lab.tokens", 0),
        ("from attention_lab.figures import heatmap", "attention_lab.tokens", 1),
        ("def f():\n    import attention_lab.ui.state", "attention_lab.zoo.cli", 1),
        ("from attention_lab import tracing", "attention_lab.zoo.cli", 1),
        ("import attention_lab as lab", "attention_lab.zoo.cli", 1),
        ("import attention_lab as lab", "attention_lab.ui.state", 0),
        ("from ..tracing import trace", "attention_lab.zoo.cli", 1),
        ("from .cache import Cache", "attention_lab.model.attention", 0),
        ("import app", "attention_lab.ui.state", 1),
    ],
)
def test_the_check_sees_imports_of_every_form(source: str, module: str, wrong: int) -> None:
    assert len(against_the_flow(source, module)) == wrong


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("import pickle", 1),
        ("from joblib import load", 1),
        ("eval(text)", 1),
        ("torch.load(path)", 1),
        ("np.load(path, allow_pickle=True)", 1),
        ("np.load(path, allow_pickle=False)", 0),
        ("model.eval(); np.load(path); json.load(file)", 0),
    ],
)
def test_the_check_sees_unsafe_calls(source: str, wrong: int) -> None:
    assert len(unsafe(source)) == wrong


def test_every_module_has_its_place_in_the_order() -> None:
    unknown = {name_of(path).split(".")[1] for path in PACKAGE} - set(ORDER)
    assert not unknown, f"Give these a place in ORDER: {sorted(unknown)}."


def test_imports_point_one_way() -> None:
    wrong = [line for path in PACKAGE for line in against_the_flow(path.read_text(), name_of(path))]
    assert not wrong, "\n".join(wrong)


def test_only_the_pages_and_ui_import_streamlit() -> None:
    wrong = [
        name_of(path)
        for path in PACKAGE
        if part(name_of(path)) != "ui"
        and any(name.split(".")[0] == "streamlit" for name in imports(path.read_text(), "x"))
    ]
    assert not wrong


def test_nothing_at_run_time_runs_data_as_code() -> None:
    wrong = {name_of(p): found for p in [*PACKAGE, *SCRIPTS] if (found := unsafe(p.read_text()))}
    assert not wrong


def test_every_import_is_the_standard_library_or_in_requirements() -> None:
    """Training and evaluation from the command line may use requirements-dev.txt as well."""
    allowed = {*sys.stdlib_module_names, "attention_lab", "pages", *pinned("requirements.txt")}
    wrong = set()
    for path in [*PACKAGE, *SCRIPTS]:
        module = name_of(path)
        more = pinned("requirements-dev.txt") if part(module) == "training" else set()
        tops = {name.split(".")[0] for name in imports(path.read_text(), module)}
        wrong |= {f"{module} imports {top}" for top in tops - allowed - more}
    assert not wrong


def test_no_module_reaches_transformers() -> None:
    assert "transformers" not in loaded_after(MODULES | APP_IMPORTS)


def test_the_app_starts_without_the_development_packages() -> None:
    assert APP_IMPORTS
    development = pinned("requirements-dev.txt") - pinned("requirements.txt")
    assert "pytest" in development
    loaded_after(APP_IMPORTS, without=development)
