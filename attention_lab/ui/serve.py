"""Start the app: `python -m attention_lab.ui.serve [options of streamlit run]`.

The settings are checked first. Then the server starts, and while it does and the page loads in the
browser, the models load too.
"""

import sys
import threading
from pathlib import Path

from streamlit.runtime.pages_manager import PagesManager
from streamlit.web import cli

from attention_lab.config import Limits
from attention_lab.errors import InputError
from attention_lab.ui.log import leave_texts_out
from attention_lab.ui.start import warm_up

APP = Path(__file__).resolve().parents[2] / "app.py"


def main() -> None:
    """Serve until stopped. A setting that cannot be used ends this with a sentence."""
    try:
        Limits.from_environment()
    except InputError as error:
        sys.exit(str(error))
    leave_texts_out()
    # Or a link to a page that opens the first session would run that page alone, and import its
    # modules beside the warm-up, which can see halves of them.
    PagesManager.uses_pages_directory = False
    threading.Thread(target=warm_up, name="warm-up", daemon=True).start()
    sys.argv = ["streamlit", "run", str(APP), *sys.argv[1:]]
    cli.main(prog_name="streamlit")


if __name__ == "__main__":
    main()
