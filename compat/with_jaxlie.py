"""jaxlie: rotations and rigid motions, batched, and least squares on their manifold."""

import jax
import jax.numpy as jnp
import jaxlie


def main():
    tangents = 0.7 * jax.random.normal(jax.random.key(0), (5, 6))
    poses = jax.vmap(jaxlie.SE3.exp)(tangents)
    points = jax.random.normal(jax.random.key(1), (12, 3))
    true = jaxlie.SE3.exp(jnp.array([0.3, -0.2, 0.5, 0.4, 0.1, -0.6]))
    seen = jax.vmap(true.apply)(points)

    def residual(pose):
        return jnp.ravel(jax.vmap(pose.apply)(points) - seen)

    @jax.jit
    def gauss_newton(pose):
        """One step, in the tangent space at the pose."""
        jacobian = jax.jacfwd(lambda delta: residual(jaxlie.manifold.rplus(pose, delta)))(
            jnp.zeros(6)
        )
        delta = -jnp.linalg.lstsq(jacobian, residual(pose))[0]
        return jaxlie.manifold.rplus(pose, delta)

    pose = jaxlie.SE3.identity()
    for _ in range(5):
        pose = gauss_newton(pose)
    cost, gradient = jaxlie.manifold.value_and_grad(lambda pose: (residual(pose) ** 2).sum())(
        jaxlie.SE3.identity()
    )
    turn = jaxlie.SO3.from_rpy_radians(0.1, 0.2, 0.3)
    return {
        "found": pose.as_matrix(),
        "cost": cost,
        "gradient": gradient,
        "logarithms": jax.vmap(lambda pose: pose.log())(poses),
        "adjoints": jax.vmap(lambda pose: pose.adjoint())(poses),
        "between": (poses.inverse() @ jaxlie.SE3.exp(tangents[::-1])).wxyz_xyz,
        "plane": (jaxlie.SO2.from_radians(0.4) @ jnp.array([1.0, 2.0])),
        "quaternion": turn.wxyz,
        "sample": jaxlie.SO3.sample_uniform(jax.random.key(2)).as_matrix(),
    }
