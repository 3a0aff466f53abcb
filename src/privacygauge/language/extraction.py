"""Extraction: the likelihood of a text's suffix given its prefix, without sampling.

A text is cut in two. An attacker who knows its prefix lets the model continue it; the probability
that the continuation equals the suffix follows from a single pass over the whole text. A masked
model fills in the hidden part between the two ends of a text, token by token from left to right.

Without a prompt, a causal model is sampled, and the texts are looked for in the samples.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError
from privacygauge.language.energies import Unit
from privacygauge.language.forward_pass import Batch, Head, ScoredPositions, batch_of, pass_groups
from privacygauge.language.model import CausalModel, Model
from privacygauge.language.model_options import Writing
from privacygauge.language.store import (
    AnswerStore,
    compute_arrays,
    distinct_texts,
    model_settings,
    texts_a_task,
    token_budget,
)
from privacygauge.language.texts import ScoredText
from privacygauge.language.tokens import Tokens, tokens_of
from privacygauge.runs.plan import ArraySpec, Plan, Task

LEAST = 8
"""Fewest tokens of a text that is cut in two: the rest of a shorter text is soon guessed."""

_ROWS_AT_ONCE = 128
"""Tokens with logits computed at once, few enough to stay in the processor's caches."""


@dataclass(frozen=True, eq=False)
class Suffixes:
    """Texts in the tokens of one model, with the position of each suffix."""

    tokens: Tokens
    """Tokens of each text: frame, prefix and suffix; for a masked model also the text after it."""
    start: Ints
    """(n,) Position of the first token of each suffix, from 0."""
    stop: Ints
    """(n,) Position after the last token of each suffix; for a causal model the end of the text."""
    n_prefix: Ints
    """(n,) Units of each prefix; 0 if it is a prompt, which has no units."""
    n_suffix: Ints
    """(n,) Units of each suffix, at least 1."""

    def __len__(self) -> int:
        return len(self.tokens)

    def rows(self, texts: Ints) -> Suffixes:
        """Return some of the texts, in the order requested."""
        parts = (self.start, self.stop, self.n_prefix, self.n_suffix)
        return Suffixes(self.tokens.rows(texts), *(part[texts] for part in parts))

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of texts, tokens and suffixes, in hexadecimal."""
        cut = np.ascontiguousarray([self.start, self.stop], "<i8")
        return hashlib.sha256(self.tokens.sha256.encode() + cut.tobytes()).hexdigest()

    def of(self, text: int) -> tuple[Ints, Ints]:
        """Return the token ids before the suffix of a text, and those of the suffix."""
        ids, _ = self.tokens.of(text)
        return ids[: self.start[text]], ids[self.start[text] : self.stop[text]]


@dataclass(frozen=True, eq=False)
class SuffixLikelihoods:
    """Likelihoods under one model of the suffixes of n texts, given their prefixes."""

    log_probability: Floats
    """(n,) Log-probability of the whole suffix, in nats; minus infinity if it cannot be sampled."""
    verbatim: Bools
    """(n,) True where greedy decoding yields the suffix."""

    def tries(self, chance: float) -> Floats:
        """Return the tries (n,) that write each suffix with probability `chance`."""
        return tries_needed(self.log_probability, chance)


def long_enough(texts: Sequence[ScoredText], models: Sequence[CausalModel]) -> Bools:
    """Return a mask of the texts with at least `LEAST` units, (n,)."""
    tokenizers = [model.tokenizer for model in models]
    tokens, _ = tokens_of(texts, tokenizers, [model.limit for model in models], "token")
    found: Bools = tokens[0].n_units >= LEAST
    return found


def suffixes_of(
    texts: Sequence[ScoredText], models: Sequence[CausalModel], how: Writing
) -> tuple[list[Suffixes], Unit]:
    """Cut texts in two, for all models at the same place.

    Parameters
    ----------
    texts : sequence of str or TrainedText
        Texts of at least two tokens. If a prompt comes before the trained part, it is the prefix,
        and the suffix begins with the answer; later turns are left out.
    how : Writing
        Lengths of prefix and suffix; a prefix is at most half of its text.

    Returns
    -------
    list of Suffixes, "token" or "word"
        One entry per model, and the unit of prefix and suffix: words if the tokenizers differ.
    """
    tokenizers = [model.tokenizer for model in models]
    found, unit = tokens_of(texts, tokenizers, [model.limit for model in models], "token")
    if int(found[0].n_units.min()) < 2:
        raise InputError(f"every text must have at least two {unit}s to be cut in two, got one")
    prompted = np.array([not (isinstance(x, str) or x.begins) for x in texts])
    return [_cut(tokens, how, prompted, unit) for tokens in found], unit


def suffix_likelihoods(model: Model, suffixes: Suffixes, how: Writing) -> SuffixLikelihoods:
    """Return the likelihood of each suffix, by continuation or by filling in, without sampling.

    Parameters
    ----------
    model : CausalModel or MaskedModel
        A causal model takes one pass per text, a masked one a pass for each hidden token.
    suffixes : Suffixes
        Suffixes in the tokens of this model.
    how : Writing
        Sampling settings.

    Returns
    -------
    SuffixLikelihoods
        Equal to the result of sampling step by step: the probability of a sequence is the product
        of those of its tokens, each given the true tokens before it. A masked model does not see
        the tokens behind it. An unknown token never equals the text's own.

    Notes
    -----
    Hayes et al. (2024), "Measuring memorization through probabilistic discoverable extraction",
    section 3; Carlini et al. (2023), definition 3.1, for the likeliest tokens.
    """
    first, which = distinct_texts(suffixes.tokens)
    once = suffixes.rows(first)
    scored, following = _steps(once, model)
    logs: list[Floats] = []
    best: list[Bools] = []
    for group in pass_groups(once.tokens, scored, range(len(once)), token_budget(model)):
        batch = batch_of(
            once.tokens, scored, group, pad_id=model.tokenizer.pad_id, mask_id=model.mask_id
        )
        one_log, one_best = _score_batch(model, batch, how)
        # The unknown token stands for many texts: sampling it does not write this one.
        known = batch.token != model.tokenizer.unknown_id
        logs.append(np.where(known, one_log, -np.inf))
        best.append(one_best & known)
    log = np.concatenate(logs)[following]
    if np.isnan(log).any():
        raise InputError("the model gives no probability to a token: check its weights")
    # One row of `log` per suffix token, text by text: the sum over a text is its log-probability.
    starts = np.append(0, np.cumsum(once.stop - once.start)[:-1])
    total = np.add.reduceat(log, starts)
    verbatim = np.logical_and.reduceat(np.concatenate(best)[following], starts)
    # Rounding may lift a probability of 1 above 1.
    return SuffixLikelihoods(np.minimum(total, 0.0)[which], verbatim[which])


def _steps(suffixes: Suffixes, model: Model) -> tuple[ScoredPositions, Bools]:
    """Return the scored positions, and a mask of those that predict the next token.

    A masked model reads one copy per token of a suffix, with this token and all later ones hidden.
    """
    size = suffixes.stop - suffixes.start
    one = isinstance(model, CausalModel)
    # Masked: copy i hides positions i, i + 1, ...; only position i of it is used.
    steps = [(np.zeros(n, np.int64), np.arange(n)) if one else np.triu_indices(n) for n in size]
    copy, place = (np.concatenate(part) for part in zip(*steps, strict=True))
    n_rows = [len(rows) for rows, _ in steps]
    position = np.repeat(suffixes.start, n_rows) + place
    n_copies = np.ones_like(size) if one else size
    scored = ScoredPositions(
        starts=np.cumsum([0, *n_rows]),
        copy=copy,
        position=position,
        unit=position,
        n_copies=n_copies,
    )
    return scored, one | (copy == place)


def tries_needed(log_probability: ArrayLike, chance: float) -> Floats:
    """Return the number of tries in which a text occurs with probability `chance`.

    Parameters
    ----------
    log_probability : array_like of float, shape (n,)
        Log-probability of the text in one try, in nats, at most 0.
    chance : float
        Probability p, in (0, 1).

    Returns
    -------
    ndarray of float, shape (n,)
        The smallest whole n with ``1 - (1 - p_z)^n >= p``; infinity if the text cannot occur.

    Notes
    -----
    Hayes et al. (2024), definition 3.3: (n, p)-discoverable extraction.

    Examples
    --------
    >>> tries_needed([np.log(0.5), np.log(0.1), -np.inf], 0.5)
    array([ 1.,  7., inf])
    """
    if not 0.0 < chance < 1.0:
        raise InputError(f"chance must be in (0, 1), got {chance}")
    with np.errstate(divide="ignore"):
        # log1p keeps log(1 - p_z) exact for tiny p_z, where 1 - p_z would be 1.
        never = np.log1p(-np.exp(np.asarray(log_probability, np.float64)))
        exact = np.log1p(-chance) / never
    # Rounding may lift a whole number slightly above itself, and ceil to the next.
    found: Floats = np.maximum(1.0, np.ceil(np.where(never == 0.0, np.inf, exact) * (1 - 1e-12)))
    return found


@dataclass(frozen=True, eq=False)
class Nearness:
    """How near greedy decoding comes to the suffixes of n texts."""

    edits: Ints
    """(n,) Tokens to insert, delete or replace (Levenshtein 1966); 0 exactly where
    `suffix_likelihoods` says verbatim, except for ties of logits."""
    longest: Ints
    """(n,) Tokens of the longest stretch in common."""
    n_tokens: Ints
    """(n,) Tokens of the suffix, and of what was written."""

    @property
    def similarity(self) -> Floats:
        """(n,) Edit similarity, in [0, 1]: 1 less the edits per token of the suffix."""
        found: Floats = 1 - self.edits / self.n_tokens
        return found


def nearness(model: CausalModel, suffixes: Suffixes) -> Nearness:
    """Return how near the model's greedy continuation of each prefix comes to the suffix.

    Parameters
    ----------
    model : CausalModel
        Generates as many tokens as the suffix has: far slower than `suffix_likelihoods`.
    """
    # Equal prefix and text lengths make a batch without padding.
    shapes = np.stack([suffixes.start, suffixes.tokens.lengths], axis=1)
    edits = np.empty(len(suffixes), np.int64)
    longest = np.empty(len(suffixes), np.int64)
    for shape in np.unique(shapes, axis=0):
        same = np.flatnonzero((shapes == shape).all(axis=1))
        for texts in np.array_split(same, -(-len(same) * int(shape[1]) // token_budget(model))):
            before, wanted = (
                np.stack(part) for part in zip(*map(suffixes.of, texts.tolist()), strict=True)
            )
            wrote = greedy(model, before, wanted.shape[1])
            edits[texts] = edit_distance(wrote, wanted)
            longest[texts] = longest_stretch(wrote, wanted)
    return Nearness(edits, longest, suffixes.stop - suffixes.start)


def greedy(model: CausalModel, ids: Ints, n: int) -> Ints:
    """Return n tokens (m, n) of greedy decoding after prefixes (m, t)."""
    import torch

    with torch.inference_mode():
        given = torch.tensor(ids, device=model.module.device)
        chosen = []
        kept = None
        for _ in range(n):
            out = model.module(input_ids=given, past_key_values=kept, use_cache=True)
            given = out.logits[:, -1].argmax(-1, keepdim=True)
            kept = out.past_key_values
            chosen.append(given)
        found: Ints = torch.cat(chosen, 1).cpu().numpy()
    return found


def edit_distance(first: Ints, second: Ints) -> Ints:
    """Return the Levenshtein distance (m,) between the rows of arrays (m, a) and (m, b).

    Examples
    --------
    >>> edit_distance(np.array([[1, 2, 3]]), np.array([[2, 3, 4]]))
    array([2])
    """
    m, a = first.shape
    b = second.shape[1]
    # Row i of the usual table, for all m pairs at once.
    above = np.tile(np.arange(b + 1), (m, 1))
    for i in range(a):
        row = np.empty_like(above)
        row[:, 0] = i + 1
        replaced = above[:, :-1] + (first[:, i, None] != second)
        # Replacements and deletions for all columns at once; insertions follow column by column.
        least = np.minimum(replaced, above[:, 1:] + 1)
        for j in range(b):
            row[:, j + 1] = np.minimum(least[:, j], row[:, j] + 1)
        above = row
    return above[:, -1]


def longest_stretch(first: Ints, second: Ints) -> Ints:
    """Return the length (m,) of the longest stretch in common of the rows of two arrays.

    Examples
    --------
    >>> longest_stretch(np.array([[1, 2, 3, 4]]), np.array([[9, 2, 3, 8]]))
    array([2])
    """
    longest = np.zeros(len(first), np.int64)
    # Length of the stretch that ends at token i of the first and each token of the second.
    above = np.zeros((len(first), second.shape[1] + 1), np.int64)
    for i in range(first.shape[1]):
        row = np.zeros_like(above)
        row[:, 1:] = np.where(first[:, i, None] == second, above[:, :-1] + 1, 0)
        longest = np.maximum(longest, row.max(axis=1))
        above = row
    return longest


def _cut(tokens: Tokens, how: Writing, prompted: Bools, unit: Unit) -> Suffixes:
    # A prompt is the whole prefix.
    n_prefix = np.where(prompted, 0, np.minimum(how.prefix, tokens.n_units // 2))
    n_units = tokens.n_units.copy()
    for text in np.flatnonzero(prompted) if unit == "token" else ():
        # Only the first answer of a conversation: nobody makes a model write the other side's
        # turns.
        placed = np.flatnonzero(tokens.of(int(text))[1] >= 0)
        n_units[text] = np.append(np.flatnonzero(np.diff(placed) > 1), len(placed) - 1)[0] + 1
    n_suffix = np.minimum(how.suffix, n_units - n_prefix)
    start = np.empty(len(tokens), np.int64)
    parts = []
    for row, (before, size) in enumerate(zip(n_prefix, n_suffix, strict=True)):
        ids, units = tokens.of(row)
        start[row] = np.flatnonzero(units == before)[0]
        # A word may have several tokens: up to the last of them.
        stop = np.flatnonzero(units == before + size - 1)[-1] + 1
        parts.append((ids[:stop], units[:stop]))
    ids, units = (np.concatenate(part) for part in zip(*parts, strict=True))
    starts = np.cumsum([0, *(len(ids) for ids, _ in parts)])
    cut = Tokens(
        keys=tokens.keys,
        ids=ids,
        units=units,
        starts=starts,
        n_units=tokens.n_units,
        n_truncated=tokens.n_truncated,
        n_unknown=tokens.n_unknown,
    )
    return Suffixes(tokens=cut, start=start, stop=cut.lengths, n_prefix=n_prefix, n_suffix=n_suffix)


def _score_batch(model: Model, batch: Batch, how: Writing) -> tuple[Floats, Bools]:
    """Return the log-probability (m,) of every token, and whether it is the likeliest."""
    import torch

    to = partial(torch.as_tensor, device=model.module.device)
    inside = np.arange(batch.ids.shape[1]) < batch.lengths[:, None]
    inputs: dict[str, Any] = {
        "input_ids": to(batch.ids),
        "attention_mask": to(inside.astype(np.int64)),
    }
    row = to(batch.row)
    place = to(batch.position)
    token = to(batch.token)
    head = Head(())
    with torch.inference_mode():
        if isinstance(model, CausalModel):
            inputs["use_cache"] = False
            # Position i - 1 predicts token i.
            place = place - 1
        if model.head is None:
            values = model.module(**inputs).logits
        else:
            values = model.module.base_model(**inputs).last_hidden_state
            head = model.head
        log = torch.empty(len(token), device=values.device)
        best = torch.empty(len(token), dtype=torch.bool, device=values.device)
        # Logits of a few tokens at a time: all of them over the vocabulary may not fit in memory.
        for i in range(0, len(token), _ROWS_AT_ONCE):
            few = slice(i, i + _ROWS_AT_ONCE)
            logits = head(values[row[few], place[few]]).float() / how.temperature
            chosen = logits.gather(1, token[few, None])[:, 0]
            best[few] = logits.argmax(1) == token[few]
            if 0 < how.top_k < logits.shape[1]:
                # Logits that tie with the last one are kept.
                last = logits.topk(how.top_k).values[:, -1:]
                logits = logits.masked_fill(logits < last, -np.inf)
                chosen = chosen.masked_fill(chosen < last[:, 0], -np.inf)
            log[few] = chosen - logits.logsumexp(1)
    return log.cpu().numpy().astype(np.float64), best.cpu().numpy()


# Suffix likelihoods of texts, stored on disk: a killed extraction resumes where it stopped.


@dataclass(frozen=True, eq=False)
class Reading:
    """Task of a run: likelihoods of the suffixes of some texts."""

    model: Model
    """Model to run."""
    suffixes: Suffixes
    """Texts without repeats, sorted by length."""
    how: Writing
    """Sampling settings."""

    def __call__(self, task: Task) -> Mapping[str, ArrayLike]:
        """Return the `suffix_likelihoods` of the task's texts."""
        some = self.suffixes.rows(np.arange(task.start, task.stop))
        found = suffix_likelihoods(self.model, some, self.how)
        return {"log_probability": found.log_probability, "verbatim": found.verbatim}


