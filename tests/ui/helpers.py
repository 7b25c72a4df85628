"""The app as a session sees it: its widgets by name, its pictures decoded."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import plotly.io as pio
from streamlit.testing.v1 import AppTest

from tests.figures.helpers import read

APP = str(Path(__file__).parents[2] / "app.py")
SENTENCE = "the animal did not cross the street because it was too tired ."


class Explore:
    """One person's Explore page."""

    def __init__(self, link: Mapping[str, str | list[str]] | None = None) -> None:
        self.app = AppTest.from_file(APP, default_timeout=60)
        for key, value in (link or {}).items():
            self.app.query_params[key] = value
        self.run()

    def run(self) -> "Explore":
        """Run the page again; a traceback is never right."""
        self.app.run()
        assert not self.app.exception, self.app.exception[0].stack_trace
        return self

    def set(self, **values: Any) -> "Explore":
        """Set widgets by their keys, one after another, and run after each."""
        for key, value in values.items():
            self.widget(key).set_value(value)
            self.run()
        return self

    def click(self, key: str) -> "Explore":
        """Press a button by its key, or by its label."""
        buttons = [b for b in self.app.button if key in (b.key, b.label)]
        assert len(buttons) == 1, [(b.key, b.label) for b in self.app.button]
        buttons[0].click()
        return self.run()

    def widget(self, key: str) -> Any:
        """The widget of that key."""
        app = self.app
        groups = (
            *(app.text_input, app.selectbox, app.number_input, app.multiselect, app.toggle),
            app.segmented_control,
        )
        found = [widget for group in groups for widget in group if widget.key == key]
        assert len(found) == 1, f"{len(found)} widgets have the key {key}"
        return found[0]

    def shows(self, key: str) -> bool:
        """Whether there is a widget of that key."""
        return any(getattr(element, "key", None) == key for element in self.app.main) or any(
            getattr(element, "key", None) == key for element in self.app.sidebar
        )

    @property
    def link(self) -> dict[str, str | list[str]]:
        """The page's part of the address."""
        return dict(self.app.query_params)

    @property
    def texts(self) -> str:
        """All that the page says, without escapes."""
        app = self.app
        groups = (app.markdown, app.caption, app.info, app.warning, app.error, app.title)
        said = [element.value for group in groups for element in group]
        return "\n".join(said).replace("\\", "").replace("\u2060", "")

    @property
    def charts(self) -> list[Any]:
        """The Plotly charts: overview and detail."""
        return list(self.app.get("plotly_chart"))

    def figure(self, number: int) -> dict[str, Any]:
        """A chart's figure with its arrays decoded: 0 is the overview, 1 the large one."""
        return read(pio.from_json(self.charts[number].proto.spec, skip_invalid=False))

    @property
    def values(self) -> np.ndarray:
        """The numbers of the large picture."""
        values: np.ndarray = self.figure(1)["data"][0]["z"]
        return values

    @property
    def labels(self) -> list[str]:
        """The tokens down the large picture."""
        labels: list[str] = self.figure(1)["layout"]["yaxis"]["ticktext"]
        return labels


def run(app: AppTest) -> AppTest:
    """Run a page again; a traceback is never right."""
    app.run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def said(app: AppTest) -> str:
    """All that a page says, without escapes."""
    groups = (app.markdown, app.caption, app.info, app.success, app.warning, app.error, app.title)
    texts = "\n".join(element.value for group in groups for element in group)
    return texts.replace("\\", "").replace("\u2060", "")
