"""The table of variants by itself: which comes first, which is dropped, which is found again; and chains by class."""

from __future__ import annotations

import pytest

from micrograd import Value, no_grad
from micrograd.compile import variants as module
from micrograd.compile.tuning import TUNING
from micrograd.compile.variants import Variant, Variants
from micrograd.nn import Linear
from micrograd.observed import is_recording
from micrograd.tape.text import parse
from micrograd.tape.trace import Trace


def a_variant(number: float, *, staged: bool = False, guards: bool = False, captured=()) -> Variant:
    """A variant of a path that adds this number, with two guards."""
    guard = "guard lt %0 %1 is true\nguard gt %0 %1 is false\n" if guards else ""
    parameter = "%2 = param 0\n" if captured else "%2 = neg %0\n"
    found = Trace(
        parse(f"%0 = input 0\n%1 = const {number}\n{parameter}%3 = add %0 %1\n{guard}return %3"), list(captured), ("*",)
    )
    found.staged = staged
    return Variant(found)


def a_table(*variants: Variant, signature: str = "s") -> Variants:
    found: Variants = Variants()
    for v in variants:
        found.add(signature, v)
    return found


def test_whether_this_thread_records():
    assert is_recording() is True
    with no_grad():
        assert is_recording() is False
        assert is_recording() is False
    assert is_recording() is True


def test_outcomes_are_those_of_the_guards():
    assert a_variant(1.0, guards=True).outcomes == (True, False) and a_variant(1.0).outcomes == ()


def test_a_variant_may_have_a_tape_of_its_own():
    one, other = a_variant(1.0), a_variant(2.0)
    assert one.tape is one.trace.tape and Variant(one.trace, other.tape).tape is other.tape
    assert one.taken is False and one.used < other.used


def test_a_kernel_is_made_once_for_each_goal(monkeypatch):
    made = []
    monkeypatch.setattr(module, "Kernel", lambda *given: made.append(given) or object())
    one = a_variant(1.0)
    first = one.kernel("a goal", "a reason", True)
    assert one.kernel("a goal", "another", False) is first and one.kernel("another goal", "why", False) is not first
    f = "a function"
    assert made == [(one.tape, "a goal", "a reason", True, f, None), (one.tape, "another goal", "why", False, f, None)]


def test_a_kernel_that_another_thread_has_made_meanwhile_is_used():
    one, made = a_variant(1.0), object()

    class Waiting:
        def __enter__(self):
            one.kernels["a goal"] = made

        def __exit__(self, *_):
            pass

    one._compiling = Waiting()
    assert one.kernel("a goal", "a reason", True) is made


def test_staged_variants_come_first_in_the_order_of_their_levels():
    plain, staged, more, last = a_variant(1), a_variant(2, staged=True), a_variant(3), a_variant(4, staged=True)
    table = a_table(plain, staged, more, last)
    assert table.of("s") == [staged, last, plain, more] and table.of("t") == []
    table.add("t", one := a_variant(5))
    assert list(table) == [staged, last, plain, more, one] and table.of("t") == [one]


def test_a_list_of_variants_that_was_given_out_never_changes():
    table = a_table(first := a_variant(1))
    before = table.of("s")
    table.add("s", a_variant(2))
    table.remove(first)
    assert before == [first]


def test_the_variant_of_the_same_path_is_known():
    one, two = a_variant(1), a_variant(2)
    table = a_table(one, two)
    assert table.known("s", a_variant(2).trace) is two and table.known("s", a_variant(3).trace) is None
    assert table.known("t", a_variant(2).trace) is None


def test_the_least_recently_used_one_is_dropped(monkeypatch):
    monkeypatch.setattr(TUNING, "max_variants", 3)
    staged = [a_variant(10 + k, staged=True) for k in range(4)]
    one, two, three = (a_variant(k) for k in range(3))
    table = a_table(*staged, one, two, three)
    assert table.dropped == 0 and not table.first_drop()
    table.touch("s", one, 4)
    table.add("t", four := a_variant(3))
    assert table.of("s") == [*staged, one, three] and table.of("t") == [
        four
    ]  # two was used longest ago; staged ones stay
    assert table.dropped == 1 and table.first_drop() and not table.first_drop()
    three.used = 0
    four.used = -1
    table.add("t", five := a_variant(4))
    assert table.of("t") == [five] and table.dropped == 2 and not table.first_drop()


