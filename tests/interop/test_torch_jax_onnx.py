"""to_torch, to_jax and export_onnx, each against the other library's own arithmetic."""

from __future__ import annotations

import pytest

from micrograd import CompileError, export_onnx, math, nn, to_jax, to_torch

np = pytest.importorskip("numpy")
pytest.importorskip("llvmlite")


def ours(x, y):
    return math.sin(x) * y + math.exp(-x * x) / (1.0 + y * y)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is the oracle here")


class TestTorch:
    def theirs(self, torch, x, y):
        return torch.sin(x) * y + torch.exp(-x * x) / (1.0 + y * y)

    def inputs(self, torch, dtype=None):
        x = torch.linspace(-1.0, 2.0, 7, dtype=dtype or torch.float64).reshape(7, 1).requires_grad_()
        y = torch.linspace(0.5, 1.5, 3, dtype=dtype or torch.float64).requires_grad_()
        return x, y

    def test_value_gradient_and_second_derivatives_with_broadcasting(self, torch):
        found = []
        for f in (to_torch(ours), lambda x, y: self.theirs(torch, x, y)):
            x, y = self.inputs(torch)
            z = f(x, y)
            first = torch.autograd.grad((z * z).sum(), (x, y), create_graph=True)
            second = torch.autograd.grad(first[0].sum() + (first[1] ** 2).sum(), (x, y))
            found.append([z, *first, *second])
        for a, b in zip(*found):
            assert a.shape == b.shape and torch.allclose(a, b, rtol=1e-12, atol=1e-14)

    def test_gradcheck(self, torch):
        x, y = self.inputs(torch)
        assert torch.autograd.gradcheck(to_torch(ours), (x, y))
        assert torch.autograd.gradgradcheck(to_torch(ours), (x, y))

    @pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # by torch.func itself
    def test_the_transforms_of_torch_func(self, torch):
        transforms = torch.func
        x, y = (t.detach().flatten()[:3] for t in self.inputs(torch))
        point = torch.stack([x[1], y[1]])
        found = []
        for f in (to_torch(ours), lambda x, y: self.theirs(torch, x, y)):
            of_pair = lambda p, f=f: f(p[0], p[1])  # noqa: E731
            found.append([
                transforms.vmap(f, in_dims=(0, None))(x, y),
                transforms.vmap(transforms.vmap(f, in_dims=(0, None)), in_dims=(None, 0), out_dims=1)(x, y),
                transforms.vmap(transforms.grad(f, argnums=1))(x, y),
                transforms.jvp(f, (x, y), (y, x))[1],
                transforms.jvp(lambda v, f=f: f(v, y), (x,), (y,))[1],
                transforms.hessian(of_pair)(point),  # forward over reverse
                transforms.jacfwd(transforms.jacfwd(of_pair))(point),
            ])  # fmt: skip
        for a, b in zip(*found):
            assert a.shape == b.shape and torch.allclose(a, b, rtol=1e-12, atol=1e-14)

    def test_dtype_and_structure_are_kept(self, torch):
        x, y = self.inputs(torch, torch.float32)
        z = to_torch(lambda x, y: {"sum": x + y, "pair": (x * y, 2.0)})(x, y)
        assert z["sum"].dtype == torch.float32 and z["pair"][0].shape == (7, 3)
        assert z["pair"][1].shape == (7, 3) and (z["pair"][1] == 2.0).all()
        z["sum"].sum().backward()
        assert x.grad.flatten().tolist() == [3.0] * 7

    def test_numbers_scalars_and_empty_tensors(self, torch):
        f = to_torch(ours)
        assert f(torch.tensor(0.5, dtype=torch.float64), 2.0).shape == ()
        assert f(torch.empty(0, dtype=torch.float64), 2.0).shape == (0,)

    def test_complex_tensors_are_refused(self, torch):
        with pytest.raises(TypeError, match="takes no complex tensors"):
            to_torch(ours)(torch.tensor([1j]), 1.0)

    def test_branches_by_row(self, torch):
        x = torch.tensor([-1.0, 2.0, -3.0], dtype=torch.float64, requires_grad=True)
        to_torch(lambda v: v * v if v > 0 else -v)(x).sum().backward()
        assert x.grad.tolist() == [-1.0, 4.0, -1.0]


