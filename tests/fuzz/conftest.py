"""How much is tried: a fixed two minutes of it by default, new examples with ``long``.

`python -m tests.fuzz --minutes N` runs the tests of this folder with new examples for N minutes.
"""

from hypothesis import HealthCheck, settings

# Failures are to be seen again from the printed blob or seed alone: nothing is kept on disk.
_COMMON = {
    "deadline": None,
    "database": None,
    "print_blob": True,
    "suppress_health_check": [
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
        HealthCheck.function_scoped_fixture,
    ],
}
settings.register_profile("ci", max_examples=60, derandomize=True, **_COMMON)
settings.register_profile("long", max_examples=400, **_COMMON)


def pytest_configure(config):
    settings.load_profile(config.getoption("--hypothesis-profile", None) or "ci")
