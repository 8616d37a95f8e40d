"""examples/: each script runs, small, and finds what it says it finds."""

import importlib.util
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the examples use NumPy")
pytest.importorskip("llvmlite", reason="the examples compile")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_script_has_a_test():
    tested = {"moons", "names", "options", "lotka", "newton"}
    assert {p.stem for p in EXAMPLES.glob("*.py")} == tested


def test_moons_are_told_apart(capsys):
    loss, right = example("moons").main(rows=60, steps=60)
    assert loss < 0.1 and right == 1.0
    assert "100 % right" in capsys.readouterr().out


def test_names_are_learned_with_a_kernel_for_each_length():
    before, after = example("names").main(lengths=(3, 4), steps=30, batch=16, width=4, quiet=True)
    assert after < before - 0.2


@pytest.fixture(scope="module")
def prices():
    module = example("options")
    return module, module.main(paths=20_000, dates=16, monitored=8, quiet=True)


def test_the_derivatives_of_the_asian_call_are_those_of_finite_differences(prices):
    module, found = prices
    z = np.random.default_rng(7).standard_normal((16, 20_000))
    price = module.mean_over_paths(module.asian)
    for k, slope in enumerate(found["Asian call"][1:]):
        low, high = list(module.MARKET), list(module.MARKET)
        h = 1e-4 * module.MARKET[k]
        low[k], high[k] = low[k] - h, high[k] + h
        assert slope == pytest.approx((price(*high, z)[0] - price(*low, z)[0]) / (2 * h), rel=2e-3)


def test_the_value_of_the_asian_call_is_that_of_numpy(prices):
    module, found = prices
    spot, strike, vol, rate, maturity = module.MARKET
    z = np.random.default_rng(7).standard_normal((16, 20_000))
    dt = maturity / 16
    paths = spot * np.exp(np.cumsum((rate - 0.5 * vol**2) * dt + vol * np.sqrt(dt) * z, axis=0))
    expected = np.mean(np.exp(-rate * maturity) * np.maximum(paths.mean(0) - strike, 0.0))
    assert found["Asian call"][0] == pytest.approx(expected, rel=1e-12)


def test_the_barrier_option_agrees_with_its_closed_form(prices):
    _, found = prices
    simulated, exact = found["barrier call"], found["barrier call, exactly"]
    assert simulated[0] == pytest.approx(exact[0], rel=0.03)
    for by, (a, b) in enumerate(zip(simulated[1:], exact[1:], strict=True)):
        assert a == pytest.approx(b, rel=0.1, abs=0.01), f"derivative {by}"


def test_the_rates_of_the_ode_are_found_again():
    module = example("lotka")
    rates = module.main(rounds=8, quiet=True)
    assert rates == pytest.approx(list(module.TRUE), rel=0.03)


def test_newton_and_gauss_newton_arrive():
    lowest, fitted = example("newton").main(quiet=True)
    assert lowest == pytest.approx([1.0, 1.0], abs=1e-9)
    assert fitted == pytest.approx([2.0, 0.5, 3.0], abs=0.05)
