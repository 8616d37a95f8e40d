"""Sums of whole numbers with constant factors, such as 3·i + n - 1: what a tape knows of indices and lengths."""

from __future__ import annotations

from typing import NamedTuple

from micrograd.ir.forms import Place


class Affine(NamedTuple):
    """Σ factor · place + constant. The terms are sorted by identity, so that equal sums are equal."""

    terms: tuple[tuple[int, int], ...] = ()  # (id of a place, factor)
    constant: int = 0

    def plus(self, other: Affine, factor: int = 1) -> Affine:
        """Return self + factor · other."""
        found = dict(self.terms)
        for place, c in other.terms:
            found[place] = found.get(place, 0) + factor * c
        terms = tuple(sorted((place, c) for place, c in found.items() if c))
        return Affine(terms, self.constant + factor * other.constant)

    def negated(self) -> Affine:
        """Return -self."""
        return Affine().plus(self, -1)


class Known:
    """The affine form of each whole number of a tape, with bounds and facts that hold where the tape is being made.

    A fact is a sum that is known to be at least 0. Facts are scoped: those of a body hold inside of it.
    """

    def __init__(self) -> None:
        self.forms: dict[int, Affine] = {}
        self.low: dict[int, int] = {}  # the least that a place can be
        self.facts: list[dict[tuple[tuple[int, int], ...], int]] = [{}]
        self.places: dict[int, Place] = {}  # the place of each id; so no id is used twice

    def of(self, place: Place) -> Affine:
        """Return the affine form of a whole number."""
        if place.op == "const":
            return Affine((), place.attr)
        found = self.forms.get(id(place))
        if found is None:
            found = self.forms[id(place)] = Affine(((id(place), 1),))
            self.places[id(place)] = place
        return found

    def place_of(self, form: Affine) -> Place | None:
        """Return the place that a sum consists of; None where there are more, or a constant."""
        if len(form.terms) != 1 or form.terms[0][1] != 1 or form.constant:
            return None
        return self.places[form.terms[0][0]]

    def define(self, place: Place, form: Affine) -> None:
        """Write down the form of a new place."""
        self.forms[id(place)] = form
        self.places[id(place)] = place

    def at_least(self, place: Place, low: int) -> None:
        """Write down that a place is at least so much, everywhere."""
        self.of(place)
        self.low[id(place)] = max(low, self.low.get(id(place), low))

    def assume(self, form: Affine) -> None:
        """Write down that a sum is at least 0 in the body that is being made."""
        facts = self.facts[-1]
        facts[form.terms] = min(form.constant, facts.get(form.terms, form.constant))
        for number, factor in form.terms:
            place = self.places[number]
            if (place.op == "imin" and factor > 0) or (place.op == "imax" and factor < 0):
                for a in place.args:  # a minimum is at most each operand
                    self.assume(form.plus(Affine(((number, 1),)), -factor).plus(self.of(a), factor))

    def positive(self, form: Affine, level: int | None = None) -> bool:
        """Return whether a sum is known to be at least 0, in the open body or in one around it with so many bodies around."""
        if not form.terms:
            return form.constant >= 0
        known = self.facts if level is None else self.facts[: level + 1]
        if any(form.constant >= facts[form.terms] for facts in known if form.terms in facts):
            return True
        if self._by_bounds(form):
            return True
        # One fact and the bounds: form = fact + rest, with rest >= 0.
        for facts in known:
            for terms, constant in facts.items():
                rest = form.plus(Affine(terms, constant), -1)
                if len(rest.terms) < len(form.terms) + len(terms) and self._by_bounds(rest):
                    return True
        # A maximum is at least each operand.
        for number, factor in form.terms:
            place = self.places[number]
            if (place.op == "imax" and factor > 0) or (place.op == "imin" and factor < 0):
                less = form.plus(Affine(((number, 1),)), -factor)
                return any(self.positive(less.plus(self.of(a), factor), level) for a in place.args)
        return False

    def _by_bounds(self, form: Affine) -> bool:
        least = form.constant
        for place, factor in form.terms:
            if factor < 0 or place not in self.low:
                return False
            least += factor * self.low[place]
        return least >= 0
