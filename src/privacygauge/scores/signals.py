"""Numbers per record that the literature attacks, for models that are no classifiers.

Each function returns what a loss function of `audit_training` may return, or columns of a file for
`audit_scores`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.errors import InputError

_LEAST = 1e-12
"""Floor of probabilities and norms before a logarithm or a division."""


_SUM_ERROR = 0.01
"""Largest distance of a sum of probabilities from 1; of many classes, half a cent of each."""


def _finite(values: ArrayLike, name: str, axis: str = "row") -> Floats:
    """Return an array of finite numbers, (n, ...); `axis` names its first axis in messages."""
    given = np.asarray(values)
    if given.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold numbers, got {given.dtype}")
    if not np.isfinite(given).all():
        place = tuple(np.argwhere(~np.isfinite(given))[0].tolist())
        where = f" in {axis} {place[0]}" if place else ""
        raise InputError(f"{name} must be finite, got {given[place]}{where}")
    return given.astype(np.float64)


def answers(probabilities: ArrayLike, temperature: float = 1.0) -> dict[str, Floats]:
    """Return numbers of a classifier's answers that need no true class, (n,) each.

    Parameters
    ----------
    probabilities : array_like, shape (n, k)
        The answer to each record, k at least 2.
    temperature : float
        Above 0; answers are flattened by it before the entropy.

    Returns
    -------
    dict of str to ndarray
        ``confidence``, the logit of the largest probability, ``margin`` between both largest, in
        logarithms, and ``entropy``. Members mostly have more confidence and less entropy.

    Notes
    -----
    Salem et al. (2019), without the true class.

    Examples
    --------
    >>> answers([[0.5, 0.5], [0.8, 0.2]])["entropy"].round(2).tolist()
    [0.69, 0.5]
    """
    p = _finite(probabilities, "probabilities")
    checks.positive(temperature=temperature)
    if p.ndim != 2 or p.shape[1] < 2:
        raise InputError(f"probabilities must have the shape (n, k), k at least 2, got {p.shape}")
    outside = (p < -_SUM_ERROR) | (p > 1 + _SUM_ERROR)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise InputError(f"probabilities must be in [0, 1], got {p[row, column]:g} in row {row}")
    total = p.sum(axis=1)
    wrong = np.flatnonzero(np.abs(total - 1) > max(_SUM_ERROR, _SUM_ERROR / 2 * p.shape[1]))
    if len(wrong):
        raise InputError(
            f"probabilities must sum to 1, row {wrong[0]} sums to {total[wrong[0]]:g}: give the "
            "softmax of logits"
        )
    logs = np.log(np.maximum(p, _LEAST)) / temperature
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    top = np.sort(logs, axis=1)
    rest = np.logaddexp.reduce(top[:, :-1], axis=1)
    return {
        "confidence": top[:, -1] - rest,
        "margin": top[:, -1] - top[:, -2],
        "entropy": -(np.exp(logs) * logs).sum(axis=1),
    }


def _at_least_0(values: ArrayLike, name: str, length: int | None = None) -> Floats:
    found = checks.floats(values, name, length=length)
    if (negative := np.flatnonzero(found < 0)).size:
        row = int(negative[0])
        raise InputError(f"{name} must be at least 0, got {found[row]:g} in row {row}")
    return found


def survival(
    time: ArrayLike,
    event: ArrayLike,
    risk: ArrayLike,
    *,
    hazard: ArrayLike | None = None,
) -> dict[str, Floats]:
    """Return likelihoods and residuals of people in a survival model, (n,) each.

    Parameters
    ----------
    time : array_like, shape (n,)
        Time of each person's event, or of the end of observation; at least 0.
    event : array_like of bool, shape (n,)
        True for an event, False for a censored time.
    risk : array_like, shape (n,)
        Logarithm of each person's partial hazard in the model, ``beta x``.
    hazard : array_like, shape (n,), optional
        Cumulative hazard of each person at their own time, with their risk, as ``H(t | x)``;
        default: Breslow's estimate from these people and risks.

    Returns
    -------
    dict of str to ndarray
        ``partial likelihood``, the logarithm of the share of an event's risk set, less what the
        person adds to the risk sets of others (for a censored person that alone); ``likelihood``,
        of the full model, ``event log h + log S``; ``deviance`` and ``martingale`` residuals. The
        first two are higher for members, the deviance is lower in size.

    Notes
    -----
    Breslow's risk sets for ties. The sum of ``event (risk - log sum exp risk)`` over people is
    Cox's partial likelihood; a person's own part of it is what the leave-one-out likelihood differs
    by to first order.

    Examples
    --------
    >>> made = survival([1.0, 2.0, 3.0], [True, True, False], [0.0, 0.0, 0.0])
    >>> made["martingale"].round(2).tolist()
    [0.67, 0.17, -0.83]
    """
    t = _at_least_0(time, "time")
    n = len(t)
    if not n:
        raise InputError("time holds no records")
    e = checks.bools(event, "event", length=n)
    r = checks.floats(risk, "risk", length=n)
    # At each event time: events, and the sum of the hazards of those still at risk.
    grid, index = np.unique(t, return_inverse=True)
    shift = r.max()
    weight = np.exp(r - shift)
    at_risk = np.cumsum(np.bincount(index, weights=weight, minlength=len(grid))[::-1])[::-1]
    events = np.bincount(index, weights=e, minlength=len(grid))
    steps = events / at_risk
    breslow = weight * np.cumsum(steps)[index]
    own = breslow if hazard is None else _at_least_0(hazard, "hazard", length=n)
    own = np.maximum(own, _LEAST)
    martingale = e - own
    # The step of the baseline at a person's own time, spread over the gap before it.
    gaps = np.diff(grid, prepend=0.0)
    rate = np.maximum(steps, _LEAST)[index] / np.where(gaps > 0, gaps, 1.0)[index]
    deviance = np.sign(martingale) * np.sqrt(np.maximum(-2 * (martingale + e * np.log(own)), 0.0))
    return {
        "partial likelihood": e * (r - shift - np.log(at_risk[index])) - breslow,
        "likelihood": e * (np.log(rate) + r - shift) - own,
        "deviance": np.abs(deviance),
        "martingale": martingale,
    }


def series(
    true: Sequence[ArrayLike] | NDArray[Any],
    predicted: Sequence[ArrayLike] | NDArray[Any],
    season: int = 0,
) -> dict[str, Floats]:
    """Return errors of predicted series, in time and in frequency, (n,) each.

    Parameters
    ----------
    true, predicted : sequence of array_like, shape (t,) or (t, c) each
        One series per record, of any length; both of the same shape.
    season : int
        Length of a season in steps; 0 to leave the seasonal error out.

    Returns
    -------
    dict of str to ndarray
        All lower for members: ``mse``; ``mae``; ``smape``; ``spectral``, the mean logarithm of the
        residual's periodogram; ``spectrum``, the mean gap between the amplitudes of both series;
        ``trend``, the error of the straight lines fitted to both; and ``season``, that of the mean
        seasons.

    Notes
    -----
    Errors in frequency, trend and season are signals of LeakPro for time series (Johansson et al.
    2025).

    Examples
    --------
    >>> made = series([[1.0, 2.0, 3.0]], [[1.0, 2.0, 4.0]])
    >>> float(made["mse"][0].round(3)), float(made["trend"][0].round(3))
    (0.333, 0.444)
    """
    checks.at_least(0, season=season)
    if len(true) != len(predicted):
        raise InputError(f"as many predicted as true series are needed, got {len(predicted)} and "
                         f"{len(true)}")  # fmt: skip
    rows = []
    for number, (one, other) in enumerate(zip(true, predicted, strict=True)):
        own = _finite(one, f"true series {number}", "step")
        said = _finite(other, f"predicted series {number}", "step")
        if own.shape != said.shape or own.ndim not in (1, 2) or not len(own):
            raise InputError(
                f"series {number} must have the shape (t,) or (t, c) twice, got {own.shape} and "
                f"{said.shape}"
            )
        own, said = (x.reshape(len(x), -1) for x in (own, said))
        residual = own - said
        power = np.abs(np.fft.rfft(residual, axis=0)) ** 2 / len(residual)
        amplitudes = [np.abs(np.fft.rfft(x, axis=0)) / len(x) for x in (own, said)]
        steps = np.arange(len(own)) - (len(own) - 1) / 2
        slope = steps @ residual / max(float(steps @ steps), _LEAST)
        line = residual.mean(axis=0) + steps[:, None] * slope
        row = {
            "mse": float(np.mean(residual**2)),
            "mae": float(np.mean(np.abs(residual))),
            "smape": float(
                np.mean(2 * np.abs(residual) / np.maximum(np.abs(own) + np.abs(said), _LEAST))
            ),
            "spectral": float(np.mean(np.log(np.maximum(power, _LEAST)))),
            "spectrum": float(np.mean(np.abs(amplitudes[0] - amplitudes[1]))),
            "trend": float(np.mean(np.abs(line))),
        }
        if season:
            whole = residual[: len(residual) // season * season or len(residual)]
            means = [whole[i::season].mean(axis=0) for i in range(min(season, len(whole)))]
            row["season"] = float(np.mean(np.abs(means)))
        rows.append(row)
    return {key: np.array([row[key] for row in rows]) for key in rows[0]} if rows else {}


def items(scores: ArrayLike, own: Sequence[ArrayLike]) -> dict[str, Floats]:
    """Return how far a recommender prefers a person's own items to those of others, (n,) each.

    Parameters
    ----------
    scores : array_like, shape (n, m)
        The recommender's score of every item for each person.
    own : sequence of sequences of int
        (n,) The items of each person, at least one and fewer than all.

    Returns
    -------
    dict of str to ndarray
        All higher for members: ``gap``, the mean score of own items less that of others, in
        standard deviations of the person's scores; ``rank``, the share of pairs in which the own
        item comes first; and ``top``, the share of own items among as many highest.

    Examples
    --------
    >>> items([[3.0, 2.0, 1.0]], [[0, 2]])["rank"].tolist()
    [0.5]
    """
    from scipy.stats import rankdata

    s = _finite(scores, "scores")
    if s.ndim != 2 or len(own) != len(s):
        raise InputError(
            f"scores must have a row per person, ({len(own)}, m), got the shape {s.shape}"
        )
    found: dict[str, list[float]] = {"gap": [], "rank": [], "top": []}
    for number, (row, mine) in enumerate(zip(s, own, strict=True)):
        given = np.asarray(mine)
        if given.dtype.kind == "b":
            raise InputError(
                f"person {number}: own must hold numbers of items, got bool: give "
                "np.flatnonzero(own)"
            )
        theirs = checks.integers(given, f"person {number}: items")
        if len(theirs) and not 0 <= theirs.min() <= theirs.max() < len(row):
            wrong = theirs[(theirs < 0) | (theirs >= len(row))][0]
            raise InputError(f"person {number}: items must be in 0..{len(row) - 1}, got {wrong}")
        chosen = np.zeros(len(row), np.bool_)
        chosen[theirs] = True
        n_own = int(chosen.sum())
        n_other = len(row) - n_own
        if not n_own or not n_other:
            raise InputError(f"person {number} must have an item and lack one, got {n_own} items")
        rank = rankdata(row)
        found["gap"].append((row[chosen].mean() - row[~chosen].mean()) / max(row.std(), _LEAST))
        found["rank"].append((rank[chosen].sum() - n_own * (n_own + 1) / 2) / (n_own * n_other))
        found["top"].append(float(np.mean(rank[chosen] > n_other)))
    return {key: np.array(values) for key, values in found.items()}


def view_similarity(embeddings: ArrayLike) -> dict[str, Floats]:
    """Return how alike an encoder finds the views of a record, (n,) each.

    Parameters
    ----------
    embeddings : array_like, shape (v, n, d)
        Embeddings of v views, at least 2, such as augmentations, of n records.

    Returns
    -------
    dict of str to ndarray
        Higher for members: ``similarity``, the mean cosine between two views, and ``nearest``, the
        least of them.

    Notes
    -----
    EncoderMI (Liu et al. 2021).

    Examples
    --------
    >>> view_similarity([[[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 0.0]]])["similarity"].round(2).tolist()
    [0.33]
    """
    z = _finite(embeddings, "embeddings", "view")
    if z.ndim != 3 or len(z) < 2:
        raise InputError(f"embeddings must have the shape (v, n, d), v at least 2, got {z.shape}")
    z = z / np.maximum(np.linalg.norm(z, axis=2, keepdims=True), _LEAST)
    pairs = np.triu_indices(len(z), 1)
    cosine = np.einsum("vnd,wnd->vwn", z, z)[pairs]
    return {"similarity": cosine.mean(axis=0), "nearest": cosine.min(axis=0)}


class Denoiser(Protocol):
    """A diffusion model: the noise that it sees in records at a step."""

    def __call__(self, x: NDArray[Any], step: int) -> ArrayLike:
        """Return the predicted noise in noisy records, in the shape of `x`."""


def denoising(
    noise_in: Denoiser,
    x: ArrayLike,
    kept: ArrayLike,
    *,
    steps: Sequence[int],
    seed: int = 0,
    draws: int = 1,
) -> dict[str, Floats]:
    """Return the errors of a diffusion model on records at some steps, (n,) each.

    Parameters
    ----------
    noise_in : callable
        Takes noisy records, in the shape of `x`, and a step; returns the noise that it predicts.
    x : array_like, shape (n, ...)
        Records, scaled as the model was trained on them.
    kept : array_like, shape (t,)
        Share of the signal's variance that is left at each step, ``alpha bar``, falling in (0, 1).
    steps : sequence of int
        Steps at which the model is asked, in 1..t-1.
    seed : int
        Seed of the noise, which is the same for every model.
    draws : int
        Draws of noise that the loss is the mean of, at least 1.

    Returns
    -------
    dict of str to ndarray
        Lower for members, each with its step: ``loss``, the denoising loss; ``pia``, that with the
        noise which the model sees at step 0 (Kong et al. 2024); and ``secmi``, the error after a
        deterministic step ahead and back (Duan et al. 2023).
    """
    clean = _finite(x, "x")
    share = checks.floats(kept, "kept")
    if (wrong := np.flatnonzero((share <= 0) | (share > 1))).size:
        row = int(wrong[0])
        raise InputError(f"kept must be in (0, 1], got {share[row]:g} in row {row}")
    checks.at_least(1, draws=draws)
    for step in steps:
        if not 1 <= step < len(share):
            raise InputError(f"steps must be in 1..{len(share) - 1}, got {step}")
    rng = np.random.default_rng(seed)

    def asked(noisy: NDArray[Any], step: int) -> NDArray[Any]:
        said = np.asarray(noise_in(noisy, step), np.float64)
        if said.shape != noisy.shape:
            raise InputError(
                f"the model must predict noise of the shape {noisy.shape}, got {said.shape}"
            )
        return said

    def mixed(signal: NDArray[Any], noise: NDArray[Any], step: int) -> NDArray[Any]:
        return np.asarray(np.sqrt(share[step]) * signal + np.sqrt(1 - share[step]) * noise)

    def error(one: NDArray[Any], other: NDArray[Any]) -> Floats:
        return np.asarray(((one - other) ** 2).reshape(len(clean), -1).mean(axis=1))

    found: dict[str, Floats] = {}
    first = asked(clean, 0)
    for step in steps:
        losses = []
        for _ in range(draws):
            noise = rng.normal(size=clean.shape)
            losses.append(error(asked(mixed(clean, noise, step), step), noise))
        found[f"loss {step}"] = np.mean(losses, axis=0)
        there = mixed(clean, first, step)
        seen = asked(there, step)
        found[f"pia {step}"] = error(seen, first)
        # One deterministic step ahead with the predicted noise, and back with that seen there.
        after = min(step + 1, len(share) - 1)
        signal = (there - np.sqrt(1 - share[step]) * seen) / np.sqrt(share[step])
        ahead = mixed(signal, seen, after)
        again = asked(ahead, after)
        back = mixed(
            (ahead - np.sqrt(1 - share[after]) * again) / np.sqrt(share[after]), again, step
        )
        found[f"secmi {step}"] = error(back, there)
    return found


def over_range(
    loss: Callable[[Any, Any], ArrayLike | Mapping[str, ArrayLike]],
    sample: Callable[[np.random.Generator], Any],
    *,
    samples: int = 10,
    trim: float = 0.5,
    seed: int = 0,
) -> Callable[[Any, Any], Floats | dict[str, Floats]]:
    """Return a loss of ranges: whether anything like a record was in, instead of this record.

    Parameters
    ----------
    loss : callable
        Takes a model and n records; returns n losses, or a mapping of names to these; lower for
        members.
    sample : callable
        Takes a generator and returns n records, one drawn from each range, such as `unknown_values`
        or augmentations of n images. All models get the same draws.
    samples : int
        Draws from each range, at least 1.
    trim : float
        Share of the draws, those of the highest losses, that are left out, in [0, 1): most points
        of a range are unlike the record in it.
    seed : int
        Seed of the draws.

    Returns
    -------
    callable
        Takes a model, and numbers of records, of which only their number counts; returns the mean
        of the lowest losses in each range.

    Notes
    -----
    RaMIA (Tao & Shokri 2025): a trimmed mean of the scores in a range.
    """
    checks.at_least(1, samples=samples)
    if not 0 <= trim < 1:
        raise InputError(f"trim must be in [0, 1), got {trim}")
    n_kept = max(1, round((1 - trim) * samples))

    def of_ranges(model: Any, rows: Any) -> Floats | dict[str, Floats]:
        rng = np.random.default_rng(seed)
        said = [loss(model, sample(rng)) for _ in range(samples)]

        def lowest(values: list[ArrayLike]) -> Floats:
            stacked = np.stack([np.asarray(one, np.float64) for one in values])
            return np.asarray(np.sort(stacked, axis=0)[:n_kept].mean(axis=0))

        if isinstance(said[0], Mapping):
            named: list[Any] = said
            return {str(key): lowest([one[key] for one in named]) for key in said[0]}
        plain: list[Any] = said
        return lowest(plain)

    return of_ranges


def unknown_values(
    records: ArrayLike, unknown: Sequence[int], pool: ArrayLike | None = None
) -> Callable[[np.random.Generator], NDArray[Any]]:
    """Return a sampler of ranges: records of a table, some of whose values are not known.

    Parameters
    ----------
    records : array_like, shape (n, d)
        Records; the values in the columns `unknown` are never used.
    unknown : sequence of int
        Columns whose values are drawn, together, from a random row of the pool.
    pool : array_like, shape (m, d), optional
        Records of others; default: `records`.

    Returns
    -------
    callable
        Takes a generator and returns records, (n, d).

    Examples
    --------
    >>> sample = unknown_values([[1, 2], [3, 4]], unknown=[1], pool=[[9, 9]])
    >>> sample(np.random.default_rng(0)).tolist()
    [[1, 9], [3, 9]]
    """
    known = np.asarray(records)
    others = known if pool is None else np.asarray(pool)
    columns = np.asarray(unknown, np.int64)
    if known.ndim != 2 or others.ndim != 2 or known.shape[1] != others.shape[1]:
        raise InputError(
            f"records and pool must have the shape (n, d), got {known.shape} and {others.shape}"
        )
    if not len(columns) or columns.min() < 0 or columns.max() >= known.shape[1]:
        raise InputError(
            f"unknown must name columns in 0..{known.shape[1] - 1}, got {list(unknown)}"
        )

    def sample(rng: np.random.Generator) -> NDArray[Any]:
        made = known.copy()
        made[:, columns] = others[rng.integers(len(others), size=len(known))][:, columns]
        return made

    return sample