class TestJax:
    @pytest.fixture
    def jax(self):
        return pytest.importorskip("jax", reason="JAX is the oracle here")

    def test_value_and_gradients_under_jit_grad_and_vmap(self, jax):
        jnp = jax.numpy
        theirs = lambda x, y: jnp.sin(x) * y + jnp.exp(-x * x) / (1.0 + y * y)  # noqa: E731
        f = to_jax(ours)
        x, y = jnp.linspace(-1.0, 2.0, 5), jnp.linspace(0.5, 1.5, 5)
        close = lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)  # noqa: E731
        close(jax.jit(f)(x, y), theirs(x, y))
        close(f(x[:, None], y), theirs(x[:, None], y))
        for argnum in (0, 1):
            close(jax.vmap(jax.grad(f, argnum))(x, y), jax.vmap(jax.grad(theirs, argnum))(x, y))
            close(jax.jit(jax.grad(lambda *a: f(*a).sum(), argnum))(x, y), jax.vmap(jax.grad(theirs, argnum))(x, y))
        close(jax.vmap(jax.grad(jax.grad(f)))(x, y), jax.vmap(jax.grad(jax.grad(theirs)))(x, y))

    def test_forward_mode_and_forward_over_reverse(self, jax):
        jnp = jax.numpy
        theirs = lambda x, y: jnp.sin(x) * y + jnp.exp(-x * x) / (1.0 + y * y)  # noqa: E731
        x, y = jnp.linspace(-1.0, 2.0, 5), jnp.linspace(0.5, 1.5, 5)
        found = []
        for f in (to_jax(ours), theirs):
            found.append([
                *jax.jvp(f, (x, y), (y, x)),
                jax.jvp(lambda v, f=f: f(v, y), (x,), (y,))[1],
                jax.jacfwd(f, 1)(x, y),
                jax.jacrev(f, 1)(x, y),
                *jax.hessian(f, (0, 1))(0.3, 0.7)[0],
                jax.jit(jax.grad(lambda v, f=f: jax.lax.scan(lambda c, t: (f(c, t), c), v, y)[0]))(0.3),
            ])  # fmt: skip
        for a, b in zip(*found):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)

    def test_derivatives_of_several_results(self, jax):
        f = to_jax(lambda x, y: {"a": x * y, "b": (x * y * y, 2.0)})
        for jacobian in (jax.jacrev, jax.jacfwd):
            slopes = jax.tree.map(float, jacobian(f, (0, 1))(3.0, 2.0))
            assert slopes == {"a": (2.0, 3.0), "b": ((4.0, 12.0), (0.0, 0.0))}

    def test_an_argument_that_does_not_vary_adds_nothing(self, jax):
        """The partial by x is infinite at 0; a product with a tangent of 0 would be nan."""
        assert float(jax.grad(to_jax(lambda x, y: math.sqrt(x) + y), 1)(0.0, 2.0)) == 1.0

    def test_the_dtype_of_results_is_that_of_jax(self, jax):
        jnp, f = jax.numpy, to_jax(ours)
        with jax.experimental.enable_x64() if hasattr(jax.experimental, "enable_x64") else jax.enable_x64(True):
            for args in [(1.0, 2.0), (jnp.arange(2), 2), (jnp.arange(2, dtype="float32"), 2.0), (1, jnp.float16(2.0))]:
                want = (jnp.sin(args[0]) * args[1]).dtype
                assert f(*args).dtype == jax.jit(f)(*args).dtype == want
            assert float(jax.jit(f)(1.0, 2.0)) == pytest.approx(float(ours(1.0, 2.0)), rel=1e-14)

    def test_several_results(self, jax):
        a, (b,) = to_jax(lambda x: (x * 2.0, [x + 1.0]))(jax.numpy.arange(3.0))
        assert a.tolist() == [0.0, 2.0, 4.0] and b.tolist() == [1.0, 2.0, 3.0]

    def test_complex_arrays_are_refused(self, jax):
        with pytest.raises(TypeError, match="takes no complex arrays"):
            to_jax(ours)(jax.numpy.array([1j]), 1.0)


