"""The table: the only mathematics in the package.

One row an op: its value, one partial per input, what the simplifier may know of it, and how each language spells it.
A partial is d(output)/d(one input), a function of the inputs and the output `y`. Values and partials are written with
`+ - *`, unary minus and the table's own operations (`f.exp(x)`, `f.div(1.0, x)`), so that one rule runs on floats
(the engines), on the references of a tape (the adjoint, and its adjoint again) and on text (`tools/gen_ops_h.py`).

Conventions, all as PyTorch has them: relu, abs and sign have slope 0 at 0; leaky_relu has its negative slope there, elu
its alpha; max and min share the gradient equally at a tie and pass nan on; x**0 has slope 0; floor, ceil, round, sign,
floordiv and the comparisons have slope 0 everywhere. Arithmetic is IEEE 754: nothing raises, nothing becomes complex.
"""

from __future__ import annotations

import math
from math import copysign, inf, isfinite, nan

from micrograd import philox

TYPE_CHECKING = False  # `typing` costs 5 ms to import, and only a type checker needs it
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Function = Callable[..., Any]


class Op:
    """One row of the table."""

    __slots__ = ("name", "kind", "value", "partials", "symbol", "arity", "commutative", "identity", "absorbing",
                 "rule", "defaults", "steps", "like", "c", "llvm", "cuda", "js")  # fmt: skip

    def __init__(
        self,
        name: str,
        value: Function,
        partials: list[Function],
        *,
        kind: str = "",  # "call": a function of the C library under this name; the others follow from the spelling
        symbol: str = "",  # what `Value._op` says; the name where there is no sign for it
        rule: tuple[str, ...] = (),  # the partials in symbols, for people: a, b are the inputs, y the result
        commutative: bool = False,
        identity: float | None = None,  # op(x, identity) is x, to the bit
        absorbing: float | None = None,  # op(x, absorbing) is absorbing (for finite x: fast-math only)
        nary: bool = False,  # takes a list, and has one partial for all of it, of the facts that it names: see `partials`
        defaults: tuple[float, ...] = (),  # trailing inputs that may be left out (the slope of leaky_relu)
        like: str = "",  # the row that gives its value, of as many of its inputs as that has; only its partials are its own
        c: str = "",  # spellings; where there is none, the value is written in the table's own operations
        llvm: str = "",  # an instruction, a comparison (fcmp), select, or a function: @exp is the C library's
        cuda: str = "",
        js: str = "",
    ) -> None:
        self.name = name
        self.value = value
        self.partials = tuple(partials)
        self.symbol = symbol or name
        self.arity = -1 if nary else len(partials)
        self.rule = rule
        self.commutative = commutative
        self.identity = identity
        self.absorbing = absorbing
        self.defaults = defaults
        self.like = like
        # The inputs in which it is a step: no gradient passes to them, not even 0 times inf.
        self.steps = tuple([k for k, p in enumerate(partials) if p is no_slope])
        if kind == "call":  # one name in every language, but where a row says otherwise
            operands = ", ".join(f"{{{i}}}" for i in range(self.arity))
            c, llvm, js = c or f"{name}({operands})", llvm or f"@{name}", js or f"Math.{name}({operands})"
        self.kind = kind or _kind(self.arity, llvm)
        self.c = c
        self.llvm = llvm
        self.cuda = cuda or c
        self.js = js or c

    def __repr__(self) -> str:
        return f"Op({self.name})"

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        if OPS.get(self.name) is self:
            return _row, (self.name,)
        return super().__reduce_ex__(max(protocol, 2))


def _kind(arity: int, llvm: str) -> str:
    """What sort of op a row is: list, compare, select, call, arithmetic, or composite (written in other rows)."""
    if arity < 0:
        return "list"
    if not llvm:
        return "composite"
    if llvm.startswith("fcmp"):
        return "compare"
    return "select" if llvm == "select" else "call" if llvm.startswith("@") else "arithmetic"


def _row(name: str) -> Op:
    return OPS[name]


def call(op: Op, *args: Any) -> Any:
    """Apply an op to floats, or to whatever operand knows `_apply` (a Value, a tape reference, a text)."""
    for a in args[0] if op.arity < 0 else args:
        if type(a) is not float and not isinstance(a, (int, float)):
            return a._apply(op, args)
    return op.value(*args)


class _Functions:
    """The table's own operations by name: `f.exp(x)`."""

    def __getattr__(self, name: str) -> Function:
        op = OPS[name]

        def function(*args: Any) -> Any:
            return call(op, *args)

        setattr(self, name, function)
        return function


f: Any = _Functions()

# ---- values on floats: the standard library's functions, with IEEE results where those raise


