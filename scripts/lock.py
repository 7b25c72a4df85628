"""Write `requirements.lock`: every package of requirements.txt and all that they need, with hashes.

It is for the image: Linux, the image's Python, PyTorch's CPU-only build. `make lock` runs it, with
the index of that build in `--extra-index-url`, or a folder with its wheel in `PIP_FIND_LINKS`.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
HEADER = """\
# Written by `make lock` from requirements.txt: what the image installs, with every file's SHA-256.
# PyTorch's CPU-only build has hashes of its own: those of Linux on x86-64 and on ARM.
"""
TORCH = re.compile(r"^torch==(\S+) \\\n((?: +--hash=\S+(?: \\)?\n)+)", re.MULTILINE)


def cpu_only(requirements: str) -> str:
    """The same requirements with PyTorch's CPU-only build."""
    return re.sub(r"^(torch==[\d.]+)$", r"\1+cpu", requirements, flags=re.MULTILINE)


def keep_torch(new: str, old: str) -> str:
    """`new` with the hashes that `old` has for the same torch: one folder holds one platform's."""
    found, known = TORCH.search(new), TORCH.search(old)
    if not found or not known or found[1] != known[1]:
        return new
    hashes = sorted({*re.findall(r"--hash=\S+", found[2] + known[2])})
    lines = " \\\n".join([f"torch=={found[1]}", *(f"    {value}" for value in hashes)])
    return new.replace(found[0], f"{lines}\n")


def main() -> None:
    """Resolve with uv, whose options are the arguments, and replace the lock file."""
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        "-",
        "--generate-hashes",
        "--no-header",
    ]
    command += ["--python-version", "3.11", "--python-platform", "x86_64-unknown-linux-gnu"]
    command += ["--index-strategy", "unsafe-best-match", "--only-binary", ":all:", *sys.argv[1:]]
    links = os.environ.get("PIP_FIND_LINKS")
    command += ["--find-links", links] if links else []
    old = LOCK.read_text() if LOCK.exists() else ""
    run = subprocess.run(
        command,
        input=cpu_only((ROOT / "requirements.txt").read_text()),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    new = keep_torch(run.stdout, old)
    written = LOCK.with_suffix(".new")
    written.write_text(HEADER + new)
    written.replace(LOCK)


if __name__ == "__main__":
    main()
