"""s2fft: harmonic transforms on the sphere and on the rotation group, and their gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import s2fft

TOLERANCE = 1e-4


def main():
    limit = 8
    coefficients = s2fft.utils.signal_generator.generate_flm(np.random.default_rng(0), limit)
    coefficients = jnp.asarray(coefficients, "complex64")
    image = s2fft.inverse(coefficients, limit, method="jax", sampling="mw")
    back = s2fft.forward(image, limit, method="jax", sampling="mw")
    spun = s2fft.inverse(coefficients, limit, spin=1, method="jax", sampling="dh")

    def loss(image):
        out = s2fft.forward(image, limit, method="jax", sampling="mw")
        return (jnp.abs(out) ** 2).sum()

    turned = s2fft.utils.rotation.rotate_flms(coefficients, limit, (0.3, 0.4, 0.5))
    wigner = s2fft.utils.signal_generator.generate_flmn(np.random.default_rng(1), 4, 2)
    on_rotations = s2fft.wigner.inverse(jnp.asarray(wigner, "complex64"), 4, 2, method="jax")
    both = lambda z: (jnp.real(z), jnp.imag(z))  # noqa: E731
    return {
        "image": both(image),
        "back": both(back),
        "spin": both(spun),
        "gradient": jax.grad(loss)(jnp.real(image)),
        "turned": both(turned),
        "rotations": both(on_rotations),
    }
