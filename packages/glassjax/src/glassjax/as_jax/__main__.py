"""`python -m glassjax.as_jax PROGRAM.py ARGUMENTS`, or `-m MODULE ARGUMENTS`."""

import argparse
import runpy
import sys
from pathlib import Path

from glassjax.as_jax import VERSION, install_as_jax


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m glassjax.as_jax",
        usage="%(prog)s [--version VERSION] (PROGRAM.py | -m MODULE) [ARGUMENTS ...]",
        description="Runs a program written for JAX with glassjax in its place.",
    )
    parser.add_argument("--version", default=VERSION, help="the version of JAX that it finds")
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module")
    parser.add_argument("program", help="the program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its own arguments")
    options = parser.parse_args()
    if not options.module and not Path(options.program).exists():
        parser.error(f"there is no file {options.program}")

    try:
        install_as_jax(options.version)
    except ValueError as error:
        parser.error(str(error))
    sys.argv = [options.program, *options.arguments]
    if options.module:
        sys.path[0] = ""
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(options.program).resolve().parent)
        runpy.run_path(options.program, run_name="__main__")


if __name__ == "__main__":
    main()
