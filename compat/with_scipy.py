"""scipy: functions that take arrays of any library, by the array API standard."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"

import jax
import jax.numpy as jnp
from scipy import fft, signal, special, stats
from scipy.spatial.transform import Rotation
from scipy.stats import differential_entropy


def main():
    x = jax.random.normal(jax.random.key(0), (24,))
    y = x + 0.3 * jax.random.normal(jax.random.key(1), (24,))
    positive = jnp.abs(x) + 0.1
    turns = Rotation.from_rotvec(jax.random.normal(jax.random.key(2), (3, 3)))
    results = {
        "spectrum": jnp.abs(fft.fft(x)),
        "window": signal.windows.hann(8, xp=jnp),
        "convolved": signal.fftconvolve(x, jnp.ones(3) / 3),
        "test": tuple(stats.ttest_ind(x, y)),
        "moments": (stats.skew(x), stats.kurtosis(x), stats.zmap(x, y)),
        "entropy": differential_entropy(positive),
        "special": (special.gammaln(positive), special.xlogy(x, positive), special.ndtr(x)),
        "logsumexp": special.logsumexp(x),
        "turned": turns.apply(jnp.arange(3.0)),
    }
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(results))
    return results
