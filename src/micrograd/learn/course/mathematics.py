r"""Formulas of a lesson: a part of TeX's notation as MathML, which browsers typeset by themselves.

>>> from micrograd.learn.course.mathematics import mathml
>>> mathml(r"x^2")
'<math alttext="x^2"><msup><mi>x</mi><mn>2</mn></msup></math>'

`\stated{15 = a.grad}` shows 15, and `micrograd lesson check` computes it. A command that is not known is an error: a formula
is never shown half.
"""

from __future__ import annotations

import re
from html import escape

GREEK_NAMES = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi", "pi",
    "rho", "sigma", "tau", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi",
    "Omega",
)  # fmt: skip
GREEK = dict(zip(GREEK_NAMES, "αβγδεζηθικλμνξπρστφχψωΓΔΘΛΞΠΣΦΨΩ"))
LETTERS = {**GREEK, "partial": "∂", "nabla": "∇", "infty": "∞", "ell": "ℓ", "hbar": "ℏ", "top": "⊤", "emptyset": "∅"}
OPERATORS = {
    "cdot": "·", "times": "×", "div": "÷", "pm": "±", "mp": "∓", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠",
    "neq": "≠", "approx": "≈", "equiv": "≡", "sim": "∼", "propto": "∝", "to": "→", "rightarrow": "→", "leftarrow": "←",
    "gets": "←", "mapsto": "↦", "Rightarrow": "⇒", "in": "∈", "notin": "∉", "subset": "⊂", "cup": "∪", "cap": "∩",
    "dots": "…", "ldots": "…", "cdots": "⋯", "vdots": "⋮", "odot": "⊙", "otimes": "⊗", "oplus": "⊕", "circ": "∘",
    "mid": "|", "vert": "|", "ll": "≪", "gg": "≫", "forall": "∀", "exists": "∃", "prime": "′",
}  # fmt: skip
LARGE = {"sum": "∑", "prod": "∏", "int": "∫"}
LIMITS = ("max", "min", "lim", "argmax", "argmin")
FUNCTIONS = (
    "exp",
    "log",
    "ln",
    "sin",
    "cos",
    "tan",
    "tanh",
    "sinh",
    "cosh",
    "softmax",
    "relu",
    "sigmoid",
    "sign",
    "det",
)
FENCES = {"(": "(", ")": ")", "[": "[", "]": "]", r"\{": "{", r"\}": "}", "|": "|", r"\|": "‖", ".": "", r"\langle": "⟨",
          r"\rangle": "⟩", r"\lfloor": "⌊", r"\rfloor": "⌋", r"\lvert": "|", r"\rvert": "|"}  # fmt: skip
ACCENTS = {"hat": "^", "bar": "¯", "vec": "→", "tilde": "~", "dot": "˙", "overline": "¯"}
SPACES = {
    r"\,": "0.17em",
    r"\:": "0.22em",
    r"\;": "0.28em",
    r"\ ": "0.25em",
    r"\quad": "1em",
    r"\qquad": "2em",
    r"\!": "-0.17em",
}
UPRIGHT = ("mathrm", "operatorname")
ALPHABETS = {"mathbf": (0x1D400, 0x1D41A), "mathcal": (0x1D49C, 0x1D4B6), "mathbb": (0x1D538, 0x1D552)}  # of A and of a
# Letters of these alphabets that Unicode had already before it had the others.
ELSEWHERE = {"𝔺": "ℂ", "𝔿": "ℍ", "𝕅": "ℕ", "𝕇": "ℙ", "𝕈": "ℚ", "𝕉": "ℝ", "𝕑": "ℤ", "𝒝": "ℬ", "𝒠": "ℰ", "𝒡": "ℱ", "𝒣": "ℋ",
             "𝒤": "ℐ", "𝒧": "ℒ", "𝒨": "ℳ", "𝒭": "ℛ"}  # fmt: skip