def _ieee(function: Callable[[float], float], odd: bool = False, **poles: float) -> Callable[[float], float]:
    at = {0.0: poles.get("zero", nan), 1.0: poles.get("one", nan), -1.0: poles.get("minus_one", nan)}

    def value(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return -inf if odd and x < 0 else inf
        except ValueError:
            return at.get(x, nan)

    return value


def _div(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        return nan if a == 0 or a != a else copysign(inf, a) * copysign(1.0, b)


def _is_odd(x: float) -> bool:
    return isfinite(x) and math.fmod(x, 2.0) in (1.0, -1.0)


def _pow(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:
        return -inf if a < 0 and _is_odd(b) else inf
    except ValueError:  # zero to a negative power, or a negative number to a fraction
        if a == 0:
            return copysign(inf, a) if _is_odd(b) else inf
        return nan


def _hypot(a: float, b: float) -> float:
    try:
        return abs(complex(a, b))  # the C library's hypot; math.hypot is another algorithm, with other last bits
    except OverflowError:  # Python may say so of a nan too, after another overflow
        return nan if a != a or b != b else inf


def _library(name: str, arity: int = 1) -> Function:
    """A function of the C library itself, for the bits of the C twin, where Python has none or computes its own way."""
    found: list[Function] = []

    def value(*xs: float) -> Any:
        if not found:
            import ctypes
            import sys

            function = getattr(ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None), name)
            function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * arity
            found.append(function)
        return found[0](*xs)

    return value


def _ieee2(function: Callable[[float, float], float]) -> Callable[[float, float], float]:
    def value(a: float, b: float) -> float:
        try:
            return function(a, b)
        except ValueError:
            return nan

    return value


def _copysign(a: Any, b: Any) -> Any:
    """With the sign of -0.0 as that of a number, and a nan taken for positive: its sign means nothing."""
    negative = f.lt(f.where(f.eq(b, 0.0), f.div(1.0, b), b), 0.0)
    return f.where(negative, -f.abs(a), f.abs(a))


# ---- lists: the rules of n-ary ops go through these, so that they run on text too, where a list is a Column (text.py)


def _fold(step: Function, xs: Any, start: Any, *more: Any) -> Any:
    """Step from left to right: step(start, x) for each x; for each row of several lists with `more`."""
    if hasattr(xs, "fold"):
        return xs.fold(step, start, *more)
    if not more:
        for x in xs:
            start = step(start, x)
        return start
    for row in zip(xs, *more, strict=True):
        start = step(start, *row)
    return start


def _each(step: Function, xs: Any, *more: Any) -> Any:
    """The list of step(x) for each x; of step(x, y, ...) with `more`."""
    if hasattr(xs, "each"):
        return xs.each(step, *more)
    return [step(x) for x in xs] if not more else [step(*row) for row in zip(xs, *more, strict=True)]


def _products_before(xs: Any, backwards: bool = False) -> Any:
    """For each x, the product of those before it; backwards, of those behind it."""
    if hasattr(xs, "products_before"):
        return xs.products_before(backwards)
    found: list[Any] = []
    product: Any = 1.0
    for x in reversed(xs) if backwards else xs:
        found.append(product)
        product = product * x
    return found[::-1] if backwards else found


def _count(xs: Any) -> Any:
    return xs.count_all() if hasattr(xs, "count_all") else float(len(xs))


def _halves(xs: Any) -> Any:
    """The two lists of dot, which come in a row."""
    if hasattr(xs, "halves"):
        return xs.halves()
    half = len(xs) // 2
    return xs[:half], xs[half:]


def _dot(xs: Any) -> Any:
    first, second = _halves(xs)
    return _fold(lambda acc, x, y: acc + x * y, first, 0.0, second)


def _not_empty(name: str, xs: Any) -> None:
    if not xs:
        raise ValueError(f"{name} of an empty list has no value")


def _mean(xs: Any) -> Any:
    _not_empty("mean", xs)
    return f.div(_fold(lambda acc, x: acc + x, xs, 0.0), _count(xs))


def _logsumexp(xs: Any) -> Any:
    _not_empty("logsumexp", xs)
    top = _fold(f.max, xs[1:], xs[0])
    top = f.where(f.lt(f.abs(top), inf), top, 0.0)  # inf - inf would be nan
    # The largest ones are counted and the others summed apart, for log1p: log(1 + 0.1) would lose what rounding takes from 0.1.
    rest = _fold(lambda acc, x: acc + f.where(f.eq(x, top), 0.0, f.exp(x - top)), xs, 0.0)
    largest = _fold(lambda acc, x: acc + f.eq(x, top), xs, 0.0)
    return top + f.log1p(rest + (largest - 1.0))


# ---- the pieces that stable values and partials share


# A rule has to be smooth wherever its function is: its derivatives of every order come from differentiating it. So a rule
# has no abs and no constant arm at a point where the function is smooth; where it chooses between two formulas, both are
# the same function there; and the operands of the formula that is not chosen are replaced by harmless ones, since the
# gradient of that formula is multiplied by 0, and 0·inf is nan.


# A partial is multiplied by the cotangent that comes in, and so has to be a number itself. The derivative of 1/u is -1/u²,
# which is 0 in doubles from u = 1e162 on, while its product with exp(x)·exp(y) is a second derivative of log(exp(x) + exp(y)),
# and 0.2. So the rules divide by `_over`: quotient(a, b, t) is a/b, of which the derivative goes by t = relative(b), which moves
# as log|b| does. It is -a/b by t, and 1/b from t to b: the factors of -a/b², one after the other, for the cotangent to
# meet each in turn. `power` and `relative_base` do so for powers. The value of t is not read, and is 0.


def _over(a: Any, b: Any) -> Any:
    """a/b, to be differentiated wherever a/b and 1/b are numbers."""
    return f.div(a, b) if type(b) is float else f.quotient(a, b, f.relative(b))


def _power_slope(a: Any, b: Any, t: Any, y: Any) -> Any:
    falling = f.lt(b, 0.0)  # a^(b-1) leaves the range of numbers before a^b does
    return f.where(falling, 0.0, _pow_base(f.where(falling, 1.0, a), b, y))


def _relative_base_slope(a: Any, b: Any, y: Any) -> Any:
    falling = f.lt(b, 0.0)
    return f.where(falling, _over(1.0, f.where(falling, a, 1.0)), 0.0)


def _half_exp(x: Any) -> Any:
    return f.exp(-f.abs(x))  # never overflows


def _sigmoid(x: Any) -> Any:
    e = _half_exp(x)
    return f.div(f.where(f.lt(x, 0.0), e, 1.0), 1.0 + e)


def _sigmoid_slope(x: Any) -> Any:
    e = _half_exp(x)  # y * (1 - y) loses its digits where y is near 1
    return f.div(e, 1.0 + e * (2.0 + e))


def _within(x: Any, limit: float = 1e30) -> Any:
    """x, held within bounds beyond which exp(-x²) is 0 in every number type: past them 0·inf would be nan."""
    return f.where(f.gt(x, limit), limit, f.where(f.lt(x, -limit), -limit, x))


def _normal_cdf(x: Any) -> Any:
    return 0.5 * f.erfc(x * -math.sqrt(0.5))


def _silu_slope(x: Any, y: Any) -> Any:
    return f.sigmoid(x) * (1.0 + _within(x) * f.sigmoid(-x))


def _gelu_slope(x: Any, y: Any) -> Any:
    t = _within(x)
    return _normal_cdf(x) + t * (f.exp(-0.5 * t * t) * (1.0 / math.sqrt(2.0 * math.pi)))


def _erf_slope(x: Any, y: Any) -> Any:
    t = _within(x)
    return TWO_OVER_SQRT_PI * f.exp(-t * t)


def _elu_slope(a: Any, b: Any, y: Any) -> Any:
    right = f.gt(a, 0.0)
    return f.where(right, 1.0, f.where(right, 0.0, b) * f.exp(f.where(right, 0.0, a)))


def _elu_by_alpha(a: Any, b: Any, y: Any) -> Any:
    return f.expm1(f.where(f.gt(a, 0.0), 0.0, a))


def _pow_base(a: Any, b: Any, y: Any) -> Any:
    constant = f.where(f.gt(f.abs(a), 0.0), 0.0, f.eq(b, 0.0))  # 0**0, and nan**0: 1 for every base
    base, less = f.where(constant, 1.0, a), b - 1.0
    return f.where(constant, 0.0, b * f.power(base, less, f.relative_base(base, less)))


def _pow_exponent(a: Any, b: Any, y: Any) -> Any:
    flat = f.where(f.eq(a, 0.0), f.ge(b, 0.0), f.eq(a, inf) * f.lt(b, 0.0))  # y is 0 there, and log(a) infinite
    return f.where(flat, 0.0, y * f.log(f.where(flat, 1.0, a)))


def _one_less_square(a: Any) -> Any:
    return f.fma(-a, a, 1.0)  # 1 - a², rounded once: (1 - a)(1 + a) has an operand of 0 where the slope is infinite


FAR = 134217728.0  # 2^27: from here on 1 + a² is a², to the last digit; and a² might overflow


def _atan_slope(a: Any, y: Any) -> Any:
    far = f.gt(f.abs(a), FAR)
    t, large = f.where(far, 0.0, a), f.where(far, a, 1.0)
    return f.where(far, _over(_over(1.0, large), large), _over(1.0, 1.0 + t * t))


def _asinh_slope(a: Any, y: Any) -> Any:
    end = f.eq(f.abs(a), inf)
    return f.where(end, 0.0, _over(1.0, f.hypot(1.0, f.where(end, 0.0, a))))


def _acosh_slope(a: Any, y: Any) -> Any:
    far = f.gt(a, FAR)
    t = f.where(far, 2.0, a)
    return f.where(far, _over(1.0, f.where(far, a, 1.0)), _over(1.0, f.sqrt(f.fma(t, t, -1.0))))


def _hypot_slope(a: Any, b: Any, y: Any) -> Any:
    """a/y for y = hypot(a, b); 0 at the origin, as abs has it; ±1 where a alone is infinite."""
    origin, end = f.eq(y, 0.0), f.eq(f.abs(a), inf)
    slope = f.div(f.where(end, 0.0, a), f.where(origin, 1.0, y))
    return f.where(origin, 0.0, f.where(end, f.where(f.lt(a, 0.0), -1.0, 1.0) + 0.0 * b, slope))


def _hypot_bend(a: Any, b: Any, y: Any) -> Any:
    """The derivative of a/y by a, b²/y³: 1/y - a²/y³ would be a difference of equal numbers where a is much larger."""
    other = f.hypot_slope(b, a, y)
    return _over(other * other, f.where(f.eq(y, 0.0), 1.0, y))


def _hypot_twist(a: Any, b: Any, y: Any, slope: Any) -> Any:
    """The derivative of a/y by b, -a·b/y³."""
    return -_over(slope * f.hypot_slope(b, a, y), f.where(f.eq(y, 0.0), 1.0, y))


def _atan2_slope(b: Any, a: Any) -> Any:
    """b/(a² + b²), without an overflow of the squares; 0 at infinity."""
    h = f.hypot(a, b)
    end = f.eq(h, inf)
    h = f.where(end, 1.0, h)
    return f.where(end, 0.0, _over(_over(f.where(end, 0.0, b), h), h))


def _quotient(a: Any, b: Any, y: Any) -> Any:
    return f.round(f.div(a - y, b))  # a whole number already, but for the rounding of the division


# ---- the gamma function and its derivatives: lgamma' = digamma, digamma' = ζ(2, x), ζ(s, x)' = -s·ζ(s + 1, x)


def _reflected(x: Any) -> tuple[Any, Any, Any]:
    """Whether x is left of 1/2; 1 - x there, else x; and x less the nearest whole number (1/4 where there is no need)."""
    left = f.lt(x, 0.5)
    return left, f.where(left, 1.0 - x, x), f.where(left, x - f.round(x), 0.25)


def _digamma(x: Any) -> Any:
    left, z, r = _reflected(x)
    total: Any = 0.0
    for _ in range(10):  # ψ(z) = ψ(z + 1) - 1/z, up to where the series holds
        small = f.lt(z, 10.0)
        total = total - f.where(small, f.div(1.0, z), 0.0)
        z = f.where(small, z + 1.0, z)
    w, series = f.div(1.0, z * z), 0.0
    for c in (-3617 / 8160, 1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12):
        series = (series + c) * w
    psi = total + (f.log(z) - f.div(0.5, z) - series)
    return f.where(left, psi - f.div(math.pi, f.tan(math.pi * r)), psi)


def _lgamma_slope(a: Any, y: Any) -> Any:
    tiny = f.lt(f.abs(a), 1.0 / ALONE)
    return f.where(tiny, -_over(1.0, f.where(tiny, a, 1.0)), f.digamma(f.where(tiny, 1.0, a)))


def _digamma_slope(x: Any, y: Any) -> Any:
    left, z, r = _reflected(x)
    far = f.gt(z, ALONE)
    zeta, sine = f.zeta(2.0, f.where(far, 1.0, z)), f.sin(math.pi * r)
    slope = f.where(far, _over(1.0, f.where(far, z, 1.0)), zeta)
    return f.where(left, _over(_over(math.pi**2, sine), sine) - slope, slope)


def _zeta_slope(a: Any, b: Any, y: Any) -> Any:
    far = f.gt(b, ALONE)
    large = f.where(far, b, 1.0)
    return f.where(far, -f.power(large, -a, f.relative_base(large, -a)), -a * f.zeta(a + 1.0, f.where(far, 1.0, b)))


ALONE = 2.0**60  # from here on ζ(s, x) is x^(1-s)/(s-1), to the last digit, and digamma(1/x) is -x

# B(2j)/(2j)!, the Bernoulli numbers of the Euler-Maclaurin formula
_BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
              -3617 / 10670622842880000, 43867 / 5109094217170944000)  # fmt: skip


def _zeta(s: Any, x: Any) -> Any:
    """Hurwitz: Σ (x + k)^-s over k ≥ 0, for x > 0 and s > 1; twelve terms, and the rest by Euler and Maclaurin."""
    total: Any = 0.0
    for k in range(12):
        total = total + f.pow(x + float(k), -s)
    w = x + 12.0
    last = f.pow(w, -s)
    tail = f.div(w, s - 1.0) + 0.5
    factor = f.div(s, w)
    for j, c in enumerate(_BERNOULLI):
        if j:
            factor = factor * f.div((s + float(2 * j - 1)) * (s + float(2 * j)), w * w)
        tail = tail + c * factor
    whole = total + last * tail
    return f.where(f.gt(x, 0.0) * f.gt(s, 1.0), f.where(f.lt(x, inf), whole, 0.0), nan)


# The standard normal quantile at 1/2 + q, in arithmetic that every machine rounds alike: no library function, so that a draw
# has the same bits in eager code and in SIMD lanes. In the middle it is q·(√2π + q²·N/D) over s = 0.180625 - q², in the tails
# 1.4375 + 1.5·v + N/D over v = √(-log(tail)) - 1.609375, down to a tail of 2⁻⁵⁴. Solved with mpmath at 50 digits through the
# Chebyshev points of either interval; off by 2.3 units in the last place at most over 100,000 numbers (docs/random.md).
MIDDLE_N = (4.874765941399952, 210.31989537018475, 3525.5321280702633, 29112.39975270957, 124185.54730959915,
            262872.99053463014, 241554.11234600906, 68589.41719068622, 625.0653257463343, 0.0)  # fmt: skip
MIDDLE_D = (1.0, 49.1689319228536, 967.9298360519299, 9787.108554703833, 54319.38891329771, 164325.09657993075,
            253716.0996585381, 171982.98098109593, 35509.46431808934)  # fmt: skip
TAIL_N = (0.001936484131555, 0.20963087741421632, 0.32515651500002074, 0.18772320550190655, 0.047442190601387976,
          0.003123829097089151, -0.0009533751067216436, -0.00019848881439793402, -1.1869174058977503e-05,
          -1.9072372758089646e-07)  # fmt: skip
TAIL_D = (1.0, 2.155993648802981, 1.9132013575255338, 0.9111602052674423, 0.25364165036933073, 0.041581289138705665,
          0.0037606478790817447, 0.00015994519723651622, 2.2237433773483424e-06)  # fmt: skip
LN2_HIGH, LN2_LOW, SQRT_2, SQRT_2PI = math.log(2.0), 2.3190468138462996e-17, math.sqrt(2.0), math.sqrt(2.0 * math.pi)
ATANH = tuple(2.0 / (2 * k + 3) for k in range(11))  # log((1 + s)/(1 - s)) = 2s + s³·(2/3 + 2/5·s² + ...)


def _horner(x: Any, coefficients: Any) -> Any:
    first, *rest = reversed(coefficients)
    return _fold(lambda acc, c: f.fma(acc, x, c), rest, first)  # one rounding a step, and the same one on every machine


def _split(x: Any) -> tuple[Any, Any]:
    """x = m·2^-e for 2⁻⁶³ ≤ x < 1, with m in [√½, √2): exact, by powers of two. LLVM reads both from the bits of x."""
    exponent: Any = 0.0
    for k in (32, 16, 8, 4, 2, 1):
        small = f.lt(x, SQRT_2 * 2.0**-k)
        x = f.where(small, x * 2.0**k, x)
        exponent = exponent + f.where(small, float(k), 0.0)
    return x, exponent


def _minus_log(x: Any, exponent: Any) -> Any:
    """-log(x·2^-exponent), by a series."""
    s = f.div(x - 1.0, x + 1.0)
    z = s * s
    log = 2.0 * s + s * (z * _horner(z, ATANH))
    return exponent * LN2_HIGH - (log - exponent * LN2_LOW)


def _probit(q: Any) -> Any:
    return _probit_of(q, *_split(0.5 - f.abs(q)))


def _probit_of(q: Any, mantissa: Any, exponent: Any) -> Any:
    side = f.abs(q)
    middle = f.le(side, 0.425)
    w = q * q
    v = f.where(middle, 0.180625 - w, f.sqrt(_minus_log(mantissa, exponent)) - 1.609375)
    either = [
        [f.where(middle, a, b) for a, b in zip(m, t, strict=True)] for m, t in ((MIDDLE_N, TAIL_N), (MIDDLE_D, TAIL_D))
    ]
    y = f.div(_horner(v, either[0]), _horner(v, either[1]))
    tail = (1.4375 + 1.5 * v) + y
    x = f.where(middle, q * (SQRT_2PI + w * y), f.where(f.lt(q, 0.0), -tail, tail))
    return f.where(f.lt(side, 0.5), x, f.where(f.eq(side, 0.5), f.div(q, 0.0), nan))


HALF_STEP = 2.0**-54  # half of the distance of two uniform numbers


def _normal(key: Any, row: Any, draw: Any) -> Any:
    return f.probit((f.philox(key, row, draw) - 0.5) + HALF_STEP)


def no_slope(*_: Any) -> float:
    """The partial of a step: no gradient passes, whatever it is multiplied by."""
    return 0.0


def _one(*_: Any) -> float:
    return 1.0


def _unknown(*_: Any) -> float:
    return nan


def _compare(test: Callable[[float, float], bool]) -> Callable[[float, float], float]:
    return lambda a, b: 1.0 if test(a, b) else 0.0


LOG2_E, LOG10_E, LN_2 = math.log2(math.e), math.log10(math.e), math.log(2.0)
TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)

