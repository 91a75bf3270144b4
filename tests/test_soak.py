"""A little of each soak; `./noxw -s soak` runs them at length, beside JAX."""

import mmap

import pytest

from nets import soak
from nets.soak import LEAK, SOAKS, Finding, Soak


@pytest.mark.parametrize("name", SOAKS)
def test_a_few_steps(name):
    found = soak.in_fresh_process(name, "minijax", share=0.001)
    assert isinstance(found, Finding), found
    peer = Finding(0.0, 8 * LEAK, "")  # so few steps fill the caches
    assert soak.verdict_on(found, peer) == ""


def test_what_grows_is_found(monkeypatch):
    held = []

    def leak(i):
        held.append(mmap.mmap(-1, 3 * 2**20))  # never what others have let go of
        held[-1].write(b"x" * len(held[-1]))

    leaking = Soak(20, lambda lib: leak)
    monkeypatch.setitem(SOAKS, "leaking", leaking)
    found = soak.soak("leaking", "minijax", 1.0)
    assert found.grown > LEAK
    assert soak.verdict_on(found, Finding(0.0, 0, "")) == "LEAKS"


def test_a_process_that_fails_is_told_of():
    assert "no_such_library" in soak.in_fresh_process("traces", "no_such_library", share=0.001)
