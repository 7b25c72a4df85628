"""The training loop: Adam, the paper's schedule, clipping, checkpoints, averaging, resuming."""

import json
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn, optim

from attention_lab.errors import ModelError
from attention_lab.i18n import _
from attention_lab.model.transformer import Transformer
from attention_lab.training import checkpoints, dropout
from attention_lab.training.batches import PAD_ID, Batch
from attention_lab.training.loss import r_drop_loss, smoothed_loss
from attention_lab.training.recipe import Recipe
from attention_lab.training.schedule import learning_rate

Epoch = Callable[[int], list[Batch]]  # the batches of an epoch, a function of its number alone


@dataclass(frozen=True)
class Step:
    """One optimiser step, as the log and the progress bar show it."""

    step: int
    epoch: int
    loss: float  # nats a token, smoothed; with R-Drop its term is included
    learning_rate: float
    gradient_norm: float  # before clipping
    tokens_per_second: float


@dataclass
class State:
    """Where a run is; saved with every checkpoint."""

    epoch: int = 0
    batch: int = 0  # the next one of this epoch
    step: int = 0
    seconds: float = 0.0  # spent in training, over all resumes
    best_loss: float = math.inf
    best_epoch: int = -1
    epochs: list[dict[str, int | float]] = field(default_factory=list)


def initialise(module: nn.Module, d_model: int) -> None:
    """Xavier-uniform matrices, zero biases; embeddings N(0, 1/d_model), as √d_model scales them.

    Values and outputs start at half that: post-norm halves what passes by a sublayer otherwise, and
    the first layers of a stack hardly learn (Liu et al. 2020, "Understanding the difficulty …").
    """
    for name, child in module.named_modules():
        if isinstance(child, nn.Linear):
            nn.init.xavier_uniform_(child.weight)
            if name.endswith(("w_v", "w_o", "w_in", "w_out")):
                child.weight.data *= 0.5
            if child.bias is not None:
                nn.init.zeros_(child.bias)
        elif isinstance(child, nn.Embedding):
            nn.init.normal_(child.weight, std=d_model**-0.5)


def token_logits(module: Transformer, batch: Batch, copies: int = 1) -> tuple[Tensor, Tensor]:
    """Logits and labels at every place that is no padding: (token, d_vocab) and (token,).

    With `copies` = 2 the batch goes through twice, and the logits come twice.
    """
    source, target = batch.source.repeat(copies, 1), batch.target.repeat(copies, 1)
    real_source = (source != PAD_ID)[:, None, None, :]
    output = module(source, target, mask=real_source, cross_mask=real_source, logits=False)
    real = batch.labels != PAD_ID
    logits = module.to_logits(output.hidden[real.repeat(copies, 1)])
    assert logits is not None
    return logits, batch.labels[real]


@torch.inference_mode()
def mean_loss(module: Transformer, batches: list[Batch]) -> float:
    """Mean cross-entropy in nats a token, without smoothing or dropout."""
    was_training = module.training
    module.eval()
    total, n = 0.0, 0
    for batch in batches:
        logits, labels = token_logits(module, batch)
        total += float(smoothed_loss(logits, labels, 0.0)) * len(labels)
        n += len(labels)
    module.train(was_training)
    return total / n


