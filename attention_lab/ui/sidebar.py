"""What every page shares: the model, its mask, and what is switched off."""

from dataclasses import dataclass

import streamlit as st

from attention_lab.config import ModelConfig
from attention_lab.errors import LabError
from attention_lab.i18n import _
from attention_lab.ui import link, mask_control, pull
from attention_lab.ui.asking import ask
from attention_lab.ui.look_up import look_up
from attention_lab.ui.markup import plain
from attention_lab.ui.runs import load_model
from attention_lab.zoo import store
from attention_lab.zoo.loaded import Model
from attention_lab.zoo.registry import ENTRIES, entry

FIRST_CHOICE = ("minilm", "translator-en-zh", "smollm2")


@dataclass(frozen=True)
class Shared:
    """The sidebar's choices. `mask` is None for the model's own."""

    model: Model
    mask: str | None
    off: tuple[str, ...]


def available() -> list[str]:
    """The models that can be chosen, the first choice first."""
    return [name for name in FIRST_CHOICE if look_up(name, store.place(name))]


def sidebar(mask: bool = True) -> Shared | None:
    """Draw the shared controls. None, with a message on the page, when no model can be used.

    Without `mask` the page draws the control of the mask itself, see `mask_control`.
    """
    here = available()
    missing = [name for name in FIRST_CHOICE if name not in here and not entry(name).is_bundled]
    if not here:
        st.info(_("No model is here yet. Pull one to begin; it stays for later."))
        pull.offer(missing)
        return None
    with st.sidebar:
        model = _load(_pick(here))
        if isinstance(model, Model):
            card(model)
            mask_control.restore()
            if mask:
                mask_control.mask_control()
            off = _off(model.config, mask)
        pull.offer(missing)
    if isinstance(model, LabError):
        text = _("{error} Choose another model, or remove this one and pull it again.")
        st.error(plain(text.format(error=model)))
        return None
    return Shared(model, mask_control.chosen(), off)


def _pick(here: list[str]) -> str:
    link.restore("model", here, here[0])
    return st.selectbox(
        _("Model"),
        here,
        key="model",
        persist_state="session",
        format_func=_describe,
        on_change=_forget_places,
    )


def _load(name: str) -> Model | LabError:
    try:
        return ask(_("Loading the model …"), load_model, name)
    except LabError as error:
        return error


def _describe(name: str) -> str:
    """A model in the picker: name, whether it is trained, and its size on disk."""
    found = look_up(name, store.place(name))
    if found is None or found.is_trained is None:
        return _("{name} · cannot be read").format(name=name)
    trained = _("trained") if found.is_trained else _("untrained")
    text = _("{name} · {trained} · {size:.0f} MB")
    return text.format(name=name, trained=trained, size=found.megabytes)


def _forget_places() -> None:
    """Layers and heads of one model mean nothing in another."""
    link.forget("layer", "head", "part", "off", "cells")


def card(model: Model) -> None:
    """What kind of model this is, in one line."""
    config = model.config
    text = _(
        "{title}: {kind}, {parameters:.1f} M parameters, {layers} layers of {heads} heads, "
        "{trained}; {licence}"
    )
    trained = _("trained") if model.card.trained else _("untrained")
    st.caption(
        text.format(
            title=model.card.title,
            trained=trained,
            kind=_(ENTRIES[model.name].kind),
            parameters=model.n_parameters / 1e6,
            layers=config.n_layers,
            heads=config.n_heads,
            licence=model.card.licence,
        )
    )


def _off(config: ModelConfig, with_mask: bool) -> tuple[str, ...]:
    places = [place for site in config.sites for place in _places(site, config.n_heads)]
    link.restore_list("off", places)
    off = st.multiselect(
        _("Switched off"),
        places,
        key="off",
        persist_state="session",
        format_func=place_name,
        placeholder=_("nothing"),
        help=_("Heads, or all heads of a layer, whose contribution is set to zero."),
    )
    if (with_mask and st.session_state.get("mask", "own") != "own") or off:
        st.button(
            _("Put everything back"),
            icon=":material/undo:",
            on_click=put_back,
            width="stretch",
            type="primary",
        )
    return tuple(off)


def put_back() -> None:
    """The model as it was trained: its own mask, nothing switched off."""
    st.session_state["mask"], st.session_state["off"] = "own", []
    st.session_state["cells"] = ""


def toggle_off(place: str) -> None:
    """Switch a place off, or on again."""
    off = list(st.session_state.get("off", []))
    off.remove(place) if place in off else off.append(place)
    st.session_state["off"] = off


def place_name(place: str) -> str:
    """ "encoder.3.self:1" in words."""
    site, colon, head = place.partition(":")
    _stack, layer, part = site.split(".")
    names = {
        "self": _("layer {layer}, head {head}"),
        "cross": _("cross-attention of layer {layer}, head {head}"),
    }
    all_heads = {
        "self": _("layer {layer}, all heads"),
        "cross": _("cross-attention of layer {layer}, all heads"),
    }
    return (names if colon else all_heads)[part].format(layer=layer, head=head)


def _places(site: str, n_heads: int) -> list[str]:
    return [site, *(f"{site}:{head}" for head in range(n_heads))]
