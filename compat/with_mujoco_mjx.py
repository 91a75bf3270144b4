"""mujoco-mjx: a jointed body that falls on a plane, stepped, batched and differentiated."""

import jax
import jax.numpy as jnp
import mujoco
from mujoco import mjx

DISTRIBUTION = "mujoco-mjx"
TOLERANCE = 1e-3  # contacts multiply what rounding leaves

MODEL = """
<mujoco>
  <option timestep="0.005" iterations="4" ls_iterations="4"/>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body pos="0 0 .22">
      <freejoint/>
      <geom type="capsule" fromto="0 0 0 .1 0 .1" size=".05"/>
      <body pos=".1 0 .1">
        <joint name="hinge" type="hinge" axis="0 1 0"/>
        <geom type="sphere" size=".07"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="hinge" gear="2"/></actuator>
</mujoco>
"""


def main():
    model = mujoco.MjModel.from_xml_string(MODEL)
    program = mjx.put_model(model)
    data = mjx.make_data(program)
    data = data.replace(qpos=jnp.asarray(model.qpos0))

    def after(force, count):
        start = data.replace(ctrl=jnp.full((1,), force))
        return jax.lax.fori_loop(0, count, lambda _, state: mjx.step(program, state), start)

    last = jax.jit(lambda force: after(force, 20))(0.3)
    heights = jax.jit(jax.vmap(lambda force: after(force, 5).qpos[2]))(jnp.linspace(-1.0, 1.0, 3))
    slope = jax.jit(
        jax.jacfwd(lambda force: mjx.step(program, data.replace(ctrl=force[None])).qvel)
    )
    return {
        "position": last.qpos,
        "velocity": last.qvel,
        "heights": heights,
        "slope": slope(jnp.float32(0.1)),
    }
