"""The image's lock file: in step with requirements.txt, complete, and every file by its hash."""

import re
from importlib.metadata import PackageNotFoundError, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts import lock

TEXT = lock.LOCK.read_text()
PINS = re.compile(r"^([\w.-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M)
LOCKED = {canonicalize_name(name): version for name, version, _ in PINS.findall(TEXT)}
IMAGE = {"python_version": "3.11", "python_full_version": "3.11.15", "sys_platform": "linux"}


def pins(file: str) -> dict[str, str]:
    lines = (lock.ROOT / file).read_text().splitlines()
    found = [Requirement(line) for line in lines if "==" in line and not line.startswith("#")]
    return {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each in found}


def test_every_line_is_a_pin_with_its_hashes_or_a_comment() -> None:
    rest = PINS.sub("", TEXT)
    assert [line for line in rest.splitlines() if line and not line.lstrip().startswith("#")] == []
    assert len(LOCKED) == len(PINS.findall(TEXT)) > 50


def test_it_has_exactly_the_pins_of_the_requirements() -> None:
    wanted = pins("requirements.txt")
    wanted["torch"] += "+cpu"
    assert {name: LOCKED.get(name) for name in wanted} == wanted, "Run `make lock`."


def test_all_that_is_needed_is_in_it() -> None:
    """As the packages that are installed here say what they need."""
    needed = set(pins("requirements.txt"))
    waiting = list(needed)
    while waiting:
        name = waiting.pop()
        try:
            words = requires(name) or []
        except PackageNotFoundError:
            pytest.fail(f"{name} is needed and not installed")
        for requirement in map(Requirement, words):
            other = canonicalize_name(requirement.name)
            marker = requirement.marker
            applies = not marker or marker.evaluate({**IMAGE, "extra": ""})
            if applies and other not in needed:
                needed.add(other)
                waiting.append(other)
    assert needed - set(LOCKED) == set()


def test_torch_is_the_cpu_build_for_both_architectures() -> None:
    (hashes,) = [found for name, _, found in PINS.findall(TEXT) if name == "torch"]
    assert len(hashes.splitlines()) >= 2


def test_no_address_is_written_down() -> None:
    assert "://" not in TEXT
    assert "--index" not in TEXT
    assert "--find-links" not in TEXT


A, B, C = (f"    --hash=sha256:{letter * 64}" for letter in "abc")


def test_hashes_of_the_same_torch_are_kept() -> None:
    old = f"torch==2.0.0+cpu \\\n{A} \\\n{B}\n    # via x\ntqdm==1 \\\n{A}\n"
    new = f"torch==2.0.0+cpu \\\n{C}\n    # via x\ntqdm==2 \\\n{B}\n"
    kept = lock.keep_torch(new, old)
    assert kept == f"torch==2.0.0+cpu \\\n{A} \\\n{B} \\\n{C}\n    # via x\ntqdm==2 \\\n{B}\n"
    assert lock.keep_torch(kept, kept) == kept


def test_hashes_of_another_torch_are_dropped() -> None:
    new = f"torch==2.1.0+cpu \\\n{C}\n"
    assert lock.keep_torch(new, f"torch==2.0.0+cpu \\\n{A}\n") == new
    assert lock.keep_torch(new, "") == new


def test_only_torch_becomes_the_cpu_build() -> None:
    assert lock.cpu_only("torch==2.13.0\ntorchx==1.0\n") == "torch==2.13.0+cpu\ntorchx==1.0\n"
