"""A short run of each soak; `./noxw -s soak` runs them at length."""

import json
import mmap
import os
import subprocess
import sys

from fuzzing import soak
from fuzzing.soak import LEAK, SOAKS, Finding, Soak

PEER = Finding(0.0, 8 * LEAK, "")  # so few steps fill the caches

# What each soak came to, on a line of its own, all in one process.
FEW_STEPS = """
import json
from fuzzing import soak
for name in soak.SOAKS:
    print(json.dumps((name, soak.soak(name, "glassjax", 0.001))), flush=True)
"""


def test_a_few_steps():
    done = subprocess.run(
        [sys.executable, "-c", FEW_STEPS],
        env=os.environ | {"GLASSJAX_ENABLE_COMPILATION_CACHE": "false"},
        capture_output=True,
        text=True,
    )
    found = {name: Finding(*each) for name, each in map(json.loads, done.stdout.splitlines())}
    assert found.keys() == SOAKS.keys(), done.stderr
    assert {name: soak.verdict_on(each, PEER) for name, each in found.items()} == dict.fromkeys(
        SOAKS, ""
    )


def test_each_runs_in_a_process_of_its_own():
    found = soak.in_fresh_process("traces", "glassjax", share=0.001)
    assert isinstance(found, Finding), found
    assert "no_such_library" in soak.in_fresh_process("traces", "no_such_library", share=0.001)


def test_what_grows_is_found(monkeypatch):
    held = []

    def leak(i):
        held.append(mmap.mmap(-1, 3 * 2**20))  # never what others have let go of
        held[-1].write(b"x" * len(held[-1]))

    leaking = Soak(20, lambda lib: leak)
    monkeypatch.setitem(SOAKS, "leaking", leaking)
    found = soak.soak("leaking", "glassjax", 1.0)
    assert found.grown > LEAK
    assert soak.verdict_on(found, Finding(0.0, 0, "")) == "LEAKS"