@dataclass(frozen=True, eq=False)
class Comparing:
    """Task of a run: nearness of a model's continuations to the suffixes."""

    model: CausalModel
    """Model to run."""
    suffixes: Suffixes
    """Texts without repeats, sorted by length."""

    def __call__(self, task: Task) -> Mapping[str, ArrayLike]:
        """Return the `nearness` of the task's texts."""
        some = self.suffixes.rows(np.arange(task.start, task.stop))
        found = nearness(self.model, some)
        return {"edits": found.edits, "longest": found.longest}


def kept_written(
    model: Model, suffixes: Suffixes, how: Writing, kept: AnswerStore
) -> SuffixLikelihoods:
    """Return `suffix_likelihoods` of all texts; compute only those not stored.

    Progress counts a repeated text once.
    """
    rows, which = distinct_texts(suffixes.tokens)
    once = suffixes.rows(rows)
    found = _compute_arrays(
        Reading(model, once, how),
        {"log_probability": "float64", "verbatim": "bool"},
        {"temperature": how.temperature, "top k": how.top_k},
        kept,
    )
    return SuffixLikelihoods(found["log_probability"][which], found["verbatim"][which])


def kept_nearness(model: CausalModel, suffixes: Suffixes, kept: AnswerStore) -> Nearness:
    """Return the `nearness` of all texts; compute only those not stored."""
    rows, which = distinct_texts(suffixes.tokens)
    once = suffixes.rows(rows)
    arrays = {"edits": "int64", "longest": "int64"}
    found = _compute_arrays(Comparing(model, once), arrays, {}, kept)
    edits, longest = (np.asarray(found[name][which], np.int64) for name in arrays)
    return Nearness(edits, longest, suffixes.stop - suffixes.start)


