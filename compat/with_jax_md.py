"""jax-md: molecular dynamics of a soft-sphere and a Lennard-Jones fluid, with neighbour lists."""

import jax
from jax_md import energy, minimize, partition, quantity, simulate, space

DISTRIBUTION = "jax-md"
TOLERANCE = 1e-3  # trajectories multiply what rounding leaves


def main():
    box = 5.0
    displacement, shift = space.periodic(box)
    start = jax.random.uniform(jax.random.key(0), (24, 2)) * box

    soft = energy.soft_sphere_pair(displacement)
    init, step = minimize.fire_descent(soft, shift)
    state = jax.lax.fori_loop(0, 40, lambda _, state: step(state), init(start))
    relaxed = state.position

    neighbor_fn, with_neighbors = energy.lennard_jones_neighbor_list(
        displacement, box, sigma=0.7, r_onset=1.2, r_cutoff=1.6, format=partition.Sparse
    )
    neighbors = neighbor_fn.allocate(relaxed)
    init, step = simulate.nve(with_neighbors, shift, 2e-3)
    state = init(jax.random.key(1), relaxed, kT=0.2, neighbor=neighbors)

    @jax.jit
    def run(state, neighbors):
        def body(_, carry):
            state, neighbors = carry
            neighbors = neighbors.update(state.position)
            return step(state, neighbor=neighbors), neighbors

        return jax.lax.fori_loop(0, 20, body, (state, neighbors))

    state, neighbors = run(state, neighbors)
    init, step = simulate.nvt_langevin(soft, shift, 0.01, 0.1)
    warm = init(jax.random.key(2), relaxed)
    warm = jax.lax.fori_loop(0, 20, lambda _, state: step(state), warm)
    return {
        "relaxed": soft(relaxed),
        "energy": with_neighbors(state.position, neighbor=neighbors),
        "positions": state.position,
        "temperature": quantity.temperature(momentum=state.momentum),
        "overflow": neighbors.did_buffer_overflow,
        "force": quantity.force(soft)(start),
        "langevin": warm.position,
    }
