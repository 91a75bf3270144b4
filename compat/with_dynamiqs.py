"""dynamiqs: Schroedinger and Lindblad equations of a driven oscillator, and their gradients."""

import dynamiqs as dq
import jax
import jax.numpy as jnp

TOLERANCE = 1e-4  # of an adaptive solver


def main():
    dq.set_progress_meter(False)
    size = 6
    a = dq.destroy(size)
    drive = a + a.dag()
    times = jnp.linspace(0.0, 1.0, 6)
    start = dq.fock(size, 1)
    number = a.dag() @ a

    def last(strength):
        hamiltonian = 2.0 * number + strength * drive
        result = dq.mesolve(hamiltonian, [jnp.sqrt(0.3) * a], start, times, exp_ops=[number])
        return result.expects[0, -1].real

    pulsed = number + dq.modulated(lambda t: jnp.cos(3 * t), drive)
    closed = dq.sesolve(pulsed, start, times, exp_ops=[number, dq.position(size)])
    fixed = dq.mesolve(drive, [a], start, times, method=dq.method.Euler(dt=0.02), exp_ops=[number])
    state = dq.coherent(size, 0.5 + 0.2j)
    return {
        "pulsed": (closed.expects.real, closed.expects.imag),
        "last": last(0.4),
        "gradient": jax.grad(last)(0.4),
        "euler": fixed.expects.real,
        "purity": dq.purity(dq.ptrace(dq.tensor(state, start), 0)),
        "fidelity": dq.fidelity(start, closed.states[-1]),
        "wigner": dq.wigner(state, npixels=5)[2],
        "propagator": jnp.abs(dq.sepropagator(drive, times[:2]).propagators.to_jax()),
    }