def _compute_arrays(
    work: Reading | Comparing,
    arrays: Mapping[str, str],
    settings: Mapping[str, float],
    kept: AnswerStore,
) -> dict[str, NDArray[Any]]:
    """Return the arrays by name, one value per text."""
    n = len(work.suffixes)
    plan = Plan(
        name="language",
        seed=0,
        unit="text",
        n_units=n,
        units_a_task=texts_a_task(work.model, n),
        arrays={name: ArraySpec(("text",), (n,), dtype) for name, dtype in arrays.items()},
        settings={
            "kind": "extraction",
            **settings,
            **model_settings(work.model),
            "texts": work.suffixes.sha256,
        },
    )
    return compute_arrays(plan, work, kept)


# Texts that a causal model writes without a prompt, and the training texts that stand in them.

_AT_ONCE = 64
"""Texts that are written together, and kept together."""


def written_unprompted(
    model: CausalModel,
    texts: Sequence[ScoredText],
    how: Writing,
    n: int,
    *,
    seed: int = 0,
    kept: AnswerStore | None = None,
) -> Bools:
    """Return the texts of which a model writes a stretch by itself, (m,).

    Parameters
    ----------
    model : CausalModel
        Begins with its token for the beginning of a text, or for the end of the one before.
    texts : sequence of str or TrainedText
        Texts to look for, m of them.
    how : Writing
        Sampling settings; each written text has as many tokens as prefix and suffix together, and
        a stretch has as many as the suffix, or as a shorter text.
    n : int
        Number of texts to write, at least 1.
    seed : int
        Seed of the sampling.
    kept : AnswerStore, optional
        Folder of the written texts; by default they are not kept.

    Raises
    ------
    InputError
        If the tokenizer has no token to begin with.

    Notes
    -----
    Carlini et al. (2021), section 4: texts are sampled from the beginning token alone. They look
    for what the model finds likely, and ask the training set; here the training texts are known,
    and are looked for directly.
    """
    wrote = _sampled_ids(model, how, n, seed=seed, kept=kept or AnswerStore())
    encoded = [one.ids[~one.framing] for one in model.tokenizer.encoded(texts)]
    needed = np.array([min(how.suffix, len(ids)) for ids in encoded])
    found = np.zeros(len(encoded), np.bool_)
    for size in np.unique(needed).tolist():
        windows = sliding_window_view(wrote, size, axis=1).reshape(-1, size)
        # A set of bytes: comparing every stretch with every sample would be quadratic.
        known = {window.tobytes() for window in windows}
        for row in np.flatnonzero(needed == size).tolist():
            own = sliding_window_view(encoded[row].astype(np.int32), size)
            found[row] = any(window.tobytes() in known for window in own)
    return found


