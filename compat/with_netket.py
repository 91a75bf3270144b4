"""netket: the ground state of a quantum Ising chain, by sampling and exactly."""

import jax
import netket as nk
import optax

TOLERANCE = 1e-3  # of parameters that are trained on samples


def main():
    hilbert = nk.hilbert.Spin(s=1 / 2, N=6)
    hamiltonian = nk.operator.IsingJax(hilbert, nk.graph.Chain(6), h=1.0)
    machine = nk.models.RBM(alpha=1, param_dtype=float)
    exact = nk.vqs.FullSumState(hilbert, machine, seed=1)
    sampler = nk.sampler.MetropolisLocal(hilbert, n_chains=8)
    sampled = nk.vqs.MCState(sampler, machine, n_samples=64, seed=2, sampler_seed=3)
    driver = nk.driver.VMC(
        hamiltonian, optax.sgd(0.05), variational_state=exact,
        preconditioner=nk.optimizer.SR(diag_shift=0.01),
    )  # fmt: skip
    log = nk.logging.RuntimeLog()
    driver.run(5, out=log, show_progress=False)
    energy, gradient = sampled.expect_and_grad(hamiltonian)
    return {
        "energies": log.data["Energy"]["Mean"].real,
        "ground state": nk.exact.lanczos_ed(hamiltonian, k=1),
        "sampled": (energy.mean.real, energy.variance),
        "gradient": jax.tree.leaves(gradient),
        "samples": sampled.samples.sum(),
        "amplitudes": exact.to_array(),
    }
