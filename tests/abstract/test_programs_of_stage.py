"""The programs of tests/stage as typed tapes: the results of plain Python to the bit, or a refusal that says why."""

from __future__ import annotations

import importlib
import random

import pytest
import running

from micrograd.abstract import Refused
from micrograd.ir.interpret import CheckFailed
from stage.realistic import PROGRAMS as REALISTIC

MODULES = ("containers", "exceptions", "iterators", "user_classes", "changed_lists", "changed_objects", "objects_made_anew",
           "special_methods", "grown_lists", "derived_indices", "nested_comprehensions", "tables", "rolled",
           "long_loops")  # fmt: skip
LEFT_TO_PYTHON = ("special_methods.same_nan",)  # in some rows: whether a nan is the same object
REFUSED = {
    "containers.inner_lists_by_several_names": "a loop that cannot stay a loop: a list of lists of several lengths is indexed",
    "containers.set_operations": "an operator of sets whose items differ",
    "containers.dict_keys": "a key that may be missing is deleted",
    "containers.insert_and_pop": "the items of a list whose length is not known are needed one by one",
    "containers.stars_and_groups": "the rows of a list become longer",
    "containers.sets_of_ints": "an item that may be missing is removed from a set",
    "exceptions.managers_that_swallow": "the attribute __traceback__ of an exception",
    "exceptions.contextmanager_and_suppress": "a context manager that is made of a generator",
    "exceptions.suppressed_errors": "a context manager that is made of a generator",
    "iterators.generators": "gen() is a generator that cannot be held between two items",
    "iterators.a_generator_that_is_held": "g() is a generator that cannot be held between two items",
    "iterators.a_dict_by_key": "an iteration over a dict whose keys were set in an order that is not known",
    "changed_objects.new_list_in_object": "an object that is another one in each iteration is used",
    "changed_objects.is_asked": "`is` between two numbers",
    "changed_objects.same_value": "`is` between two numbers",
    "special_methods.cached_property": "functools.cached_property",
    "special_methods.missing_attribute": "__dict__ of Cached is a descriptor",
    "special_methods.descriptor": "value of Described is a descriptor",
    "special_methods.missing_item": "Growing has its own __new__",
    "special_methods.names_here": "dir() is called, which is not followed",
    "special_methods.cause": "the attribute __cause__ of an exception",
    "special_methods.context": "the attribute __context__ of an exception",
    "special_methods.message_of_an_assertion": "a text with numbers that are not known is used",
    "special_methods.current_exception": "exc_info() is called, which is not followed",
    "special_methods.traceback_of_an_exit": "the attribute __traceback__ of an exception",
    "grown_lists.division_by_plain_zero": "it always raises: ZeroDivisionError: float division by zero",
    "tables.grows_later": "the rows of a list become longer",
    "tables.grows_inside": "the rows of a list become longer",
    "tables.grows_in_an_arm": "the rows of a list become longer",
    "rolled.captured_parameter": "a Value from outside of the function is used",
    "realistic.quick_sort": "the items of a list whose length is not known are needed one by one",
    "realistic.dispatch_table": "fromkeys() is called, which is not followed",
    "realistic.itertools_pairs": "count() is called, which is not followed",
    "realistic.sets_and_slices": "an operator of sets whose items differ",
    "realistic.default_dict": "a dict or a set with a key that is not known before the call",
    "realistic.with_contextmanager": "a context manager that is made of a generator",
    "realistic.parameters_in_one_arm": "a Value from outside of the function is used",
    "realistic.choice_of_parameter": "a Value from outside of the function is used",
    "realistic.print_in_a_rare_arm": "print() is called, which is not followed",
    "realistic.shortest_path": "an iteration over a set",
    "realistic.patterns_of_classes": "whether an object has an attribute is not known",
}
IEEE = (ZeroDivisionError, ValueError, OverflowError)  # what Python raises where arithmetic on a tape goes on


def programs():
    """Return the programs by name, each with its rows of arguments."""
    found = {}
    for module in MODULES:
        space = vars(importlib.import_module(module))
        listed = [space.get(name, ()) for name in ("PROGRAMS", "ROLLED", "MADE", "LOOPS", "FUNCTIONS", "OTHERS")]
        items = [x for xs in listed for x in (xs.values() if isinstance(xs, dict) else xs)]
        for function in [x[0] if isinstance(x, tuple) else x for x in items]:
            if not hasattr(function, "__code__"):
                continue
            r = random.Random(1)
            count = function.__code__.co_argcount
            rows = [tuple(r.gauss(0, 1.5) for _ in range(count)) for _ in range(8)]
            found[f"{module}.{function.__name__}"] = function, rows
    for name, make in importlib.import_module("algorithms").ALGORITHMS.items():
        r = random.Random(2)
        found[f"algorithms.{name}"] = make(12), [(r.gauss(0, 1.5), r.gauss(0, 1.5)) for _ in range(8)]
    for name, (function, rows, _) in REALISTIC.items():
        found[f"realistic.{name}"] = function, [tuple(row) for row in rows]
    return found


CASES = programs()


def outcome(run):
    """Return what a call returns, or what it raises."""
    try:
        return run()
    except Exception as error:
        return error


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_plain_python(name):
    function, rows = CASES[name]
    if name in REFUSED:
        with pytest.raises(Refused) as refusal:
            running.staged(function, rows[0])
        assert REFUSED[name] in refusal.value.fact
        return
    found = running.staged(function, rows[0])
    for row in rows:
        wanted = outcome(lambda: function(*row))  # noqa: B023
        got = outcome(lambda: running.run(found, row))  # noqa: B023
        if isinstance(wanted, Exception):
            assert isinstance(got, CheckFailed) or isinstance(wanted, IEEE)
        elif isinstance(got, CheckFailed):
            assert name in LEFT_TO_PYTHON
        else:
            assert running.equal(got, wanted)


def test_most_programs_are_followed():
    assert set(REFUSED) <= set(CASES)
    assert len(REFUSED) / len(CASES) < 0.15


def test_refusals_name_the_line():
    function, rows = CASES["special_methods.cause"]
    with pytest.raises(Refused, match=r"special_methods\.py:\d+"):
        running.staged(function, rows[0])
