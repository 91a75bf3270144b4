"""Runs programs on libraries written for JAX, and compares their results with those on JAX.

`python -m compat` in an environment with JAX keeps the results in `on_jax.json`; in one with
`glassjax-as-jax` it compares with these, and fails where a program does, or differs.
"""

import argparse
import importlib
import json
import subprocess
import sys
import time
import traceback
from importlib.metadata import version
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ON_JAX = HERE / "on_jax.json"
ON_GLASSJAX = HERE / "on_glassjax.json"

NAMES = tuple(sorted(path.stem.removeprefix("with_") for path in HERE.glob("with_*.py")))
QUICK = ("chex", "diffrax", "equinox", "flax_linen", "optax")
SECONDS = 600  # for one program


def program(name):
    """The module of a program, with its distribution and tolerance."""
    module = importlib.import_module(f"compat.with_{name}")
    distribution = getattr(module, "DISTRIBUTION", name)
    return module, distribution, getattr(module, "TOLERANCE", 1e-5)


def as_numbers(tree):
    """A tree of arrays as lists of numbers and texts."""
    if isinstance(tree, dict):
        return {str(key): as_numbers(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [as_numbers(value) for value in tree]
    if tree is None or isinstance(tree, str):
        return tree
    return np.asarray(tree).astype(float).tolist()


def difference(found, expected):
    """The greatest difference of two trees of numbers, of large ones relative; or infinity."""
    if isinstance(found, float) and isinstance(expected, float):
        if np.isnan(found) and np.isnan(expected):
            return 0.0
        return abs(found - expected) / max(1.0, abs(expected)) if found != expected else 0.0
    if isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys():
        return max((difference(found[key], expected[key]) for key in found), default=0.0)
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        return max(map(difference, found, expected), default=0.0)
    return 0.0 if found == expected else float("inf")


def run(name):
    """Run one program in this process, and print what it returns and where as JSON."""
    start = time.perf_counter()
    try:
        module, distribution, tolerance = program(name)
        report = {"result": as_numbers(module.main()), "tolerance": tolerance}
        report |= {"distribution": distribution, "version": version(distribution)}
        report["jax"] = version("jax")
    except Exception as error:
        traceback.print_exc()
        lines = str(error).strip().splitlines() or [""]
        report = {"error": f"{type(error).__name__}: {lines[0]}"}
    print(json.dumps(report | {"seconds": round(time.perf_counter() - start, 1)}))


def run_alone(name):
    """Run one program in a process of its own, and return its report."""
    command = [sys.executable, "-m", "compat", "--here", name]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {SECONDS} seconds", "seconds": SECONDS}
    lines = done.stdout.splitlines()
    if done.returncode:
        return {"error": f"the process ended with status {done.returncode}", "seconds": 0.0}
    return json.loads(lines[-1])


def compared(report, expected):
    """What is kept of a report: how far its result is from that on JAX, or an error."""
    if "error" not in report and expected is None:
        report = {"error": "there is no result on JAX to compare with"}
    if "error" in report:
        return report
    away = float(f"{difference(report['result'], expected['result']):.1g}")
    kept = {name: report[name] for name in ("distribution", "version", "seconds")}
    if away > report["tolerance"]:
        kept["error"] = "the results differ"
    return kept | {"difference": away, "seconds on JAX": expected["seconds"]}


def line_of(name, kept):
    """The line of a program in the table."""
    if "difference" not in kept:
        return f"{name:12} {kept['error']}"
    took = f"{kept['seconds']:4} s ({kept['seconds on JAX']} s on JAX)"
    return f"{name:12} {kept.get('error', 'ok')}: {kept['difference']:5.0e} from JAX, {took}"


def main():
    parser = argparse.ArgumentParser(prog="python -m compat", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}")
    parser.add_argument("--write", action="store_true", help="keep results for the page in docs/")
    parser.add_argument("--here", metavar="NAME", help="run one program in this process")
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no program {', '.join(sorted(unknown))}")
    if options.here:
        run(options.here)
        return

    import jax

    is_on_jax = jax.__name__ == "jax"
    names = options.names or (QUICK if options.quick else NAMES)
    on_jax = json.loads(ON_JAX.read_text()) if ON_JAX.exists() else {}
    on_glassjax = json.loads(ON_GLASSJAX.read_text()) if ON_GLASSJAX.exists() else {}
    failed = []
    for name in names:
        report = run_alone(name)
        if is_on_jax:
            on_jax[name] = report
            print(f"{name:12} {report.get('error', 'ok')}", flush=True)
        else:
            report = on_glassjax[name] = compared(report, on_jax.get(name))
            print(line_of(name, report), flush=True)
        if "error" in report:
            failed.append(name)
    if is_on_jax:
        ON_JAX.write_text(json.dumps(on_jax, indent=1, sort_keys=True) + "\n")
    elif options.write:
        ON_GLASSJAX.write_text(json.dumps(on_glassjax, indent=1, sort_keys=True) + "\n")
    if failed:
        sys.exit(f"{len(failed)} of {len(names)} programs are not as on JAX: {', '.join(failed)}")


if __name__ == "__main__":
    main()
