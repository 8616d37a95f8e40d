"""Numbers, rules and steps in words: what a frame says to its reader. The rules are those of the table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from micrograd.learn import texts
from micrograd.ops import OPS, Op, facts

ROWS = {op.symbol: op for op in OPS.values()}
_SPELLING = {"neg": "-{0}"}  # where Python's spelling is neither `a * b` nor `name(a, b)`
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# The colour of each slot of a sentence: data blue, gradients orange, local derivatives teal.
ROLES = {"y": "data", "numbers": "data", "target": "grad", "source": "grad", "before": "grad", "upstream": "grad",
         "after": "grad", "product": "grad", "signed": "grad", "factor": "local", "local": "local"}  # fmt: skip
_LETTER = re.compile(r"(?<![A-Za-z_])([abcxyn])(?![A-Za-z_0-9(])")


def show(x: float) -> str:
    """A number to four places, as in a lecture: −0.5, 0.7071, 1.2e9; never more than ten characters."""
    if x != x:
        return "nan"
    if x in (float("inf"), float("-inf")):
        return "∞" if x > 0 else "−∞"
    if x == 0:
        return "0"
    if 0.01 <= abs(x) < 1000:
        text = f"{x:.4f}".rstrip("0").rstrip(".")
    else:
        text = f"{x:.6g}" if 1000 <= abs(x) < 1e6 else f"{x:.4g}"
    text = re.sub(r"e([+-])0*", r"e\1", text).replace("e+", "e")
    return text.replace("-", "−")


def literal(x: float) -> str:
    """A plain number as it stands in code; a negative one in brackets, so that -2 ** 2 cannot be misread."""
    text = repr(x).removesuffix(".0")
    return f"({text})" if text.startswith("-") else text


def spell(symbol: str, operands: Sequence[str]) -> str:
    """An op over operands as code: `a * b`, `tanh(n)`, `dot([w1, w2], [x1, x2])`."""
    row = ROWS.get(symbol)
    if row is not None and row.name in _SPELLING:
        return _SPELLING[row.name].format(*operands)
    if row is not None and row.arity < 0:
        half = len(operands) // 2
        if "other" in facts(row):
            return f"{symbol}([{', '.join(operands[:half])}], [{', '.join(operands[half:])}])"
        return f"{symbol}([{', '.join(operands)}])"
    if len(operands) == 2 and not symbol.isidentifier():
        return f"{operands[0]} {symbol} {operands[1]}"
    return f"{symbol or 'op'}({', '.join(operands)})"


def partial(row: Op | None, slot: int, operands: Sequence[str], result: str) -> str:
    """The partial for one slot in the names of this node, or "" where the table has no rule for it."""
    if row is None or not row.rule:
        return ""
    if row.arity >= 0:
        if slot >= len(row.rule) or len(operands) != row.arity:
            return ""
        text = row.rule[slot]
        words = {**dict(zip("abc", operands)), "y": result}
    else:
        text = row.rule[0]
        names = facts(row)
        half = len(operands) // 2
        words = {"x": operands[slot], "y": result, "n": str(len(operands))}
        if "other" in names:
            return operands[(slot + half) % len(operands)]
        if "rest" in names:
            rest = [word for k, word in enumerate(operands) if k != slot]
            return "·".join(rest) if 0 < len(rest) <= 4 else text
    text = text.replace("-", "−")

    def named(match: re.Match[str]) -> str:
        word = words.get(match.group(1), match.group(1))
        after_digit = match.start() > 0 and text[match.start() - 1].isdigit()
        return f"·{word}" if after_digit else word

    return _LETTER.sub(named, text)


def bracketed(text: str) -> str:
    """A factor of a product: brackets where it is more than one word."""
    simple = re.fullmatch(r"[\w.\[\]′]+|\([^()]*\)|[\w.]+\([^()]*\)", text)
    return text if simple else f"({text})"


def clean(text: str) -> str:
    """A text that XML, HTML and UTF-8 can hold: control characters, lone surrogates and non-characters become U+FFFD."""
    return _UNPRINTABLE.sub("\ufffd", text)


def speak(x: float) -> str:
    """A number as it is read aloud: minus one, 0.7071, 1.2 times ten to the minus five."""
    text = show(x)
    if text.startswith("−"):
        return texts.say("spoken.minus", x=speak(-x))
    if text in ("nan", "∞"):
        return texts.say("spoken.nan" if text == "nan" else "spoken.infinity")
    if "e" in text:
        mantissa, exponent = text.split("e")
        power = speak(float(exponent.replace("−", "-")))
        return texts.say("spoken.power_of_ten", x=_word(mantissa), n=power)
    return _word(text)


def _word(figures: str) -> str:
    words: list[str] = texts.get("numbers")
    return words[int(figures)] if figures.isdigit() and int(figures) < len(words) else figures


def speak_call(symbol: str, operands: Sequence[str]) -> str:
    """An op over operands as it is read aloud: `a times b`, `tanh of n`."""
    ops = texts.get("spoken.ops")
    if len(operands) == 2 and not symbol.isidentifier():
        return texts.say("spoken.infix", a=operands[0], op=ops.get(symbol, symbol), b=operands[1])
    if symbol == "neg":
        return texts.say("spoken.minus", x=operands[0])
    args = texts.get("spoken.and").join(operands)
    return texts.say("spoken.call", op=ops.get(symbol, symbol or "op"), args=args)
