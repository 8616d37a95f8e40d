"""check_grad says where a gradient is wrong; detect_anomaly says where a nan or inf came from."""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy", reason="some of the checked functions take arrays")


def wrong(x, y):
    """x·y with the rule of x written wrongly."""
    out = type(x)(x.data * y.data, (x, y), "wrong")

    def push():
        x.grad += 3 * out.grad
        y.grad += x.data * out.grad

    out._backward = push
    return out


class TestCheckGrad:
    def test_right_gradients_pass(self, mg, mgmath):
        m = mgmath
        assert mg.check_grad(lambda x, y: m.sin(x) * y / (1 + x * x), 0.5, -2.0) is True
        assert mg.check_grad(lambda p: [p["a"] * p["b"][1], m.log(p["b"][0])], {"a": 1.0, "b": [1e-3, 4.0]}) is True
        assert mg.check_grad(lambda a: (a * a).sum() * a[0, 1], np.arange(4.0).reshape(2, 2)) is True
        assert mg.check_grad(lambda x: x.relu() + x.tanh(), 0.3) is True

    @pytest.mark.parametrize("order", [1, 2, 3])
    def test_higher_orders(self, mg, mgmath, order):
        assert mg.check_grad(
            lambda x, v: mgmath.exp(x) * v[0] ** 3 + mgmath.sigmoid(v[1]), 0.3, [0.7, -1.1], order=order
        )

    def test_a_wrong_gradient_is_listed_with_both_numbers(self, mg):
        with pytest.raises(mg.GradientError) as caught:
            mg.check_grad(wrong, 1.0, 2.0)
        text = str(caught.value)
        assert "the gradient of wrong differs from finite differences in 1 of 2 numbers" in text
        assert "argument 0: backward() gives 3, finite differences 2" in text
        assert "argument 1" not in text
        assert isinstance(caught.value, AssertionError)

    def test_positions_in_structures_are_named(self, mg, mgmath):
        bad = mg.primitive(lambda x, y: 5 * x)(lambda x: x * x)
        for argument, place in [
            ({"w": [1.0, 2.0]}, "argument 1 at ['w'][1]"),
            ([[1.0, 2.0]], "argument 1 at [0][1]"),
            (np.ones((2, 3)), "argument 1 at [1, 2]"),
        ]:

            def f(x, p):
                last = p["w"][1] if isinstance(p, dict) else p[1, 2] if not isinstance(p, list) else p[0][1]
                return x + bad(last)

            with pytest.raises(mg.GradientError) as caught:
                mg.check_grad(f, 1.0, argument)
            assert place in str(caught.value)

    def test_a_wrong_second_derivative_is_found(self, mg, mgmath):
        hidden = mg.primitive(lambda x, y: mgmath.floor(x * 1e6) / 1e6 * 2)(lambda x: x * x)
        assert mg.check_grad(hidden, 0.5, rtol=1e-4)
        with pytest.raises(mg.GradientError, match="second derivative"):
            mg.check_grad(hidden, 0.5, order=2, rtol=1e-4)

    def test_argnums(self, mg):
        assert mg.check_grad(wrong, mg.Value(1.0), 2.0, argnums=1)
        with pytest.raises(mg.GradientError):
            mg.check_grad(wrong, 1.0, 2.0, argnums=(1, 0))
        assert mg.check_grad(lambda x, name, n: x**n, 2.0, "text", 3, argnums=0)

    def test_a_kink_is_suspected(self, mg):
        with pytest.raises(mg.GradientError, match="may have a kink"):
            mg.check_grad(lambda x: x.relu(), 0.0)

    def test_gradients_are_left_as_they_were(self, mg, Value):
        w = Value(2.0)
        w.grad = 7.0
        assert mg.check_grad(lambda x: w * x * x, 3.0)
        assert w.grad == 7.0

    def test_compiled_functions(self, mg, mgmath):
        w = mg.Value(0.5)
        f = lambda x, y: mgmath.tanh(w * x) * y if x > 0 else x * y  # noqa: E731
        assert mg.check_grad(mg.jit(f), 0.5, 2.0, order=2)
        assert mg.check_grad(mg.jit(f), -0.5, 2.0)
        assert mg.check_grad(mg.vmap(lambda x, y: mgmath.sin(x) * y), np.array([0.5, 2.0]), np.array([1.0, 2.0]))

    def test_compiled_code_that_is_wrong_is_caught(self, mg, monkeypatch):
        if not mg.engine.NATIVE:
            pytest.skip("there is no machine code beside the Python twin")
        pytest.importorskip("llvmlite")
        from micrograd.ops import OPS

        monkeypatch.setattr(OPS["sub"], "llvm", "fadd {F}{T} {0}, {1}")
        with pytest.raises(mg.GradientError):
            mg.check_grad(mg.jit(lambda x, y: (x - y) * y), 0.5, 2.0)  # x * y - y would be one fused operation

    def test_a_result_without_numbers_is_refused(self, mg):
        for f in (lambda x: "text", lambda x: None, lambda x: []):
            with pytest.raises(TypeError, match="does not return a number, so there is nothing to check"):
                mg.check_grad(f, 1.0)

    @pytest.mark.parametrize("argnums", [2, -3, (0, 5)])
    def test_an_argument_that_did_not_come(self, mg, argnums):
        with pytest.raises(TypeError, match=r"asks for argument -?\d, but 2 were given"):
            mg.check_grad(lambda x, y: x * y, 1.0, 2.0, argnums=argnums)

    def test_a_point_beyond_which_there_is_nothing(self, mg):
        with pytest.raises(mg.GradientError, match="finite differences nan"):
            mg.check_grad(lambda x: x * x, 1e200)

    def test_it_needs_something_to_check(self, mg):
        with pytest.raises(TypeError, match="an argument that holds a number"):
            mg.check_grad(lambda s: 1.0, "text")
        with pytest.raises(ValueError, match="order=0"):
            mg.check_grad(lambda x: x, 1.0, order=0)


