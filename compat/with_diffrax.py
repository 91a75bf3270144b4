"""diffrax: an ordinary and a stochastic differential equation, and gradients through both."""

import diffrax
import jax
import jax.numpy as jnp


def main():
    def oscillator(t, y, args):
        position, velocity = y
        return velocity, -args * position

    def solve(stiffness):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(oscillator), diffrax.Tsit5(), 0.0, 3.0, 0.1, (1.0, 0.0), stiffness,
            saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 3.0, 7)),
            stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-6),
        )  # fmt: skip

    solution = jax.jit(solve)(2.0)
    final = lambda k: solve(k).ys[0][-1]  # noqa: E731
    path = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-3, (), jax.random.key(0))
    terms = diffrax.MultiTerm(
        diffrax.ODETerm(lambda t, y, args: -y), diffrax.ControlTerm(lambda t, y, args: 0.2, path)
    )
    noisy = diffrax.diffeqsolve(terms, diffrax.Euler(), 0.0, 1.0, 0.05, 1.0)
    stiff = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: -50.0 * (y - jnp.cos(t))),
        diffrax.Kvaerno3(), 0.0, 0.5, 0.01, 0.0,
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-5),
    )  # fmt: skip
    return {
        "ys": solution.ys,
        "steps": solution.stats["num_steps"],
        "gradient": jax.grad(final)(2.0),
        "mapped": jax.vmap(final)(jnp.array([1.0, 2.0, 3.0])),
        "noisy": noisy.ys,
        "stiff": stiff.ys,
    }