class TestOnnx:
    @pytest.fixture
    def run(self):
        onnx = pytest.importorskip("onnx")
        ort = pytest.importorskip("onnxruntime")

        def run(model, x):
            onnx.checker.check_model(model)
            session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            return session.run(None, {"x": np.asarray(x, dtype=np.float32)})[0]

        return run

    def test_a_formula(self, run):
        rows = np.random.default_rng(0).uniform(0.2, 0.9, size=(6, 3))

        def f(a, b, c):
            return [math.tanh(a * b) + math.where(a < c, c, -b), math.max(a, b) ** c, 2.0]

        found = run(export_onnx(f, 0.1, 0.2, 0.3), rows)
        assert found == pytest.approx(np.array([f(*row) for row in rows.tolist()]), rel=1e-5)

    def test_a_network(self, run):
        model = nn.MLP(2, [8, 3], rng=0)
        rows = np.random.default_rng(1).normal(size=(5, 2))
        want = [[float(v) for v in model(row)] for row in rows.tolist()]
        assert run(export_onnx(model, [0.0, 0.0]), rows) == pytest.approx(np.array(want), rel=1e-4, abs=1e-6)

    def test_branches_and_loops(self, run):
        def f(a, b):
            low, _, high = sorted([a, b, 0.5])
            total = 0.0 if a > b else -b
            for i in range(1000):
                if total < 3.0:
                    total = total + a / (i + 1.0)
            tree = [a * j - b for j in range(30)]
            for n in range(29, 0, -1):
                tree = [max(0.5 * (tree[j] + tree[j + 1]), b) for j in range(n)]
            return [low, high - a if a != b else 7.0, total, tree[0]]

        rows = np.random.default_rng(2).uniform(-1.0, 1.0, size=(40, 2)).astype(np.float32)
        rows[0, 0] = rows[0, 1]
        want = [[float(v) for v in f(*row)] for row in rows.tolist()]
        assert run(export_onnx(f, 0.1, 0.2), rows) == pytest.approx(np.array(want), rel=1e-4, abs=1e-4)

    def test_a_row_that_does_what_is_not_merged_gives_nan(self, run):
        rows = np.array([[0.5, 2.0], [np.nan, 1.0], [3.0, np.nan], [3.0, 1.0]], dtype=np.float32)
        found = run(export_onnx(lambda a, b: sorted([a, b])[0] * 2.0, 0.1, 0.2), rows)
        np.testing.assert_array_equal(found[:, 0], [1.0, np.nan, np.nan, 2.0])

    def test_branches_that_are_not_merged_are_refused(self):
        pytest.importorskip("onnx")
        with pytest.raises(CompileError, match="whose branches can be merged"):
            export_onnx(lambda a: a * float(str(int(a))), 2.5)

    def test_whole_numbers_and_items_by_them(self, run):
        table = [float(k * k) for k in range(12)]
        rows = np.array([[2.5], [3.5], [-1.75], [0.25]], dtype=np.float32)
        found = run(export_onnx(lambda a: int(a) * table[round(a) % 12], 2.5), rows)
        np.testing.assert_array_equal(found[:, 0], [2 * 4.0, 3 * 16.0, -1 * 100.0, 0.0])

    def test_a_loop_that_depends_on_the_numbers_is_refused(self):
        pytest.importorskip("onnx")

        def halved(x):
            while x > 1.0:
                x = x * 0.5
            return x

        with pytest.raises(CompileError, match="depend on the numbers"):
            export_onnx(halved, 3.0)

    def test_every_constant_is_read_by_a_node(self):
        pytest.importorskip("onnx")
        graph = export_onnx(lambda a, b: a * b + 1.0, 2.0, 3.0).graph
        assert {c.name for c in graph.initializer} <= {name for node in graph.node for name in node.input}

    def test_what_onnx_has_no_operator_for_is_named(self):
        pytest.importorskip("onnx")
        with pytest.raises(CompileError, match="no operator of ONNX for 'atan2'"):
            export_onnx(math.atan2, 1.0, 2.0)

    @pytest.mark.parametrize("name", ["log1p", "expm1", "erfc"])
    def test_what_takes_several_operators(self, run, name):
        f = getattr(math, name)
        points = [1e-6, -1e-6, 3e-8, 0.3, -0.3, 0.7, -0.7, 1.5, 3.0, 20.0, 0.0, float("inf"), float("nan")]
        points += [-0.99, -1.0, -2.0] if name == "log1p" else [-3.0, -200.0, float("-inf")]
        rows = np.array(points, dtype=np.float32).reshape(-1, 1)
        want = [f(float(x)) for x in rows[:, 0]]
        found = run(export_onnx(f, 0.5), rows)[:, 0]
        assert found.tolist() == pytest.approx(want, rel=1e-6, abs=2e-7 if name == "erfc" else 0.0, nan_ok=True)

    def test_classifiers_with_softmax_and_gelu(self, run):
        model = nn.Sequential(nn.Linear(2, 4, rng=0), nn.GELU(), nn.Linear(4, 3, rng=1), nn.Softmax())
        rows = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
        want = [[v.data for v in model(row)] for row in rows.astype(float)]
        assert run(export_onnx(model, [0.0, 0.0]), rows) == pytest.approx(np.array(want), rel=1e-4, abs=1e-6)
