"""Modules that a program finds under JAX's names, with minijax in its place."""

import subprocess
import sys

PROGRAM = """
import sys
import minijax
minijax.install_as_jax()
import jax
print(*[name for name in sys.modules if name.startswith("jax.")])
"""
OF_JAX = """
import sys, jax
print(*[name for name in sys.modules if name.startswith("jax.") and "._src" not in name])
"""


def run(program):
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def test_import_jax_brings_the_modules_that_it_brings_in_jax():
    assert set(run(OF_JAX).split()) <= set(run(PROGRAM).split())


def test_modules_of_pallas_can_be_imported_and_say_that_they_are_absent():
    below = "jax.experimental.pallas.ops.tpu.splash_attention"
    program = f"""
import minijax
minijax.install_as_jax()
from {below} import splash_attention_kernel, splash_attention_mask
import {below}.splash_attention_mask
try:
    splash_attention_mask.CausalMask((8, 8))
except NotImplementedError as error:
    print(error)
"""
    assert f"{below}.splash_attention_mask is not in minijax" in run(program)