# fmt: off
# ruff: noqa: E501
_ROWS = [
    # -- arithmetic
    Op("add", lambda a, b: a + b, [_one, _one], symbol="+", rule=("1", "1"), commutative=True, identity=-0.0, c="{0} + {1}", llvm="fadd {F}{T} {0}, {1}"),
    Op("sub", lambda a, b: a - b, [_one, lambda a, b, y: -1.0], symbol="-", rule=("1", "-1"), identity=0.0, c="{0} - {1}", llvm="fsub {F}{T} {0}, {1}"),
    Op("mul", lambda a, b: a * b, [lambda a, b, y: b, lambda a, b, y: a], symbol="*", rule=("b", "a"), commutative=True, identity=1.0, absorbing=0.0, c="{0} * {1}", llvm="fmul {F}{T} {0}, {1}"),
    Op("div", _div, [lambda a, b, y: _over(1.0, b), lambda a, b, y: -_over(y, b)], symbol="/", rule=("1/b", "-a/b²"), identity=1.0, c="{0} / {1}", llvm="fdiv {F}{T} {0}, {1}"),
    Op("floordiv", lambda a, b: a // b if b else f.floor(_div(a, b)), [no_slope, no_slope], symbol="//", rule=("0", "0"), c="mg_floordiv({0}, {1})", llvm="@mg_floordiv", js="floordiv({0}, {1})"),
    Op("mod", lambda a, b: a % b if b else nan, [_one, lambda a, b, y: -f.floordiv(a, b)], symbol="%", rule=("1", "-(a // b)"), c="mg_mod({0}, {1})", llvm="@mg_mod", js="modulo({0}, {1})"),
    Op("pow", _pow, [_pow_base, _pow_exponent], kind="call", symbol="**", rule=("b·a^(b-1)", "y·log(a)"), identity=1.0, js="power({0}, {1})"),
    Op("fmod", _ieee2(math.fmod), [_one, lambda a, b, y: -_quotient(a, b, y)], kind="call", rule=("1", "-trunc(a/b)"), js="{0} % {1}"),
    Op("remainder", _ieee2(math.remainder), [_one, lambda a, b, y: -_quotient(a, b, y)], kind="call", rule=("1", "-round(a/b)"), js="remainder({0}, {1})"),
    Op("fma", _library("fma", 3), [lambda a, b, c, y: b, lambda a, b, c, y: a, _one], rule=("b", "a", "1"), c="fma({0}, {1}, {2})", llvm="@llvm.fma", js="fma({0}, {1}, {2})"),
    Op("neg", lambda a: -a, [lambda a, y: -1.0], symbol="neg", rule=("-1",), c="-{0}", llvm="fneg {F}{T} {0}"),
    Op("abs", abs, [lambda a, y: f.where(f.eq(a, 0.0), 0.0, f.sign(a))], rule=("sign(a)",), c="fabs({0})", llvm="@llvm.fabs", js="Math.abs({0})"),
    Op("copysign", _copysign, [lambda a, b, y: f.where(f.eq(a, 0.0), 0.0, f.copysign(1.0, b) * f.sign(a)), no_slope], rule=("±1", "0"), llvm="strict"),
    Op("min", lambda a, b: f.where(f.le(a, b), a, f.where(f.gt(a, b), b, a + b)),
       [lambda a, b, y: f.where(f.gt(a, b), 0.0, f.where(f.eq(a, b), 0.5, 1.0)), lambda a, b, y: f.where(f.lt(a, b), 0.0, f.where(f.eq(a, b), 0.5, 1.0))],
       rule=("1 if a < b else 0", "1 if b < a else 0")),
    Op("max", lambda a, b: f.where(f.ge(a, b), a, f.where(f.lt(a, b), b, a + b)),
       [lambda a, b, y: f.where(f.lt(a, b), 0.0, f.where(f.eq(a, b), 0.5, 1.0)), lambda a, b, y: f.where(f.gt(a, b), 0.0, f.where(f.eq(a, b), 0.5, 1.0))],
       rule=("1 if a > b else 0", "1 if b > a else 0")),
    # -- exponentials and logarithms
    Op("exp", _ieee(math.exp), [lambda a, y: y], kind="call", rule=("y",)),
    Op("exp2", _library("exp2"), [lambda a, y: LN_2 * y], kind="call", rule=("y·ln 2",), js="Math.pow(2, {0})"),
    Op("expm1", _ieee(math.expm1), [lambda a, y: f.exp(a)], kind="call", rule=("exp(a)",)),
    Op("log", _ieee(math.log, zero=-inf), [lambda a, y: f.quotient(1.0, a, y)], kind="call", rule=("1/a",)),
    Op("log1p", _ieee(math.log1p, minus_one=-inf), [lambda a, y: f.quotient(1.0, 1.0 + a, y)], kind="call", rule=("1/(1 + a)",)),
    Op("log2", _ieee(math.log2, zero=-inf), [lambda a, y: _over(LOG2_E, a)], kind="call", rule=("1/(a·ln 2)",)),
    Op("log10", _ieee(math.log10, zero=-inf), [lambda a, y: _over(LOG10_E, a)], kind="call", rule=("1/(a·ln 10)",)),
    Op("sqrt", _ieee(math.sqrt), [lambda a, y: _over(0.5, y)], rule=("1/(2y)",), c="sqrt({0})", llvm="@llvm.sqrt", js="Math.sqrt({0})"),
    Op("cbrt", getattr(math, "cbrt", None) or _library("cbrt"), [lambda a, y: _over(_over(1 / 3, y), y)], kind="call", rule=("1/(3y²)",)),
    # -- trigonometry
    Op("sin", _ieee(math.sin), [lambda a, y: f.cos(a)], kind="call", rule=("cos(a)",)),
    Op("cos", _ieee(math.cos), [lambda a, y: -f.sin(a)], kind="call", rule=("-sin(a)",)),
    Op("tan", _ieee(math.tan), [lambda a, y: 1.0 + y * y], kind="call", rule=("1 + y²",)),
    Op("asin", _ieee(math.asin), [lambda a, y: _over(1.0, f.sqrt(_one_less_square(a)))], kind="call", rule=("1/√(1 - a²)",)),
    Op("acos", _ieee(math.acos), [lambda a, y: _over(-1.0, f.sqrt(_one_less_square(a)))], kind="call", rule=("-1/√(1 - a²)",)),
    Op("atan", math.atan, [_atan_slope], kind="call", rule=("1/(1 + a²)",)),
    Op("atan2", math.atan2, [lambda a, b, y: _atan2_slope(b, a), lambda a, b, y: -_atan2_slope(a, b)], kind="call", rule=("b/(a² + b²)", "-a/(a² + b²)")),
    Op("sinh", _ieee(math.sinh, odd=True), [lambda a, y: f.cosh(a)], kind="call", rule=("cosh(a)",)),
    Op("cosh", _ieee(math.cosh), [lambda a, y: f.sinh(a)], kind="call", rule=("sinh(a)",)),
    Op("tanh", math.tanh, [lambda a, y: 4.0 * f.sigmoid_slope(2.0 * a)], kind="call", rule=("1 - y²",)),
    Op("asinh", math.asinh, [_asinh_slope], kind="call", rule=("1/√(1 + a²)",)),
    Op("acosh", _ieee(math.acosh), [_acosh_slope], kind="call", rule=("1/√(a² - 1)",)),
    Op("atanh", _ieee(math.atanh, one=inf, minus_one=-inf), [lambda a, y: _over(1.0, _one_less_square(a))], kind="call", rule=("1/(1 - a²)",)),
    Op("hypot", _hypot, [lambda a, b, y: f.hypot_slope(a, b, y), lambda a, b, y: f.hypot_slope(b, a, y)], kind="call", rule=("a/y", "b/y"), commutative=True),
    Op("erf", math.erf, [_erf_slope], kind="call", rule=("2/√π·exp(-a²)",), js="erf({0})"),
    Op("erfc", math.erfc, [lambda a, y: -_erf_slope(a, y)], kind="call", rule=("-2/√π·exp(-a²)",), js="erfc({0})"),
    # -- activations
    Op("sigmoid", _sigmoid, [lambda a, y: f.sigmoid_slope(a)], rule=("y·(1 - y)",)),
    Op("sigmoid_slope", _sigmoid_slope, [lambda a, y: -y * f.tanh(0.5 * a)], rule=("-y·tanh(a/2)",)),
    Op("relu", lambda a: f.where(f.le(a, 0.0), 0.0, a), [lambda a, y: f.where(f.gt(y, 0.0), 1.0, 0.0)], rule=("1 if y > 0 else 0",)),
    Op("leaky_relu", lambda a, b: f.where(f.gt(a, 0.0), a, b * a), [lambda a, b, y: f.where(f.gt(a, 0.0), 1.0, b), lambda a, b, y: f.where(f.gt(a, 0.0), 0.0, a)],
       rule=("1 if a > 0 else b", "0 if a > 0 else a"), defaults=(0.01,)),
    Op("elu", lambda a, b: f.where(f.gt(a, 0.0), a, b * f.expm1(a)), [_elu_slope, _elu_by_alpha],
       rule=("1 if a > 0 else b·exp(a)", "0 if a > 0 else exp(a) - 1"), defaults=(1.0,)),
    Op("softplus", lambda a: f.where(f.lt(a, 0.0), 0.0, a) + f.log1p(_half_exp(a)), [lambda a, y: f.sigmoid(a)], rule=("sigmoid(a)",)),
    Op("silu", lambda a: f.where(f.eq(a, -inf), -0.0, a * f.sigmoid(a)), [_silu_slope], rule=("s·(1 + a·(1 - s)), s = sigmoid(a)",)),
    Op("gelu", lambda a: f.where(f.eq(a, -inf), -0.0, a * _normal_cdf(a)), [_gelu_slope], rule=("Φ(a) + a·φ(a)",)),
    # -- the gamma function
    Op("gamma", _library("tgamma"), [lambda a, y: y * f.digamma(a)], rule=("y·ψ(a)",), c="tgamma({0})", llvm="@tgamma", js="gamma({0})"),
    Op("lgamma", _library("lgamma"), [_lgamma_slope], kind="call", rule=("ψ(a)",), js="lgamma({0})"),
    Op("digamma", _digamma, [_digamma_slope], rule=("ζ(2, a)",)),
    Op("zeta", _zeta, [_unknown, _zeta_slope], rule=("not known", "-a·ζ(a + 1, b)")),
    # -- what rules are made of, so that a product of partials stays within the range of numbers: see _over
    Op("relative", lambda a: 0.0, [lambda a, y: f.quotient(1.0, a, y)], symbol="~", rule=("1/a",)),
    Op("quotient", lambda a, b, c: f.div(a, b), [lambda a, b, c, y: f.quotient(1.0, b, c), no_slope, lambda a, b, c, y: -y], symbol="~/", rule=("1/b", "0", "-y"), like="div"),
    Op("relative_base", lambda a, b: 0.0, [_relative_base_slope, no_slope], symbol="~b", rule=("1/a where b < 0", "0")),
    Op("power", lambda a, b, c: f.pow(a, b), [_power_slope, lambda a, b, c, y: _pow_exponent(a, b, y), lambda a, b, c, y: f.where(f.lt(b, 0.0), b * y, 0.0)],
       symbol="~**", rule=("0 where b < 0, else b·a^(b-1)", "y·log(a)", "b·y where b < 0"), like="pow"),
    Op("hypot_slope", lambda a, b, c: _hypot_slope(a, b, c), [lambda a, b, c, y: _hypot_bend(a, b, c), lambda a, b, c, y: _hypot_twist(a, b, c, y), no_slope], rule=("b²/c³", "-a·b/c³", "0")),
    # -- steps
    Op("floor", lambda a: a // 1.0 if isfinite(a) else a, [no_slope], rule=("0",), c="floor({0})", llvm="@llvm.floor", js="Math.floor({0})"),
    Op("ceil", lambda a: -(-a // 1.0) if isfinite(a) else a, [no_slope], rule=("0",), c="ceil({0})", llvm="@llvm.ceil", js="Math.ceil({0})"),
    Op("round", lambda a: round(a, 0) if isfinite(a) else a, [no_slope], rule=("0",), c="rint({0})", llvm="@llvm.rint", js="rint({0})"),
    Op("trunc", lambda a: copysign(float(math.trunc(a)), a) if isfinite(a) else a, [no_slope], rule=("0",), c="trunc({0})", llvm="@llvm.trunc", js="Math.trunc({0})"),
    Op("sign", lambda a: f.where(f.gt(a, 0.0), 1.0, f.where(f.lt(a, 0.0), -1.0, a)), [no_slope], rule=("0",), llvm="strict"),
    # -- choice: 1.0 is true, 0.0 is false, as inputs anything but 0.0 is true
    Op("where", lambda a, b, c: b if a else c, [no_slope, lambda a, b, c, y: f.where(a, 1.0, 0.0), lambda a, b, c, y: f.where(a, 0.0, 1.0)],
       rule=("0", "1 if a else 0", "0 if a else 1"), c="{0} != 0.0 ? {1} : {2}", llvm="select"),
    Op("lt", _compare(lambda a, b: a < b), [no_slope, no_slope], symbol="<", rule=("0", "0"), c="{0} < {1} ? 1.0 : 0.0", llvm="fcmp olt"),
    Op("le", _compare(lambda a, b: a <= b), [no_slope, no_slope], symbol="<=", rule=("0", "0"), c="{0} <= {1} ? 1.0 : 0.0", llvm="fcmp ole"),
    Op("gt", _compare(lambda a, b: a > b), [no_slope, no_slope], symbol=">", rule=("0", "0"), c="{0} > {1} ? 1.0 : 0.0", llvm="fcmp ogt"),
    Op("ge", _compare(lambda a, b: a >= b), [no_slope, no_slope], symbol=">=", rule=("0", "0"), c="{0} >= {1} ? 1.0 : 0.0", llvm="fcmp oge"),
    Op("eq", _compare(lambda a, b: a == b), [no_slope, no_slope], symbol="==", rule=("0", "0"), commutative=True, c="{0} == {1} ? 1.0 : 0.0", llvm="fcmp oeq"),
    Op("ne", _compare(lambda a, b: a != b), [no_slope, no_slope], symbol="!=", rule=("0", "0"), commutative=True, c="{0} != {1} ? 1.0 : 0.0", llvm="fcmp une"),
    # -- random numbers: philox(key, row, draw) is uniform in [0, 1), normal the same through probit(a), the quantile at 1/2 + a
    Op("philox", philox.fraction, [no_slope, no_slope, no_slope], rule=("0", "0", "0"), c="mg_philox({0}, {1}, {2})", llvm="philox", js="philox({0}, {1}, {2})"),
    Op("normal", _normal, [no_slope, no_slope, no_slope], rule=("0", "0", "0"), llvm="normal"),
    Op("probit", _probit, [lambda a, y: SQRT_2PI * f.exp(0.5 * (y * y))], rule=("√2π·exp(y²/2)",), llvm="strict"),
    # -- n-ary: a list of inputs in one node; sums run from left to right. dot takes [*xs, *ys].
    Op("sum", lambda xs: _fold(lambda acc, x: acc + x, xs, 0.0), [_one], nary=True, rule=("1",)),
    Op("prod", lambda xs: _fold(lambda acc, x: acc * x, xs, 1.0), [lambda rest: rest], nary=True, rule=("product of the others",)),
    Op("mean", _mean, [lambda n: f.div(1.0, n)], nary=True, rule=("1/n",)),
    Op("dot", _dot, [lambda other: other], nary=True, symbol="dot", rule=("its partner",)),
    Op("logsumexp", _logsumexp, [lambda share: share], nary=True, rule=("exp(x - y)",)),
]
# fmt: on

OPS: dict[str, Op] = {op.name: op for op in _ROWS}
# Rows that partials are made of, and nothing else: see _over.
OF_RULES = frozenset({"relative", "quotient", "relative_base", "power", "hypot_slope"})


# probit for code that reads mantissa and exponent from the bits of 0.5 - |q|; nobody asks for its partials
PROBIT_OF = Op("probit_of", _probit_of, [no_slope, no_slope, no_slope])


def facts(op: Op) -> tuple[str, ...]:
    """What the partial of an n-ary op is a function of, by the names of its parameters."""
    code = op.partials[0].__code__
    return code.co_varnames[: code.co_argcount]


def products_of_the_rest(xs: Any) -> Any:
    """For each x, the product of all others: no division, so a zero among them is right."""
    return _each(lambda before, after: before * after, _products_before(xs), _products_before(xs, backwards=True))


def shares(xs: Any, y: Any) -> Any:
    """exp(x - y) for each x of a logsumexp y, made to add up to 1: y is rounded, which at 1000 costs three digits."""
    parts = _each(
        lambda x: f.exp(f.where(f.eq(x, y), 0.0, x) - f.where(f.eq(x, y), 0.0, y)), xs
    )  # inf - inf would be nan
    total = _fold(lambda acc, part: acc + part, parts, 0.0)
    return _each(lambda part: f.div(part, total), parts)


def _other(xs: Any) -> Any:
    first, second = _halves(xs)
    return second + first


def partials(op: Op, args: Any, y: Any) -> Any:
    """The partials of one application in operand order; args are its inputs, of an n-ary op too.

    The partial of an n-ary op may name: x (this input), other (its partner in [*xs, *ys]), y (the result), n (the count),
    rest (the product of the other inputs) and share (its part of a logsumexp).
    """
    if op.arity >= 0:
        return [partial(*args, y) for partial in op.partials]
    names, partial = facts(op), op.partials[0]
    same = {"y": y, "n": _count(args)}  # for all inputs
    own = {"x": lambda: args, "other": lambda: _other(args), "rest": lambda: products_of_the_rest(args),
           "share": lambda: shares(args, y)}  # fmt: skip
    wanted = [name for name in names if name in own]
    if not wanted:
        slope = partial(*(same[name] for name in names))
        return _each(lambda x: slope, args)
    if len(wanted) == len(names):
        return _each(partial, *(own[name]() for name in wanted))
    return _each(
        lambda *row: partial(*(same[n] if n in same else row[wanted.index(n)] for n in names)),
        *(own[n]() for n in wanted),
    )
