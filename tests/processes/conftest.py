"""The fixture `processes`: they end with the test that started them."""

import jax
import pytest
from several_processes import Processes


@pytest.fixture
def processes(tmp_path):
    found = Processes(tmp_path)
    yield found
    found.close()


def pytest_collection_modifyitems(items):
    if jax.__version_info__ < (0, 11):
        reason = "jaxlib cannot read sharded arrays"
        for item in items:
            if "processes" in item.path.parts and "test_refusal" not in item.name:
                item.add_marker(pytest.mark.skip(reason=reason))
