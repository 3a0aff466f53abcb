"""The signals of causal models against what their definitions say, text by text."""

import math
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.language.energies import Energies
from privacygauge.language.token_signals import (
    SideTokens,
    loss_signal,
    min_k_plus_signal,
    min_k_signal,
    ratio_signal,
    signals_alone,
    zlib_signal,
)
from tests.thorough import quarter


def energies_of(per_text, sd=None):
    """Return energies of texts whose tokens' log-probabilities, means and sds are given."""
    size = [len(text) for text in per_text]
    count = np.concatenate([np.arange(n) for n in size])
    flat = np.array([value for text in per_text for value in text])
    further = {} if sd is None else {"mean": flat[:, 1], "sd": flat[:, 2]}
    return Energies(
        flat[:, 0],
        np.repeat(np.arange(len(size)), size),
        np.zeros(len(flat), int),
        count,
        count + 1,
        np.array(size),
        np.zeros(len(size), int),
        np.zeros(len(size), int),
        further=further,
    )


tokens = st.tuples(st.floats(-20, 0), st.floats(-10, 0), st.floats(0.01, 5))
many = st.lists(st.lists(tokens, min_size=1, max_size=30), min_size=1, max_size=8)


@settings(max_examples=quarter(100), deadline=None)
@given(many, st.sampled_from([0.05, 0.2, 0.5, 1.0]))
def test_min_k_is_the_mean_of_the_lowest(texts, share):
    energies = energies_of(texts, sd=True)
    plain = [sorted(value for value, _, _ in text) for text in texts]
    ratio = [sorted((value - mean) / sd for value, mean, sd in text) for text in texts]
    for signal, values in ((min_k_signal, plain), (min_k_plus_signal, ratio)):
        found = signal(energies, share)
        for text, ordered in enumerate(values):
            n = max(1, math.floor(share * len(ordered) + 1e-9))
            # Sums of a few hundred numbers up to 2,000 in another order.
            assert found[text] == pytest.approx(sum(ordered[:n]) / n, abs=1e-9)


def test_all_of_the_tokens_are_the_loss():
    rng = np.random.default_rng(0)
    texts = [[(-x, 0, 1) for x in rng.exponential(2, n)] for n in (1, 5, 40)]
    energies = energies_of(texts)
    assert min_k_signal(energies, 1.0) == pytest.approx(-energies.mean(), abs=1e-12)


def test_binary_fractions_take_no_token_away():
    energies = energies_of([[(-float(x), 0, 1) for x in range(35)]])
    assert min_k_signal(energies, 0.2).item() == np.mean(range(28, 35)) * -1


def test_a_model_that_is_certain_gives_no_infinity():
    energies = energies_of([[(0.0, 0.0, 0.0), (-3.0, -2.0, 0.5)]], sd=True)
    assert min_k_plus_signal(energies, 1.0).tolist() == [-1.0]


def test_zlib_divides_by_compressed_bytes():
    energies = energies_of([[(-2.0, 0, 1)], [(-2.0, 0, 1)]])
    texts = ("pain " * 50, "Zylinderkopfdichtung 4711")
    expected = [-2.0 / len(zlib.compress(text.encode())) for text in texts]
    assert zlib_signal(energies, texts).tolist() == expected
    with pytest.raises(InputError, match="texts must be the 2 of the energies, got 1"):
        zlib_signal(energies, texts[:1])


def test_the_ratio_is_higher_where_the_target_is_less_surprised():
    target = energies_of([[(-1.0, 0, 1)]])
    reference = energies_of([[(-3.0, 0, 1)]])
    assert ratio_signal(target, reference).tolist() == [2.0]
    with pytest.raises(InputError, match="the same texts, got 1 and 2"):
        ratio_signal(target, energies_of([[(-1.0, 0, 1)]] * 2))


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, float("nan")])
def test_no_share_of_tokens(share):
    with pytest.raises(InputError, match=r"share must be in \(0, 1\], got"):
        min_k_signal(energies_of([[(-1.0, 0, 1)]]), share)


def test_masked_models_have_no_spread_over_the_vocabulary():
    with pytest.raises(
        InputError, match=r"masked models do not give: ask a model from load_causal"
    ):
        min_k_plus_signal(energies_of([[(-1.0, 0, 1)]]))


@pytest.mark.slow
@pytest.mark.torch
def test_a_real_model_gives_all_of_them(gpt, texts):
    from privacygauge.language.likelihoods import token_log_probabilities

    found = token_log_probabilities(gpt, texts)
    signals = {"loss": loss_signal(found), **signals_alone(SideTokens(texts, found))}
    assert list(signals) == ["loss", "zlib", "min-k", "min-k++"]
    assert all(values.shape == (len(texts),) for values in signals.values())
    assert all(np.isfinite(values).all() for values in signals.values())
    assert (signals["min-k"] <= signals["loss"] + 1e-9).all()
