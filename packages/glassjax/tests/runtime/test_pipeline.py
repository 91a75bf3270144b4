"""The steps of a first call, in order, and what they import."""

import os
import subprocess
import sys

import numpy as np

import glassjax
from glassjax import monitoring
from glassjax.monitoring import COMPILED, LOWERED, TRACED

# Modules of what settings have to ask for, after a gradient was computed.
ENTERED = """
import sys, glassjax
glassjax.jit(glassjax.grad(lambda x: x * x))(3.0)
print(*[name for name in sys.modules if name.startswith("glassjax.runtime.")])
"""
ASKED_FOR = "compilation_cache", "host_functions", "notices"


def test_listeners_hear_of_the_steps_of_a_first_call_in_order():
    seen = []

    def listen(event, seconds, **details):
        if event in (TRACED, LOWERED, COMPILED):
            seen.append(event)

    monitoring.register_event_duration_secs_listener(listen)
    try:
        twice = glassjax.jit(lambda x: x * 2.0)
        for _ in range(3):
            twice(np.ones(3, np.float32))
    finally:
        monitoring.unregister_event_duration_listener(listen)
    assert seen == [TRACED, LOWERED, COMPILED]


def test_a_compilation_enters_only_what_settings_ask_for():
    settings = {"ENABLE_COMPILATION_CACHE": "false", "SLOW_COMPILE_NOTICE_SECS": "0"}
    env = os.environ | {f"GLASSJAX_{name}": value for name, value in settings.items()}
    run = [sys.executable, "-c", ENTERED]
    entered = subprocess.run(run, env=env, capture_output=True, text=True, check=True).stdout
    assert "glassjax.runtime.pipeline" in entered
    assert not [name for name in ASKED_FOR if f"glassjax.runtime.{name}" in entered]