class TestForward:
    def test_op_inputs_and_line_are_named(self, mg, mgmath, Value):
        x = Value(0.0, label="x")
        with pytest.raises(mg.AnomalyError) as caught, mg.detect_anomaly():
            mgmath.log(x * 2)  # here
        text = str(caught.value)
        assert text.startswith("log gives -inf, at test_checks.py:")
        assert "mgmath.log(x * 2)  # here" in text
        assert "log(0.0) = -inf" in text

    @pytest.mark.parametrize(
        "f",
        [
            lambda m, x: x / (x - x),
            lambda m, x: m.exp(x * 1000),
            lambda m, x: m.sqrt(-x),
            lambda m, x: (x * 0) ** -1.0,
            lambda m, x: x * 1e308 * 1e10,
            lambda m, x: m.logsumexp([x, x * float("nan")]),
        ],
    )
    def test_whatever_is_not_finite(self, mg, mgmath, Value, f):
        with pytest.raises(mg.AnomalyError, match=r"gives (nan|inf|-inf), at test_checks.py"), mg.detect_anomaly():
            f(mgmath, Value(1.0))

    def test_labels_are_shown(self, mg, Value):
        with pytest.raises(mg.AnomalyError, match=r"rate=1.0 / time=0.0 = inf"), mg.detect_anomaly():
            Value(1.0, label="rate") / Value(0.0, label="time")

    def test_an_infinity_on_purpose_is_no_anomaly(self, mg, mgmath, Value):
        with mg.detect_anomaly():
            best = Value(float("-inf"))
            for x in (1.0, 3.0, 2.0):
                best = mgmath.max(best, Value(x))
            assert best.data == 3.0
            assert (Value(float("inf")) + 1).data == float("inf")

    def test_a_nan_that_came_in_is_said_to_have(self, mg, Value):
        with pytest.raises(mg.AnomalyError, match="An input was nan already"), mg.detect_anomaly():
            Value(float("nan")) * 2

    def test_outside_of_it_nothing_is_raised(self, mg, mgmath, Value, engine):
        with mg.detect_anomaly():
            pass
        assert mgmath.log(Value(0.0)).data == float("-inf")
        with pytest.raises(mg.AnomalyError), mg.detect_anomaly():
            mgmath.log(Value(0.0))
        assert mgmath.log(Value(0.0)).data == float("-inf")
        watch = engine.set_watch(None, None)
        engine.set_watch(*watch)
        assert watch == (None, None, False)

    def test_it_nests(self, mg, mgmath, Value):
        with mg.detect_anomaly():
            with mg.detect_anomaly():
                pass
            with pytest.raises(mg.AnomalyError):
                mgmath.log(Value(0.0))


