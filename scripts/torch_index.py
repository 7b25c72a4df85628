"""Print the pip option that adds PyTorch's CPU-only index, or nothing where it is of no use.

On Linux, PyPI's torch brings gigabytes of CUDA libraries. Without an NVIDIA GPU they are dead
weight, so the CPU index is used if it answers. `TORCH_INDEX` names another index; empty: none.
"""

import os
import shutil
import sys
import threading
import urllib.request
from pathlib import Path

DEFAULT = "https://download.pytorch.org/whl/cpu"


def has_nvidia_gpu() -> bool:
    """Whether NVIDIA's driver is there."""
    return bool(shutil.which("nvidia-smi")) or Path("/proc/driver/nvidia/version").exists()


def answers(index: str, seconds: float = 5.0) -> bool:
    """Whether `index` lists torch, found out within `seconds`."""
    found = threading.Event()

    def probe() -> None:
        try:
            request = urllib.request.Request(f"{index.rstrip('/')}/torch/", method="HEAD")
            with urllib.request.urlopen(request, timeout=seconds):
                found.set()
        except (OSError, ValueError):
            return

    # A slow name server ignores urlopen's timeout; a daemon thread can be left behind.
    thread = threading.Thread(target=probe, daemon=True)
    thread.start()
    thread.join(seconds)
    return found.is_set()


def main() -> None:
    """Print `--extra-index-url URL`, or nothing and the reason on stderr."""
    index = os.environ.get("TORCH_INDEX", DEFAULT)
    if not index or sys.platform != "linux" or has_nvidia_gpu():
        return
    if answers(index):
        print(f"--extra-index-url {index}")
    else:
        print(f"{index} does not answer; torch comes from pip's own index.", file=sys.stderr)


if __name__ == "__main__":
    main()
