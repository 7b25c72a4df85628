"""`streamlit run`, with every forward pass of a model noted as one byte in a file.

python -m benchmarks.serve COUNT_FILE SCRIPT [STREAMLIT OPTIONS]
"""

import sys
from pathlib import Path
from typing import Any

from streamlit.web import cli

from attention_lab.model.transformer import Output, Transformer


def main() -> None:
    """Serve until stopped."""
    count, script, *options = sys.argv[1:]
    forward = Transformer.forward

    def counted(self: Transformer, *inputs: Any, **settings: Any) -> Output:
        with Path(count).open("ab") as file:
            file.write(b".")
        return forward(self, *inputs, **settings)

    Transformer.forward = counted  # type: ignore[method-assign]
    sys.argv = ["streamlit", "run", script, *options]
    cli.main()


if __name__ == "__main__":
    main()
