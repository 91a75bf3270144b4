"""The way of a function: its steps in order, and nothing on the way that nobody asks for."""

import os
import subprocess
import sys

import numpy as np

import minijax
from minijax.runtime import observers
from minijax.runtime.observers import BY_XLA, COMPILED, LOWERED, RETRACED, TRACED, Observer
from minijax.settings.config import config

# Modules of what settings have to ask for, after a gradient was computed.
ENTERED = """
import sys, minijax
minijax.jit(minijax.grad(lambda x: x * x))(3.0)
print(*[name for name in sys.modules if name.startswith("minijax.runtime.")])
"""
ASKED_FOR = "compilation_cache", "host_functions", "retracing", "slow_compiles"


def test_the_steps_of_a_first_call_are_observed_in_order(monkeypatch):
    seen = []
    steps = frozenset((RETRACED, TRACED, LOWERED, COMPILED, BY_XLA))
    asked = Observer(steps, lambda: True, lambda step, about: seen.append(step))
    not_asked = Observer(steps, lambda: False, lambda step, about: seen.append("not asked"))
    monkeypatch.setattr(observers, "OBSERVERS", (asked, not_asked))
    twice = minijax.jit(lambda x: x * 2.0)
    x = np.ones(3, np.float32)
    with config.override(enable_compilation_cache=False):
        for _ in range(3):
            twice(x)
    assert seen == [RETRACED, TRACED, LOWERED, COMPILED, BY_XLA]


def test_a_compilation_enters_only_what_settings_ask_for():
    settings = {"ENABLE_COMPILATION_CACHE": "false", "SLOW_COMPILE_NOTICE_SECS": "0"}
    env = os.environ | {f"MINIJAX_{name}": value for name, value in settings.items()}
    run = [sys.executable, "-c", ENTERED]
    entered = subprocess.run(run, env=env, capture_output=True, text=True, check=True).stdout
    assert "minijax.runtime.pipeline" in entered
    assert not [name for name in ASKED_FOR if f"minijax.runtime.{name}" in entered]