def test_the_new_variant_is_never_the_one_that_is_dropped(monkeypatch):
    monkeypatch.setattr(TUNING, "max_variants", 1)
    old, new = a_variant(1), a_variant(2)
    new.used = -5
    assert a_table(old, new).of("s") == [new]


def test_a_signature_without_variants_is_forgotten():
    table = a_table(one := a_variant(1), two := a_variant(2))
    table.remove(one)
    assert table.by_signature == {"s": [two]}
    table.remove(two)
    table.remove(two)
    assert table.by_signature == {}


def test_a_variant_far_behind_moves_to_the_front_of_the_single_paths():
    staged, plain = a_variant(0, staged=True), [a_variant(1 + k) for k in range(10)]
    table = a_table(staged, *plain)
    clock = plain[9].used
    table.touch("s", plain[7], 8)
    assert table.of("s") == [staged, *plain] and plain[7].taken and plain[7].used > clock
    table.touch("s", plain[9], 9)
    assert table.of("s") == [staged, plain[9], *plain[:9]]
    table.touch("s", staged, 9)
    assert table.of("s")[0] is staged and table.of("s")[1] is plain[9]
    table.touch("s", gone := a_variant(99), 9)
    assert gone not in table.of("s") and len(table.of("s")) == 11


def test_withdrawn_variants_of_many_paths_do_not_come_back():
    staged, plain = a_variant(0, staged=True), a_variant(1)
    table = a_table(staged, plain)
    table.withdraw("s", [1.0])
    assert table.of("s") == [plain] and table.chain("s", [1.0]).closed and not table.chain("t", [1.0]).closed


def test_chains_are_kept_by_class_where_the_function_asks_for_classes():
    table = a_table()
    first = table.chain("s", [1.0])
    assert table.chain("s", [1]) is first and first.types == (float,)
    first.asks = True
    assert table.chain("s", [2.0]) is first
    of_ints = table.chain("s", [1])
    assert of_ints is not first and of_ints.types == (int,) and table.chain("s", [7]) is of_ints
    assert table.chain("t", [1]) is not of_ints


# ---- modules that change


def test_variants_hold_while_the_modules_that_they_read_are_as_they_were():
    one, two = Linear(1, 1), Linear(1, 1)
    table = a_table()
    assert not table.outdated() and table.watch is None
    table.read(abs, [])
    assert table.watch is None
    table.read(abs, [one])
    table.read(abs, [one, two])
    assert [id(m) for m in table.watch.modules] == [id(one), id(two)] and not table.outdated()
    watch = table.watch
    table.read(abs, [two])
    assert table.watch is watch  # nothing new
    two.extra = Linear(1, 1)
    assert table.outdated()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda old, new: None, True),
        (lambda old, new: setattr(new, "merged", True), False),
        (lambda old, new: setattr(new, "constants", [(0, 1)]), False),
        (lambda old, new: setattr(new, "shape", ("list", (("*",),))), False),
        (lambda old, new: setattr(new, "captured", [Value(2.0)]), False),
        (lambda old, new: setattr(new, "captured", [*old.captured, Value(2.0)]), False),
    ],
    ids=["the same", "merged", "other constants", "arranged otherwise", "another Value", "one Value more"],
)
def test_a_variant_from_before_a_change_is_used_again_where_it_does_just_the_same(change, found):
    w = Value(2.0)
    table = a_table(a_variant(5.0), old := a_variant(1.0, captured=[w]))
    after: Variants = Variants(table)
    trace = a_variant(1.0, captured=[w]).trace
    change(old.trace, trace)
    assert (after.again("s", trace) is old) is found
    assert after.again("t", trace) is None and after.of("s") == []
    twice: Variants = Variants(after)  # the change after that
    assert (twice.again("s", trace) is old) is found
