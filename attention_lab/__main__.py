"""`python -m attention_lab`: models, training and evaluation from the command line."""

import typer

from attention_lab.training.cli import evaluate_app, train_app
from attention_lab.zoo.cli import models_app

app = typer.Typer(
    help="See what a real Transformer's attention does with your own sentence.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)
app.add_typer(models_app, name="models")
app.add_typer(train_app, name="train")
app.add_typer(evaluate_app, name="evaluate")

if __name__ == "__main__":
    app(prog_name="python -m attention_lab")
