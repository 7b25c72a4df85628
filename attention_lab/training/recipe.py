"""Everything that decides how a training run goes, in one frozen record."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from attention_lab.config import ModelConfig
from attention_lab.errors import ModelError
from attention_lab.i18n import _


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The translator's recipe; two runs with equal recipes and data do the same steps."""

    seed: int = 0
    english_vocabulary: int = 5_000
    chinese_vocabulary: int = 3_500
    d_model: int = 256
    n_layers: int = 3  # a side
    n_heads: int = 8
    dropout: float = 0.2  # embeddings, and what each sublayer adds
    inner_dropout: float = 0.0  # attention weights, and inside the feed-forward net
    label_smoothing: float = 0.1
    r_drop: float = 0.0  # weight of the agreement of two dropout masks; 0: one mask, half the work
    subword_dropout: float = 0.1
    rewrite: float = 0.1  # share of sentences seen in another spelling ("do not", no full stop)
    join: float = 0.1  # share of sentences that are seen together with another one …
    plain_epochs: int = 20  # … after so many epochs without
    batch_tokens: int = 2_400  # a side, with padding
    warmup: int = 1_000  # steps
    lr_factor: float = 0.4
    cool_from: int = 25  # epochs; from then on lr_factor is times cool_factor
    cool_factor: float = 0.3
    clip: float = 1.0  # the gradient's largest norm
    n_average: int = 5  # epochs whose parameters are averaged
    bf16: bool = True

    def config(self, d_vocab: int, d_vocab_target: int) -> ModelConfig:
        """The architecture of "Attention Is All You Need", section 3, in this recipe's size."""
        return ModelConfig(
            kind="encoder-decoder",
            d_vocab=d_vocab,
            d_vocab_target=d_vocab_target,
            d_model=self.d_model,
            n_layers=self.n_layers,
            n_heads=self.n_heads,
            n_kv_heads=self.n_heads,
            d_head=self.d_model // self.n_heads,
            d_ff=4 * self.d_model,
            max_positions=512,
            norm_place="post",
            activation="relu",
            position="sinusoidal",
            embed_scale=True,
            final_norm=False,
            tie_embeddings=True,
            dropout=self.dropout,
        )

    def to_json(self) -> str:
        """The recipe as JSON, the inverse of `from_json`."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Recipe":
        """Read what `to_json` wrote. Raises `ModelError` on anything else."""
        try:
            values: dict[str, Any] = json.loads(text)
            return cls(**values)
        except (ValueError, TypeError) as error:
            message = _("The run's recipe.json cannot be read: {error}.").format(error=error)
            raise ModelError(message) from error
