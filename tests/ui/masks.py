"""The Masks page as a session sees it: with a translator, its widgets, its pictures decoded."""

from typing import Any

import numpy as np
import plotly.io as pio
from streamlit.testing.v1 import AppTest

from attention_lab.ui.keep import RESULTS, TRACES
from attention_lab.zoo import native, store
from tests.factories import tiny_model
from tests.figures.helpers import read
from tests.ui.helpers import APP, SENTENCE, run

PAGE = "pages/masks.py"
TRANSLATOR = tiny_model("encoder-decoder", seed=3)
N = 15  # tokens of the sentence, with [CLS] and [SEP]


def ship_translator() -> None:
    """Put the translator where the bundled one is."""
    folder = store.ASSETS / "translator-en-zh"
    folder.mkdir(parents=True)
    assert TRANSLATOR.target_tokenizer is not None
    state = TRANSLATOR.module.state_dict()
    texts = (TRANSLATOR.tokenizer.to_str(), TRANSLATOR.target_tokenizer.to_str())
    parts = native.Parts(TRANSLATOR.config, state, texts[0], TRANSLATOR.card, texts[1])
    native.write(folder, parts)
    TRACES.cache.clear()
    RESULTS.cache.clear()


def visit(**link: str) -> AppTest:
    """The page, with what its link holds."""
    app = AppTest.from_file(APP, default_timeout=120)
    shared = {"text", "model", "width", "apart", "prefix", "blocks", "globals", "mask"}
    shared |= {"part", "layer", "head", "view"}  # Explore reads these before
    first = {"text": SENTENCE} | {key: link[key] for key in shared & link.keys()}
    for key, value in first.items():
        app.query_params[key] = value
    app.run()
    for key, value in link.items():
        app.query_params[key] = value
    app.switch_page(PAGE)
    return run(app)


def choose(app: AppTest, **values: Any) -> AppTest:
    """Set widgets by their keys, one after another."""
    for key, value in values.items():
        groups = (app.selectbox, app.number_input, app.text_input, app.segmented_control)
        (widget,) = [w for group in groups for w in group if w.key == key]
        widget.set_value(value)
        run(app)
    return app


def press(app: AppTest, key: str) -> AppTest:
    """Press a button."""
    app.button(key=key).click()
    return run(app)


def link(app: AppTest) -> dict[str, str]:
    """What the link holds."""
    found = {key: app.query_params[key] for key in app.query_params}
    return {key: value if isinstance(value, str) else value[0] for key, value in found.items()}


def figure(app: AppTest, alt: str) -> dict[str, Any]:
    """The picture whose description holds `alt`, decoded."""
    charts = [chart for chart in app.get("plotly_chart") if alt in chart.proto.alt]
    assert len(charts) == 1, [chart.proto.alt for chart in app.get("plotly_chart")]
    return read(pio.from_json(charts[0].proto.spec, skip_invalid=False))


def mask(app: AppTest) -> np.ndarray:
    """The mask in the large picture."""
    return np.array(figure(app, "The mask as a heatmap")["data"][0]["z"]).astype(bool)


def weights(app: AppTest) -> np.ndarray:
    """The weights in the large picture, closed cells as 0."""
    return np.nan_to_num(figure(app, "weights, as a heatmap")["data"][0]["z"])
