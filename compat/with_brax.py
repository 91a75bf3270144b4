"""brax: a pendulum on a cart, rolled out by two physics pipelines, in a batch."""

import jax
import jax.numpy as jnp
from brax import envs, math
from brax.io import mjcf
from brax.positional import pipeline as positional

TOLERANCE = 1e-3  # contacts multiply what rounding leaves


def main():
    env = envs.get_environment("inverted_pendulum", backend="generalized")
    batched = envs.training.wrap(env, episode_length=20, action_repeat=1)
    state = jax.jit(batched.reset)(jax.random.split(jax.random.PRNGKey(0), 3))

    @jax.jit
    def rollout(state, key):
        def step(state, key):
            action = 0.1 * jax.random.normal(key, (3, env.action_size))
            state = batched.step(state, action)
            return state, (state.obs, state.reward)

        return jax.lax.scan(step, state, jax.random.split(key, 10))

    last, (observations, rewards) = rollout(state, jax.random.key(1))
    system = mjcf.loads(
        '<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 .5">'
        '<freejoint/><geom type="sphere" size=".1"/></body></worldbody></mujoco>'
    )
    ball = positional.init(system, system.init_q, jnp.zeros(system.qd_size()))
    ball = jax.lax.fori_loop(
        0, 5, lambda _, ball: positional.step(system, ball, jnp.zeros(0)), ball
    )
    return {
        "observations": observations,
        "rewards": rewards,
        "done": last.done,
        "ball": ball.x.pos,
        "turned": math.rotate(jnp.arange(3.0), math.euler_to_quat(jnp.array([10.0, 20.0, 30.0]))),
    }
