"""Profiles: files, events and errors, beside JAX."""

import inspect

import jax.profiler
import jaxlib._profiler
import pytest
from tables import for_each

import glassjax
from glassjax import profiler


def work():
    with profiler.TraceAnnotation("my event"):
        return glassjax.numpy.ones(3).sum().block_until_ready()


def events(data):
    return {event.name for plane in data.planes for line in plane.lines for event in line.events}


def test_a_recording_in_memory_has_the_events():
    with profiler.trace() as session:
        work()
        profiler.annotate_function(work, name="my function")()
        with profiler.StepTraceAnnotation("my step", step_num=3):
            work()
    assert {"my event", "my function", "my step"} <= events(session.profile_data)


def test_files(tmp_path):
    profiler.start_trace(tmp_path, create_perfetto_trace=True)
    work()
    data = profiler.stop_trace()
    assert "my event" in events(data)
    (directory,) = (tmp_path / "plugins" / "profile").iterdir()
    names = {path.name.split(".", 1)[-1] for path in directory.iterdir()}
    assert names == {"xplane.pb", "trace.json.gz", "json.gz"}
    if hasattr(jaxlib._profiler, "export_to_xprof"):
        profiler.export_profile_data(data, tmp_path / "later", session_id="mine")
        assert (tmp_path / "later" / "plugins" / "profile" / "mine").is_dir()
    again = profiler.ProfileData.from_file(str(next(directory.glob("*.xplane.pb"))))
    assert "my event" in events(again)
    profiler.save_device_memory_profile(tmp_path / "memory")
    assert (tmp_path / "memory").stat().st_size > 0


def test_what_is_refused(tmp_path):
    for module in (profiler, jax.profiler):
        with pytest.raises(RuntimeError, match="No profile started"):
            module.stop_trace()
        with module.trace(), pytest.raises(RuntimeError, match="already been started"):
            module.start_trace(tmp_path)
        with pytest.raises(ValueError, match="No active profiler server"):
            module.stop_server()
    with pytest.raises(NotImplementedError, match="create_perfetto_trace"):
        profiler.start_trace(tmp_path, create_perfetto_link=True)
    with pytest.raises(ValueError, match="has not ended"):
        profiler.export_profile_data(profiler.ProfileSession(), tmp_path)
    with pytest.raises(TypeError, match="expected a path"):
        profiler.save_device_memory_profile(3)


def test_after_an_error_nothing_is_recorded():
    with pytest.raises(KeyError), profiler.trace():
        raise KeyError
    with profiler.trace():
        pass


@for_each("name", sorted(profiler.__all__))
def test_the_same_parameters(name):
    ours, theirs = getattr(profiler, name), getattr(jax.profiler, name)
    if inspect.isfunction(theirs):
        found, expected = (list(inspect.signature(f).parameters) for f in (ours, theirs))
        assert found == expected
