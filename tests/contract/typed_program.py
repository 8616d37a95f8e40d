"""A program that uses the public names as an ordinary user would; test_typing.py checks it with mypy --strict and pyright."""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

import micrograd
from micrograd import (
    Value,
    check_grad,
    custom_vjp,
    data,
    detect_anomaly,
    draw_dot,
    explore,
    export_text,
    grad,
    hessian,
    hvp,
    import_text,
    jacfwd,
    jacobian,
    jacrev,
    jit,
    jvp,
    least_squares,
    linearize,
    losses,
    math,
    minimize,
    nn,
    no_grad,
    optim,
    primitive,
    random,
    remat,
    root,
    train,
    value_and_grad,
    vjp,
    vmap,
)
from micrograd.engine import NATIVE

a, b = Value(2.0, label="a"), Value(-3)
a32, third, zero_d = Value(np.float32(2.0)), Value(Fraction(1, 3)), Value(np.array(2.0))
c: Value = (a * b + 10).tanh()
c += 1
d: Value = 2**c - c / 3 % 2 // 1
c.backward()
c.backward(gradient=2.0)
slope: float = a.grad
number: float = c.data
a.data = 4
a.data += 0.5
inputs: tuple[Value, ...] = c._prev
label: str = a.label
less: bool = a < 3.0
for v in sorted([a, b]):
    v.zero_grad()
e = c.relu().sigmoid().log1p().leaky_relu(0.1).gelu().detach()
exact: float = float(e)
whole: int = round(e) + int(e)
native: bool = NATIVE
version: str = micrograd.__version__


@no_grad()
def predict(x: float) -> Value:
    return a * x


p: Value = predict(2.0)
nearest: int = round(c)
tenths: float = round(c, 1)
ufunc = np.exp(a)


@primitive(lambda x, y: 3 * x * x)
def cube(x: float) -> float:
    return x * x * x


cubed: float = cube(2.0)
cubed_value: Value = cube(a)


# math: a number in gives a number out, a Value in gives a Value out
x1: float = math.exp(1.0)
x2: Value = math.exp(a)
x3: float = math.atan2(1.0, 2)
x4: Value = math.atan2(1.0, a)
x5: float = math.sum([1.0, 2.0])
x6: Value = math.sum([a, b])
x7: Value = math.max(a, 0.0)
x8: list[Value] = math.softmax([a, b])
x9: int = math.floor(2.5)
x10: Value = math.where(a > 0, a, 0.0)
x11: float = math.pi


# transforms and compiled functions keep the signature
def area(width: float, height: float) -> float:
    return math.sqrt(width) * height


g = grad(area)
g(1.0, height=2.0)
value, gradient = value_and_grad(area, (0, 1))(1.0, 2.0)
size: float = value
fast = jit(area)
result: float = fast(1.0, 2.0)
text: str = fast.source(1.0, 2.0)
why: str = fast.explain(1.0, 2.0)
print(len(fast.tape(1.0, 2.0)))


@jit(exact=True)
def power(x: float, n: int) -> float:
    return x**n


y: float = power(2.0, 3)
mean_area: float = vmap(area, in_axes=(0, None), reduce="mean")(np.ones(3), 2.0)
areas: NDArray[np.float64] = vmap(area)(np.ones(3), np.ones(3))
pairs = vmap(value_and_grad(area))(np.ones(3), np.ones(3))[1]
by_hand = vmap(lambda x: {"a": x})(np.ones(3))["a"]
both = jit(vmap(value_and_grad(area)))
J = jacobian(lambda x: [x, x * x])(2.0)
H = hessian(lambda x: x**3)(2.0)
out, tangent = jvp(area, (1.0, 2.0), (1.0, 0.0))
moved: float = tangent
same, pull = vjp(area, 1.0, 2.0)
pulled: tuple[float, float] = pull(1.0)
sine: float = jit(math.sin)(1.0)
steep = grad(math.atan2)(1.0, 2.0), grad(grad(lambda x: math.sin(x) * x))(1.0), jit(grad(lambda p: p["a"]))({"a": 1.0})
hv = hvp(lambda x: x**3, (2.0,), (1.0,))
check_grad(area, 1.0, 2.0)
columns = jacfwd(area)(1.0, 2.0), jacrev(area)(1.0, height=2.0)
sparse = jacobian(lambda x: [x[0]], sparse=True)([2.0])
linear, push = linearize(area, 1.0, 2.0)
again = remat(area)
kept: float = again(1.0, 2.0)
ruled = custom_vjp(area)
ruled.defvjp(lambda w, h: (w * h, h), lambda h, c: (c * h, None))
imported: Callable[..., object] = import_text(export_text(area, 1.0, 2.0))
nested = vmap(lambda p: p["a"], in_axes=({"a": 1},), out_axes=1)({"a": np.ones((2, 3))})
array = np.array([1.0, 2.0]) * a
total: Value = (np.array([1.0, 2.0]) / a - a)[0]
summed = (np.ones(3) ** a).sum()
scaled: Value = 2 * a + np.float64(2.0) * a + np.int64(3) * a
with detect_anomaly():
    area(1.0, 2.0)

