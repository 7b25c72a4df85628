"""Keys and values of the tokens already read, so that decoding reads each token once."""

import torch
from jaxtyping import Float
from torch import Tensor

KeyOrValue = Float[Tensor, "_batch _kv_head _key _d_head"]  # _: lengths differ between steps


class KeyValueCache:
    """One (keys, values) pair per attention site; grows by one step with every forward."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[KeyOrValue, KeyOrValue]] = {}
        self.length = 0  # decoder positions read so far

    def get(self, site: str) -> tuple[KeyOrValue, KeyOrValue] | None:
        """What was stored for `site`, if anything."""
        return self._entries.get(site)

    def put(self, site: str, k: KeyOrValue, v: KeyOrValue) -> None:
        """Keep all keys and values of a site that never grows (cross-attention)."""
        self._entries[site] = (k, v)

    def append(self, site: str, k: KeyOrValue, v: KeyOrValue) -> tuple[KeyOrValue, KeyOrValue]:
        """Add the new positions of `site` and return all of them."""
        past = self._entries.get(site)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        self._entries[site] = (k, v)
        return k, v

    def select(self, rows: Tensor) -> None:
        """Keep the given rows of the batch, in the given order (beam search)."""
        self._entries = {site: (k[rows], v[rows]) for site, (k, v) in self._entries.items()}