@dataclass(frozen=True, eq=False)
class Sampling:
    """Task of a run: texts that a model writes without a prompt."""

    model: CausalModel
    """Model to run."""
    how: Writing
    """Sampling settings."""
    first: int
    """Token to begin with."""
    n_tokens: int
    """Tokens of each text, at least 1."""
    seed: int
    """Seed of the sampling."""

    def __call__(self, task: Task) -> Mapping[str, ArrayLike]:
        """Return the token ids of the task's texts, (texts, tokens)."""
        import torch

        # One stream per task, so that tasks give the same texts in any order.
        drawn = seeds.stream(self.seed, "unprompted", task.start)
        generator = torch.Generator().manual_seed(int(drawn.integers(2**62)))
        given = torch.full((task.n_units, 1), self.first, device=self.model.module.device)
        chosen = []
        past = None
        with torch.inference_mode():
            for _ in range(self.n_tokens):
                out = self.model.module(input_ids=given, past_key_values=past, use_cache=True)
                past = out.past_key_values
                logits = out.logits[:, -1].float().cpu() / self.how.temperature
                if 0 < self.how.top_k < logits.shape[1]:
                    last = logits.topk(self.how.top_k).values[:, -1:]
                    logits = logits.masked_fill(logits < last, -torch.inf)
                drawn_tokens = torch.multinomial(logits.softmax(1), 1, generator=generator)
                given = drawn_tokens.to(given.device)
                chosen.append(drawn_tokens)
        return {"ids": torch.cat(chosen, 1).numpy().astype(np.int32)}


def _sampled_ids(model: CausalModel, how: Writing, n: int, *, seed: int, kept: AnswerStore) -> Ints:
    """Return the token ids of n written texts, (n, tokens)."""
    frame = model.tokenizer.encoded(["a"])[0]
    config = model.module.config
    # The frame of the tokenizer where it writes one, as in the training.
    own = frame.ids[:1].tolist() if frame.framing[0] else []
    known = [x for x in (*own, config.bos_token_id, config.eos_token_id) if isinstance(x, int)]
    if not known:
        raise InputError(
            f"{model.source.path} has no token to begin a text with (bos_token_id, eos_token_id): "
            "leave unprompted out"
        )
    width = min(how.prefix + how.suffix, model.limit - 1)
    plan = Plan(
        name="language",
        seed=seed,
        unit="text",
        n_units=n,
        units_a_task=min(_AT_ONCE, n),
        arrays={"ids": ArraySpec(("text", "token"), (n, width), "int32")},
        settings={
            "kind": "unprompted",
            "temperature": how.temperature,
            "top k": how.top_k,
            **model_settings(model),
        },
    )
    work = Sampling(model, how, first=known[0], n_tokens=width, seed=seed)
    found: Ints = compute_arrays(plan, work, kept)["ids"]
    return found