# nn, optim, train
model = nn.MLP(2, [4, 1], rng=0)
weights: list[Value] = model.parameters()
model.zero_grad()
X, targets = data.moons(20, seed=0)
optimizer = optim.SGD(model.parameters(), lr=0.1)
history = train.fit(model, (X, [2 * t - 1 for t in targets]), losses.max_margin, optimizer, epochs=1, quiet=True)
final: float = history.loss[-1]
score: Value = nn.Neuron(2)([1.0, Value(2.0)])
hidden: list[Value] = nn.Linear(2, 3)(np.ones(2))
bent: list[Value] = nn.Sequential(nn.Tanh(), nn.Dropout(0.1))[0](hidden) if whole else nn.Tanh()(hidden)
chances: list[Value] = nn.Softmax()(hidden)
logits: list[list[Value]] = nn.GPT(5, block=4, width=4, heads=2, layers=1)([0, 1, 2])
model([1.0, 2.0]).backward()
one: Value = model([1.0, 2.0])  # the sizes of layers are not part of a type: a result may be used as a Value ...
three: list[Value] = nn.MLP(2, [3])([1.0, 2.0])  # ... or as a list of them
first: Value = nn.Layer(2, 3)([1.0, 2.0])[0]
squares: Value = math.sum([(model(row) - 1.0) ** 2 for row in ([1.0, 2.0], [0.0, 1.0])])
squares.backward()
margin: Value = losses.max_margin(list(map(model, [[1.0, 2.0], [0.0, 1.0]])), [1, -1])
stack: list[Value] = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))([1.0, 2.0])
probabilities: list[Value] = nn.Sequential(nn.MLP(2, [4, 3]), nn.Softmax())([1.0, 2.0])
picked = nn.Sequential(nn.Linear(2, 3), lambda h: h[0])([1.0, 2.0])
seven: list[Value] = nn.Sequential(
    nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2)
)([1.0, 2.0])
deep = nn.Sequential(*[nn.Linear(2, 2) for _ in range(8)])([1.0, 2.0])
error: Value = losses.mse([score, score], [1.0, -1.0])
entropy: Value = losses.cross_entropy(logits, [1, 2, 3], label_smoothing=0.1)
smooth: Value = losses.huber(hidden, np.ones(3), delta=0.5) + losses.l2(model.parameters())
plain: float = losses.binary_cross_entropy([0.5, 1.5], [0, 1], reduction="sum")
each: list[Value] = losses.max_margin(scores=[score], labels=[1], reduction="none")
floats: list[float] = losses.huber([0.5, 1.5], [0.0, 1.0], delta=0.5, reduction="none")
least = minimize(lambda x: (x[0] - 1.0) ** 2, [0.0])
lowest: list[float] = least.x
height: float = least.fun
done: bool = minimize(lambda x: x * x, 1.0, method="BFGS", tol=1e-9).success
named: dict[str, float] = minimize(lambda p: p["a"] ** 2, {"a": 1.0}).x
fitted: list[float] = least_squares(lambda p: [p[0] - 1.0], [0.0]).x
half_of_squares: float = least_squares(lambda p: [p[0] - 1.0], [0.0]).cost
crossing: list[float] = root(lambda x: [x[0] - 1.0], [0.0]).x


quick = jit(model)
quick.zero_grad()
compiled_weights: list[Value] = quick.parameters()
quick_text: str = quick.source([1.0, 2.0])


class Line(nn.Module):
    def __init__(self) -> None:
        self.w, self.b = Value(1.0), Value(0.0)

    def __call__(self, x: float) -> Value:
        return self.w * x + self.b


line: Value = Line()(2.0)


class Spring:
    def __init__(self) -> None:
        self.k = Value(2.0)

    @jit
    def force(self, x: float) -> Value:
        return -self.k * x

    @custom_vjp
    def energy(self, x: float) -> float:
        return x * x


Spring.energy.defvjp(lambda self, x: (x * x, x), lambda x, c: (None, 2.0 * x * c))
pull_back: Value = Spring().force(0.5)
kept_signature: float = ruled(1.0, 2.0)
stored: float = Spring().energy(0.5)
draw: float = random.normal(random.key(0), draw=3)
noise: Value = random.normal(random.key(0), 0.0, a)
page = explore(a * b)
picture: str = str(draw_dot(a * b))
function: Callable[[float, float], float] = fast
# transforms of transforms of a lambda, of which mypy has to find the type from the outside in
slopes_of_rows = vmap(grad(lambda x: x * x))(np.ones(3))
both_of_rows = vmap(jit(value_and_grad(lambda x: x * x)))(np.ones(3))
curvatures = vmap(hessian(lambda x: x * x))(np.ones(3))
exported: str = export_text(grad(lambda x: x * x), 1.0)
smallest = minimize(jit(lambda x: x * x), 1.0).x
check_grad(jit(lambda x: x * x), 2.0)
along = jvp(grad(lambda x: x * x), (1.0,), (1.0,))
back = vjp(remat(lambda x: x * x), 1.0)

# ---- a function of floats and of Values

Number = TypeVar("Number", float, Value)


def wave(x: Number) -> Number:
    """As docs/faq.md says."""
    return math.sin(x) * x


of_floats: float = wave(2.0) + jit(wave)(2.0)
node: Value = wave(Value(2.0)) + jit(wave)(Value(2.0))
steepness: float = grad(wave)(2.0)