TABLES = {"matrix": ("", ""), "pmatrix": ("(", ")"), "bmatrix": ("[", "]"), "cases": ("{", ""), "aligned": ("", ""),
          "align": ("", "")}  # fmt: skip
STATED = re.compile(r"\\stated\{\s*([^{}=]+?)\s*(?:=\s*([^{}]+?)\s*)?\}")
# A command whose argument is words, not a formula, is one token with its argument.
_WORDS = re.compile(r"\\(text|stated|begin|end|operatorname|math[a-z]+)\s*\{([^{}]*)\}$")
_TOKEN = re.compile(rf"\s*({_WORDS.pattern[:-1]}|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|.)", re.S)


class FormulaError(ValueError):
    """A formula that cannot be typeset."""


def mathml(text: str, *, block: bool = False) -> str:
    """A formula as a `math` element; raises FormulaError where it cannot be typeset."""
    reader = _Reader(text, block)
    body = reader.row(None)
    source = escape(" ".join(STATED.sub(r"\1", text).split()))
    display = ' display="block"' if block else ""
    return f'<math{display} alttext="{source}">{body}</math>'


def _element(tag: str, *children: str, **attributes: str) -> str:
    named = "".join(f' {name}="{escape(x)}"' for name, x in attributes.items())
    return f"<{tag}{named}>{''.join(children)}</{tag}>"


def _letter(alphabet: str, letter: str) -> str:
    """A letter in bold, script or double-struck: browsers take these from the font and not from an attribute."""
    if not (letter.isascii() and letter.isalpha()):
        return letter
    upper, lower = ALPHABETS[alphabet]
    found = chr(upper + ord(letter) - ord("A") if letter.isupper() else lower + ord(letter) - ord("a"))
    return ELSEWHERE.get(found, found)