class TestBackward:
    def test_the_first_gradient_that_is_not_finite(self, mg, mgmath, Value):
        x = Value(0.0, label="x")
        with pytest.raises(mg.AnomalyError) as caught, mg.detect_anomaly():
            y = mgmath.sqrt(x)  # the culprit
            (y * 2 + 1).backward()
        text = str(caught.value)
        assert text.startswith("backward() through sqrt gives the gradient inf")
        assert "# the culprit" in text
        assert "1/(2y) is inf" in text
        assert "input 0 (x)" in text

    def test_zero_times_inf(self, mg, mgmath, Value):
        x = Value(0.0)
        with pytest.raises(mg.AnomalyError, match=r"through sqrt gives the gradient nan"), mg.detect_anomaly():
            (mgmath.sqrt(x) * 0.0).backward()

    def test_a_hand_written_rule(self, mg, Value):
        x = Value(1.0)
        with pytest.raises(mg.AnomalyError, match="hand-written _backward of mine"), mg.detect_anomaly():
            out = Value(1.0, (x,), "mine")
            out._backward = lambda: setattr(x, "grad", float("nan"))
            (out * 2).backward()

    def test_a_pass_that_is_fine_goes_through_once(self, mg, mgmath, Value):
        x = Value(2.0)
        with mg.detect_anomaly():
            for k in (1, 2, 3):
                (x * x).backward()
                assert x.grad == 4.0 * k

    def test_transforms(self, mg, mgmath):
        def f(x):
            return mgmath.sqrt(x)  # inside f

        for wrap in (mg.grad, mg.jacobian, lambda g: mg.grad(mg.grad(g))):
            with pytest.raises(mg.AnomalyError, match="# inside f"), mg.detect_anomaly():
                wrap(f)(0.0)
        with mg.detect_anomaly():
            assert mg.grad(f)(4.0) == 0.25


class TestCompiled:
    def test_a_point(self, mg, mgmath):
        def f(x):
            return mgmath.log(x) * 2  # in compiled code

        g = mg.jit(f, wait=True)
        assert g(1.0) == 0.0
        with mg.detect_anomaly():
            assert g(1.0) == 0.0
        with (
            pytest.raises(
                mg.AnomalyError, match=r"(?s)log gives -inf, at test_checks.py.*# in compiled code.*log\(0.0\)"
            ),
            mg.detect_anomaly(),
        ):
            g(0.0)
        assert g(0.0) == float("-inf")

    def test_its_first_call_and_its_gradient(self, mg, mgmath):
        f = lambda x: mgmath.sqrt(x)  # noqa: E731
        for g in (mg.jit(mg.grad(f), wait=True), mg.grad(mg.jit(f, wait=True))):
            for _ in range(2):
                with pytest.raises(mg.AnomalyError, match="through sqrt"), mg.detect_anomaly():
                    g(0.0)

    def test_backward_through_compiled_code(self, mg, mgmath, Value):
        w = Value(0.0)
        g = mg.jit(lambda x: mgmath.sqrt(x * w), wait=True)
        g(1.0)
        with pytest.raises(mg.AnomalyError, match=r"backward.. through sqrt .*test_checks.py"), mg.detect_anomaly():
            g(1.0).backward()

    def test_rows(self, mg, mgmath, Value):
        g = mg.vmap(lambda x: mgmath.log(x))
        x = np.array([1.0, 2.0, -1.0, 0.0])
        with np.errstate(all="ignore"):
            g(x)
            with (
                pytest.raises(mg.AnomalyError, match=r"in row 2: log gives nan, at test_checks.py"),
                mg.detect_anomaly(),
            ):
                g(x)
        with mg.detect_anomaly():
            assert g(x[:2])[0] == 0.0

    def test_an_infinity_that_came_in_is_no_anomaly_here_either(self, mg, mgmath):
        np = pytest.importorskip("numpy")
        inf = float("inf")
        f = mg.jit(lambda x: mgmath.max(x, 2.0) * 2.0, wait=mg.engine.NATIVE)
        with mg.detect_anomaly():
            for _ in range(2):
                assert f(inf) == inf
                assert mg.vmap(lambda x: x * 2.0)(np.array([1.0, inf])).tolist() == [2.0, inf]
                assert mg.vmap(lambda x: x * 2.0, reduce="sum")(np.array([1.0, inf])) == inf
            with pytest.raises(mg.AnomalyError, match=r"in row 1: - gives nan"):
                mg.vmap(lambda x: x - x)(np.array([1.0, inf]))

    def test_reduced_rows_and_their_backward(self, mg, mgmath, Value):
        w = Value(0.0)
        g = mg.vmap(lambda x: mgmath.sqrt(x * w), reduce="sum")
        x = np.array([1.0, 2.0])
        for _ in range(2):
            with pytest.raises(mg.AnomalyError, match="through sqrt"), mg.detect_anomaly():
                g(x).backward()
