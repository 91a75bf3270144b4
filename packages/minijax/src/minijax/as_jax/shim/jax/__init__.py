"""minijax, where a program imports jax."""

__minijax_shim__ = True

import os
import sys

from minijax.as_jax.alias import VARIABLE, VERSION, install_as_jax

install_as_jax(os.environ.get(VARIABLE, VERSION))
sys.modules.pop(__name__, None)
__import__(__name__)  # which finds minijax, and `import` takes what stands in sys.modules
