"""Start the app: `python -m attention_lab.ui.serve [options of streamlit run]`.

The settings are checked first. Then the server starts, and while it does and the page loads in the
browser, PyTorch and the first model load too.
"""

import os
import sys
import threading
from pathlib import Path

from attention_lab.config import Limits
from attention_lab.errors import InputError

APP = Path(__file__).resolve().parents[2] / "app.py"
# How glibc hands out memory: large pages, and freed memory kept, make a trace a tenth cheaper. One
# heap for all threads instead of one each keeps memory flat: with many, each holds on to its gaps.
MALLOC = ":".join(
    f"glibc.malloc.{setting}"
    for setting in (
        *("hugetlb=1", "arena_max=1"),
        *("trim_threshold=268435456", "mmap_threshold=268435456"),
    )
)


def main() -> None:
    """Serve until stopped. A setting that cannot be used ends this with a sentence."""
    try:
        Limits.from_environment()
    except InputError as error:
        sys.exit(str(error))
    if sys.platform == "linux" and "GLIBC_TUNABLES" not in os.environ:
        # Read when a process begins, so this one begins again; before it has imported much.
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "GLIBC_TUNABLES": MALLOC})
    from streamlit.web import cli

    from attention_lab.ui.log import leave_texts_out
    from attention_lab.ui.start import warm_up

    leave_texts_out()
    threading.Thread(target=warm_up, name="warm-up", daemon=True).start()
    sys.argv = ["streamlit", "run", str(APP), *sys.argv[1:]]
    cli.main(prog_name="streamlit")


if __name__ == "__main__":
    main()
