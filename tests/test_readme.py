"""What the README says is so: its Python example runs, its variables and commands exist."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from attention_lab.config import Limits

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()


@pytest.mark.pulled
def test_the_python_example_runs(minilm: object) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(example.replace("trace.tokens[2].text", "found = trace.tokens[2].text"), names)
    assert names["found"] == "cat"


def test_every_limit_stands_in_the_table_with_its_default() -> None:
    table = re.findall(r"\| `ATTENTION_LAB_(\w+)` \| (\d+) \|", README)
    assert {(name.lower(), int(value)) for name, value in table} == {
        (field.name, field.default) for field in fields(Limits)
    }


def test_every_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"make ([a-z][a-z-]*)", README))
    assert {"run", "test"} <= targets <= set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


def test_every_path_of_the_file_tree_exists() -> None:
    (tree,) = re.findall(r"```\n(app\.py.*?)```", README, re.DOTALL)
    for line in tree.splitlines():
        folder = ROOT / "attention_lab" if line.startswith(" ") else ROOT
        for name in re.findall(r"(?<!\S)[\w/]+(?:\.py|/)(?!\S)", line):
            assert (folder / name).exists(), name