class _Reader:
    """Recursive descent: a row is atoms with scripts; `end` is the token that a row stops before."""

    def __init__(self, text: str, block: bool) -> None:
        self.tokens = [match[1] for match in _TOKEN.finditer(text) if match[1].strip()]
        self.at, self.block = 0, block

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        if not token:
            raise FormulaError(f"the formula ends where {wanted or 'something'} is missing")
        if wanted and token != wanted:
            raise FormulaError(f"{wanted} is missing before {token}")
        self.at += 1
        return token

    def row(self, *ends: str | None) -> str:
        """The atoms up to one of the ends, in one element if there are several."""
        found: list[str] = []
        while (token := self.peek()) and token not in ends:
            if token in ("}", "&", r"\\", r"\right") or token.startswith(r"\end{"):
                raise FormulaError(f"{token} stands where nothing was opened")
            found.append(self.scripted())
        if not self.peek() and None not in ends:
            raise FormulaError(f"{ends[-1]} is missing at the end")
        return found[0] if len(found) == 1 else _element("mrow", *found) if None not in ends else "".join(found)

    def scripted(self) -> str:
        name = self.peek().removeprefix("\\")
        base = self.atom()
        limits = (self.block and ((name in LARGE and name != "int") or name in LIMITS)) or name in (
            "underbrace",
            "overbrace",
        )
        below = above = primes = ""
        while (sign := self.peek()) in ("_", "^", "'"):
            self.take()
            if sign == "'":
                primes += "′"
            elif sign == "_" and not below:
                below = self.argument()
            elif sign == "^" and not above:
                above = self.argument()
            else:
                raise FormulaError(f"there are two {sign} after one letter: put braces around one of them")
        if primes:  # fonts have them raised already
            base = _element("mrow", base, _element("mo", primes, lspace="0", rspace="0"))
        if below and above:
            return _element("munderover" if limits else "msubsup", base, below, above)
        if below:
            return _element("munder" if limits else "msub", base, below)
        return _element("mover" if limits else "msup", base, above) if above else base

    def argument(self) -> str:
        """What belongs to a command: a group in braces, or one atom."""
        if self.peek() != "{":
            return self.atom()
        self.take()
        body = self.row("}")
        self.take("}")
        return body

    def atom(self) -> str:
        token = self.take()
        if token == "{":
            self.at -= 1
            return self.argument()
        if words := _WORDS.match(token):
            return self.worded(words[1], words[2])
        if token[0] == "\\":
            return self.command(token)
        if token[0].isdigit():
            return _element("mn", token)
        if token in "_^":
            raise FormulaError(f"{token} stands after nothing")
        if token.isalpha():
            return _element("mi", token)
        if token in FENCES:
            return _element("mo", token, stretchy="false")
        return _element("mo", escape(token.replace("-", "−").replace("*", "∗")))

    def command(self, token: str) -> str:
        name = token[1:]
        if name in LETTERS:
            return _element("mi", LETTERS[name])
        if name in OPERATORS:
            return _element("mo", OPERATORS[name])
        if name in LARGE:
            return _element("mo", LARGE[name], largeop="true")
        if name in FUNCTIONS or name in LIMITS:
            return _element("mi", name)
        if token in SPACES:
            return _element("mspace", width=SPACES[token])
        if name in ("frac", "tfrac", "dfrac"):
            return _element("mfrac", self.argument(), self.argument())
        if name == "sqrt":
            return self.root()
        if name in ACCENTS:
            return _element("mover", self.argument(), _element("mo", ACCENTS[name]), accent="true")
        if name in ("underbrace", "overbrace"):
            tag, brace = ("munder", "⏟") if name == "underbrace" else ("mover", "⏞")
            return _element(tag, self.argument(), _element("mo", brace, stretchy="true"))
        if token in FENCES and token != ".":
            return _element("mo", FENCES[token], stretchy="false")
        if name == "left":
            return self.fenced()
        if token in (r"\%", r"\$", r"\&", r"\_", r"\#"):
            return _element("mo", escape(name))
        raise FormulaError(f"the formula has {token}, which is not known here")

    def root(self) -> str:
        if self.peek() != "[":
            return _element("msqrt", self.argument())
        self.take()
        index = self.row("]")
        self.take("]")
        return _element("mroot", self.argument(), index)

    def worded(self, name: str, words: str) -> str:
        """A command whose argument is words: a text, whose spaces count, a stated number, a name, a table."""
        if name == "text":
            return _element("mtext", escape(words).replace(" ", "\u00a0"))
        if name == "stated":
            return _element("mn", escape(words.partition("=")[0].strip().replace("-", "−")))
        if name == "begin":
            return self.table(words.strip())
        if name in ALPHABETS:
            return _element("mi", escape("".join(_letter(name, one) for one in words)))
        if name not in UPRIGHT:
            raise FormulaError(f"the formula has \\{name}, which is not known here")
        return _element("mi", escape(words), mathvariant="normal")

    def fenced(self) -> str:
        left = self.fence()
        body = self.row(r"\right")
        self.take(r"\right")
        return _element("mrow", left, body, self.fence())

    def fence(self) -> str:
        token = self.take()
        if token not in FENCES:
            raise FormulaError(f"{token} is no bracket: after \\left and \\right stands one, or a dot for none")
        return _element("mo", FENCES[token], stretchy="true") if FENCES[token] else ""

    def table(self, kind: str) -> str:
        if kind not in TABLES:
            raise FormulaError(f"\\begin{{{kind}}} is not known; there are: {', '.join(TABLES)}")
        end = rf"\end{{{kind}}}"
        rows: list[list[str]] = [[]]
        while True:
            rows[-1].append(self.row("&", r"\\", end))
            sign = self.take()
            if sign == end:
                break
            if sign == r"\\":
                rows.append([])
        cells = [_element("mtr", *(_element("mtd", cell) for cell in row)) for row in rows if any(row)]
        left, right = (_element("mo", sign, stretchy="true") if sign else "" for sign in TABLES[kind])
        looks = {"aligned": "aligned", "align": "aligned", "cases": "cases"}.get(kind, "matrix")
        return _element("mrow", left, _element("mtable", *cells, **{"class": looks}), right)
