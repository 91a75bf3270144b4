"""lineax: linear systems by several solvers, with structure, and their gradients."""

import jax
import jax.numpy as jnp
import lineax as lx


def main():
    a = jax.random.normal(jax.random.key(0), (5, 5))
    positive = a @ a.T + 5 * jnp.eye(5)
    b = jnp.arange(5.0)

    def solve(m, solver, *tags):
        return lx.linear_solve(lx.MatrixLinearOperator(m, tags), b, solver).value

    tall = jax.random.normal(jax.random.key(1), (7, 3))
    return {
        "lu": solve(a, lx.LU()),
        "cg": solve(positive, lx.CG(1e-6, 1e-6), lx.positive_semidefinite_tag),
        "cholesky": solve(positive, lx.Cholesky(), lx.positive_semidefinite_tag),
        "gmres": solve(positive, lx.GMRES(1e-5, 1e-5)),
        "least squares": lx.linear_solve(
            lx.MatrixLinearOperator(tall), jnp.arange(7.0), lx.QR()
        ).value,
        "chosen": solve(a, lx.AutoLinearSolver(well_posed=True)),
        "gradient": jax.grad(lambda m: solve(m, lx.LU()).sum())(a),
        "by a function": lx.linear_solve(
            lx.FunctionLinearOperator(lambda v: positive @ v, jax.eval_shape(lambda: b)), b, lx.LU()
        ).value,
    }
