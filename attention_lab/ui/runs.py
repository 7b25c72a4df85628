"""What a page asks the engine for, and the answers, computed once."""

from dataclasses import dataclass, replace

from attention_lab import zoo
from attention_lab.analysis.order import check_order
from attention_lab.beam import Beam, beam_search
from attention_lab.config import Limits, Position
from attention_lab.generation import Generation, greedy, greedy_changed
from attention_lab.tracing.edits import Ablation, Edit, ablate, mask, position
from attention_lab.tracing.record import max_tokens, read_text, trace, trace_ids
from attention_lab.tracing.trace import Trace
from attention_lab.ui.cells import Cell
from attention_lab.ui.keep import MODELS, RESULTS, TRACES
from attention_lab.zoo.loaded import Model

# Of each kind of attention, in a model as it was trained.
OWN_MASKS = {"encoder.self": "none", "decoder.self": "causal", "decoder.cross": "none"}

SMALL = 50_000_000  # parameters of a model whose runs are short
FEW = 400  # characters


@dataclass(frozen=True)
class Request:
    """Everything a trace depends on; the cache is keyed by all of it."""

    model: str
    text: str
    target: str | None = None  # of an encoder-decoder: typed by the user …
    target_ids: tuple[int, ...] | None = None  # … or written by the model
    mask: str | None = None  # None: the model's own
    off: tuple[str, ...] = ()  # "encoder.3.self:1" a head, "encoder.3.self" all heads of the site
    cells: tuple[Cell, ...] = ()  # of the masks: turned over one by one
    position: Position | None = None  # None: the model's own
    start: int = 0  # the position of the first token
    order: tuple[int, ...] | None = None  # at place i stands the text's token order[i]

    @property
    def is_changed(self) -> bool:
        """Whether the run differs from the model as it was trained."""
        return self != self.baseline

    @property
    def baseline(self) -> "Request":
        """The same text through the model as it was trained."""
        return Request(self.model, self.text, self.target, self.target_ids)

    def mask_at(self, part: str) -> str:
        """The name of the mask at a kind of attention such as "decoder.cross"."""
        name = OWN_MASKS[part] if self.mask is None or part.endswith(".cross") else self.mask
        cells = ",".join(f"{cell.query}.{cell.key}" for cell in self.cells if cell.part == part)
        return f"{name}^cells:{cells}" if cells else name

    @property
    def edits(self) -> list[Edit]:
        """What is changed beside the mask of every self-attention."""
        parts = dict.fromkeys(cell.part for cell in self.cells)
        masks = [mask(part.replace(".", ".*."), self.mask_at(part)) for part in parts]
        off = [parse_off(place) for place in self.off]
        return [*masks, *off, position(self.position, self.start)]


@MODELS.kept
def load_model(name: str) -> Model:
    """A model by its registry name, shared by all sessions. Raises `ModelError`."""
    return zoo.load(name)


@TRACES.kept
def run(request: Request) -> Trace:
    """The trace for a request: computed once, also when many ask for it at the same time."""
    model = load_model(request.model)
    # Pages show the output at one place at a time: all of it would be a third of smollm2's run.
    limits = replace(Limits.from_environment(), logit_bytes=0)
    limit = max_tokens(model.config, limits)
    target = request.target if request.target_ids is None else request.target_ids
    if request.order is None:
        return trace(model, request.text, target, request.mask, request.edits, limit, limits)
    tokens = read_text(model, request.text, limit, limits)
    ids = [tokens.ids[place] for place in check_order(request.order, len(tokens))]
    return trace_ids(model, ids, target, request.mask, request.edits, limits)


def is_short(request: Request) -> bool:
    """Whether its run takes some hundredths of a second: a small model and a few sentences."""
    n_characters = len(request.text) + len(request.target or "")
    return n_characters <= FEW and load_model(request.model).n_parameters <= SMALL


@RESULTS.kept
def write(model: str, text: str) -> Generation:
    """What the model writes for a text, greedily."""
    return greedy(load_model(model), text)


@RESULTS.kept
def write_changed(request: Request) -> Generation:
    """The same by the model with the changes of a request."""
    model = load_model(request.model)
    return greedy_changed(model, request.text, request.mask, request.edits)


@RESULTS.kept
def search(model: str, text: str, width: int) -> Beam:
    """What beam search finds for a text."""
    return beam_search(load_model(model), text, width)


def parse_off(place: str) -> Ablation:
    """ "encoder.3.self:1" → head 1 of that site off; "encoder.3.self" → all its heads."""
    site, colon, head = place.partition(":")
    return ablate(site, int(head) if colon else None)