class Run:
    """A training run in a folder. Made anew it starts; made on a folder with a checkpoint and
    `resume` it goes on where that checkpoint stands, with the same data order and schedule."""

    def __init__(
        self,
        module: Transformer,
        recipe: Recipe,
        epoch_batches: Epoch,
        valid: list[Batch],
        folder: Path,
        resume: bool = False,
        threads: int = 2,
    ) -> None:
        self.module, self.recipe, self.folder = module, recipe, folder
        self.epoch_batches, self.valid = epoch_batches, valid
        self.state = State()
        self.batches_in_epoch = 1
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(recipe.seed)
        initialise(module, recipe.d_model)
        dropout.use_byte_dropout(module, recipe.dropout, recipe.inner_dropout)
        self.threads = threads
        self._trained = tuple(module.parameters())
        self._pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
        self.optimizer = optim.Adam(self._trained, lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
        if resume:
            self._resume()
        elif (folder / "checkpoint.safetensors").exists():
            message = _(
                "{folder} already holds a run; go on with --resume or choose another --out."
            )
            raise ModelError(message.format(folder=folder))

    def steps(self, epochs: int, seconds: float, save_every: float = 180.0) -> Iterator[Step]:
        """Train until `epochs` epochs or `seconds` seconds of training in all, yielding each step.

        Saves every `save_every` seconds, after each epoch and at the end.
        """
        self.module.train()
        saved = self.state.seconds
        while self.state.epoch < epochs and self.state.seconds < seconds:
            batches = self.epoch_batches(self.state.epoch)
            self.batches_in_epoch = len(batches)
            while self.state.batch < len(batches):
                if self.state.seconds >= seconds:
                    break
                began = time.monotonic()
                batch = batches[self.state.batch]
                loss, norm = self._step(batch)
                self.state.batch += 1
                spent = time.monotonic() - began
                self.state.seconds += spent
                step = Step(
                    self.state.step,
                    self.state.epoch,
                    loss,
                    self._rate(),
                    norm,
                    batch.tokens / spent,
                )
                self._log(asdict(step))
                yield step
                if self.state.seconds - saved > save_every:
                    self.save()
                    saved = self.state.seconds
            else:
                self._end_epoch()
            self.save()
            saved = self.state.seconds

    def save(self) -> None:
        """Write the checkpoint that `resume` reads."""
        path = self.folder / "checkpoint.safetensors"
        checkpoints.write_tensors(
            path, checkpoints.pack(self.module, self.optimizer), asdict(self.state)
        )

    def _rate(self) -> float:
        recipe = self.recipe
        cool = recipe.cool_factor if self.state.epoch >= recipe.cool_from else 1.0
        factor = recipe.lr_factor * cool
        return learning_rate(self.state.step, recipe.d_model, recipe.warmup, factor)

    def _step(self, batch: Batch) -> tuple[float, float]:
        """One update; the batch's shards run side by side, a thread each.

        Two threads that meet once a step beat two that meet in every operation, above all on a
        machine that others use too. Dropout draws from the number of step and shard, so that a
        resumed run draws what an undisturbed one draws.
        """
        self.state.step += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate()
        shards = batch.shards(self.threads)
        n = int((batch.labels != PAD_ID).sum())
        done = list(self._pool.map(self._gradients, range(len(shards)), shards, repeat(n)))
        loss = sum(part for part, _gradients in done)
        for parameter, *gradients in zip(self._trained, *(g for _part, g in done), strict=True):
            parameter.grad = gradients[0]
            for gradient in gradients[1:]:
                parameter.grad += gradient
        norm = nn.utils.clip_grad_norm_(self._trained, self.recipe.clip).item()
        if not math.isfinite(norm):
            message = _("The gradient is not finite at step {step}; lower --lr-factor and resume.")
            raise ModelError(message.format(step=self.state.step))
        self.optimizer.step()
        return loss, norm

    def _gradients(self, number: int, shard: Batch, n: int) -> tuple[float, tuple[Tensor, ...]]:
        """The part that a shard has in the mean loss over the batch's `n` tokens; its gradient."""
        recipe = self.recipe
        with dropout.drawing_from(hash((recipe.seed, self.state.step, number)) % 2**63):
            with torch.autocast("cpu", torch.bfloat16, enabled=recipe.bf16):
                logits, labels = token_logits(self.module, shard, copies=2 if recipe.r_drop else 1)
            if recipe.r_drop:
                loss = r_drop_loss(logits, labels, recipe.label_smoothing, recipe.r_drop)
            else:
                loss = smoothed_loss(logits, labels, recipe.label_smoothing)
            part = loss * (len(labels) / n)
        return part.item(), torch.autograd.grad(part, self._trained)

    def _end_epoch(self) -> None:
        """Keep this epoch's parameters; keep the average of the last ones where it is the best."""
        state = self.state
        snapshots = self.folder / "epochs"
        snapshots.mkdir(exist_ok=True)
        own = checkpoints.parameters(self.module)
        checkpoints.write_tensors(snapshots / f"{state.epoch:04d}.safetensors", own)
        kept = sorted(snapshots.glob("*.safetensors"))
        for old in kept[: -self.recipe.n_average]:
            old.unlink()
        loss = mean_loss(self.module, self.valid)
        mean = checkpoints.average(kept[-self.recipe.n_average :])
        self.module.load_state_dict(mean)
        mean_of_last = mean_loss(self.module, self.valid)
        self.module.load_state_dict(own)
        if mean_of_last < state.best_loss:
            state.best_loss, state.best_epoch = mean_of_last, state.epoch
            checkpoints.write_tensors(
                self.folder / "best.safetensors", mean, {"epoch": state.epoch}
            )
        record: dict[str, int | float] = {
            "epoch": state.epoch,
            "step": state.step,
            "seconds": round(state.seconds, 1),
            "valid_loss": loss,
            "valid_loss_average": mean_of_last,
        }
        state.epochs.append(record)
        self._log({"event": "epoch", **record})
        state.epoch, state.batch = state.epoch + 1, 0

    def _log(self, record: dict[str, Any]) -> None:
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def _resume(self) -> None:
        tensors, state = checkpoints.read_tensors(self.folder / "checkpoint.safetensors")
        checkpoints.unpack(tensors, self.module, self.optimizer)
        self.state = State(**state)
        log = self.folder / "log.jsonl"
        if log.exists():  # what the killed run did after its last checkpoint is done again
            lines = log.read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if _step_of(line) <= self.state.step]
            checkpoints.write_text(log, "".join(line + "\n" for line in kept))


def _step_of(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf  # the line that the kill cut short
