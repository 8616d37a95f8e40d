# ruff: noqa: E501
"""Write docs/trust.md: every promise, the test that holds it, and the last counts of the fuzzers and mutants.

python tools/trust.py            write it, with the counts that build/*.json have since the last time
python tools/trust.py --check    fail where a promise names a test that is not there (a test does this)
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
COUNTS = ROOT / "tools" / "trust_counts.json"
PAGE = ROOT / "docs" / "trust.md"
REASONS: dict[str, str] = json.loads((ROOT / "tools" / "mutants_survivors.json").read_text(encoding="utf-8"))

PROMISES: list[tuple[str, str]] = [  # the promise, and "file::part of a test's name" of what holds it
    ("Values and partial derivatives of every op agree with mpmath at 50 digits within [the bounds that are listed](accuracy.md), on both engines.", "tests/engine/test_ops.py::test_value_and_partials_are_right_to_the_last_digits"),
    ("Special functions of `micrograd.special` and their first and second derivatives by all arguments agree with mpmath within [the errors that are listed](special.md).", "tests/solvers/test_special_functions.py::test_derivatives_of_two_orders_are_mpmaths"),
    ("Solutions of equations, minima, events of differential equations and eigenvalues have implicit derivatives: up to the third order they agree with mpmath, closed forms or finite differences.", "tests/solvers/test_ode.py::test_the_time_of_an_event_and_its_derivatives_beside_mpmath"),
    ("Derivatives of orders 1 to 4 of every op agree with mpmath, at ordinary and special points ([the table](orders.md)).", "tests/tape/test_derivative_orders.py::test_derivatives_are_those_of_mpmath"),
    ("The derivatives of a smooth function are right at 0, where its implementation switches formulas, and for large arguments.", "tests/tape/test_derivative_orders.py::test_a_smooth_function_has_its_derivatives_where_a_formula_has_a_seam"),
    ("Second derivatives hold wherever the first ones do, also where the derivative of a rule alone leaves the range of numbers, as 1/u² does at u = 1e170: compositions at large and small arguments agree with mpmath, third derivatives wherever the square of an inner derivative is a number.", "tests/tape/test_range_of_derivatives.py::test_second_derivatives_hold_where_first_ones_do"),
    ("Kinks, ties, ends of domains and infinities follow the stated conventions and limits.", "tests/tape/test_derivative_orders.py::test_conventions_and_limits"),
    ("Functions of `micrograd.math` that the standard library has too give the same results on plain numbers.", "tests/engine/test_math_stdlib.py::test_cpython_s_vectors"),
    ("The Python engine and the C engine give the same bits, including nan and infinities.", "tests/engine/test_random.py::test_both_twins_give_the_same_bits"),
    ("Gradients agree with PyTorch, with mpmath and with finite differences on random expressions.", "tests/engine/test_random.py::test_gradients_agree_with_mpmath"),
    ("Results follow IEEE 754: log(0) does not raise an exception, and no result is complex.", "tests/engine/test_ops.py::test_ieee_results"),
    ("`exact=True` gives the same bits as eager code, for values and gradients, at every tier and width.", "tests/compile/test_whole_table.py::test_a_point_at_every_tier"),
    ("Sums over rows are added in one order, whatever the width of the processor's vectors is.", "tests/compile/test_sum_order.py::test_"),
    ("Rows on a GPU (`device=\"cuda\"`) have the bits of the CPU, sums and gradients included. Without a GPU, the PTX is translated to C and run ([where it ran on a GPU](gpu.md)).", "tests/compile/test_cuda.py::test_sums_and_gradients_have_the_bits_of_the_cpu"),
    ("Rows by OpenCL have the bits of the CPU, on Intel's runtime for CPUs.", "tests/compile/test_opencl.py::test_values_and_gradients_have_the_bits_of_the_cpu"),
    ("No number of a kernel for a GPU is written by two threads, or written by one and read by another; a planted race is found.", "tests/compile/test_races_of_kernels.py::test_"),
    ("Training steps that stay on a device leave the parameters, gradients and optimizer states of `fit(compile=True)`, to the bit (but for losses [in which a function like `log1p` decides a branch](gpu.md)).", "tests/train/test_fit_on_a_device.py::test_steps_that_stay_on_the_device"),
    ("Loops that carry their derivatives along, in place of an adjoint that keeps their states, have the derivatives of eager code, and tell which inputs they do not depend on.", "tests/tape/test_joined.py::test_gradients_are_those_of_a_plain_run"),
    ("Elementary functions in exported C files (`libm=False`) have the bits of those over rows and on GPUs.", "tests/interop/test_export_c.py::test_functions_of_its_own_have_the_bits_of_vectors"),
    ("Calls of `jit` have the same bits before and after the machine code is ready.", "tests/compile/test_tiers.py::test_machine_code_changes_no_bit"),
    ("The number of threads does not change any bit of a result.", "tests/compile/test_whole_table.py::test_the_number_of_threads_changes_no_bit"),
    ("Programs with loops, branches, early returns and captured state give the same results in every mode of execution.", "tests/contract/test_fuzz.py::test_programs_in_every_way"),
    ("The result of a program does not depend on earlier calls, on the order of rows, on batches or on which row came first, not even in the last bit, and also without `exact=True`.", "tests/stage/test_which_variant_takes_a_row.py::test_random_programs_in_random_histories"),
    ("Which traced path takes a call depends on its arguments alone; variants are made, asked and dropped in one order.", "tests/compile/test_chain.py::test_"),
    ("Loops, folds of generator expressions (`sum`, `min`, `max`, `any`, `all`) and lists that loops change give eager code's results when they are compiled as loops.", "tests/stage/test_folds.py::test_a_fold_is_a_loop_and_gives_what_eager_code_gives"),
    ("Numbers of objects, tensors and arrays that are arguments, or `self` of a method, are read again in each call.", "tests/compile/test_objects.py::test_an_attribute_that_changes_is_seen"),
    ("What a compiled function reads from outside (names, lists, arrays, objects, classes, helper functions) is followed when it changes, up to the limits that are named in the [guide](compile.md).", "tests/compile/test_read_from_outside.py::test_what_changes_outside_is_seen"),
    ("A first call takes a bounded time longer than plain Python: the search for a tape of all paths ends, and rows whose paths do not pay are run in plain Python, with one warning that names the line.", "tests/compile/test_first_calls_end.py::test_rows_of_many_paths_are_run_plainly_when_compiling_does_not_pay"),
    ("No result leaves before its guard holds: the first call returns what its own branch returns, be it numbers, constants, texts or containers.", "tests/compile/test_first_calls.py::test_the_first_call_returns_what_its_own_arm_returns"),
    ("The fuzzer notices a first call that returns what another branch returns.", "tests/contract/test_fuzz.py::test_a_first_call_that_does_not_look_at_its_guards_is_found"),
    ("SciPy's splines, interpolation, quadrature and roots inside of functions have the values and derivatives of plain floats and differences.", "tests/solvers/test_functions_of_scipy.py::test_a_function_of_scipy_takes_values"),
    ("A function that compares `type(x)` with a class of numbers and takes another branch with Values is refused, to every order and without source.", "tests/contract/test_plain_programs.py::test_a_comparison_of_types_is_refused_to_every_order_and_where_branches_meet"),
    ("Functions of `scipy.special` agree with mpmath, values and slopes, in their tails too; SciPy's distributions run on Values in every mode.", "tests/interop/test_scipy_functions.py::test_value_and_slope_agree_with_mpmath"),
    ("Small-array NumPy code runs as it is in `grad`, `jit` and `vmap`, or is refused by name.", "tests/contract/test_plain_arrays.py::test_a_program_runs_as_it_is"),
    ("Where a function catches an error of arithmetic, as of `x / 0`, it goes on in compiled code as it does with plain numbers.", "tests/compile/test_errors_of_arithmetic.py::test_"),
    ("Arguments in lists, dicts, objects and arrays, and by name, give the same results as plain Python, however they are arranged in later calls.", "tests/compile/test_layouts.py::test_arguments_that_lie_otherwise_are_answered_rightly"),
    ("A choice that depends on the text of a number is refused in a compiled function.", "tests/contract/test_footguns.py::test_the_text_of_a_number_decides"),
    ("No gradient passes a step (`floor`, comparisons, the condition of `where`), not even an infinite one, however it is computed.", "tests/compile/test_steps.py::test_no_gradient_passes_a_step"),
    ("Machine code in which repeated pieces became functions has the bits of the definition.", "tests/compile/test_rolled_patterns.py::test_repeated_pieces_have_the_bits_of_the_definition"),
    ("The fuzzer notices if earlier calls decide which variant runs a row.", "tests/stage/test_which_variant_takes_a_row.py::test_the_fuzzer_sees_rows_that_history_gives_to_one_variant_or_another"),
    ("The fuzzer notices a partial derivative that is off by a millionth, and reduces the program to the op at fault.", "tests/contract/test_fuzz.py::test_a_wrong_partial_is_found_and_its_program_shrunk"),
    ("Damaged tapes, expressions, weights, checkpoints, kernels and requests are refused as promised.", "tests/contract/test_fuzz.py::test_damaged_input_is_refused_as_promised"),
    ("Programs that once gave wrong results silently are right now: guards, kinks, powers, `where`, changed arguments, copies, sums.", "tests/trust/test_wrong_results_that_were_silent.py::test_"),
    ("What micrograd cannot merge is never an exception that the program itself catches.", "tests/stage/test_own_errors.py::test_the_program_does_not_catch_what_the_merger_raises"),
    ("Inside a trace, `isinstance`, `match` and `singledispatch` take the same branch as for plain numbers; a comparison of `type(x)` gets a warning that names its line.", "tests/trust/test_isinstance_under_a_trace.py::test_the_branch_is_that_of_plain_numbers"),
    ("A function that treats Values and numbers differently, such as by an `except` for an error that only Values raise, is refused when it is compiled: its trace has to give what a run on plain numbers gives.", "tests/evidence/test_plain_runs.py::test_a_trace_that_computes_something_else_is_refused"),
    ("If a differentiated function keeps a Value of its arguments, no gradient is lost silently.", "tests/trust/test_a_value_kept_by_a_differentiated_function.py::test_backward_refuses_to_end"),
    ("`exact=True` gives the same bits as eager code on Values for mixed derivatives up to order 4.", "tests/trust/test_exact_orders_of_hypot.py::test_exact_code_has_the_bits"),
    ("Merged branches give the same results as eager code for each row, whichever row was used to merge them.", "tests/stage/test_stage_fuzz.py::test_random_programs_give_the_results_of_eager_code"),
    ("The fuzzer notices a derivative that is wrong in the op table itself, because mpmath is independent of the table.", "tests/contract/test_fuzz.py::test_a_slope_that_is_wrong_everywhere_is_found_by_mpmath"),
    ("Programs that once corrupted memory, leaked memory or left a wrong state no longer do so.", "tests/trust/test_memory_and_state.py::test_"),
    ("If an allocation of the C engine fails, a MemoryError is raised and Values are unchanged; every allocation is tested.", "tests/engine/test_faults.py::test_every_allocation_fails_once"),
    ("The same holds for compiled calls at points and over rows, for traces and for optimizers, and a failed call leaves nothing behind.", "tests/engine/test_faults_compiled.py::test_"),
    ("Operands that change their size, call the engine again or raise exceptions do no harm, nor does a thread that looks at all objects.", "tests/engine/test_hostile.py::test_"),
    ("If a system call fails, or the process is killed, while weights, checkpoints or kernels are written, the file is either the old one or the new one.", "tests/train/test_system_calls.py::test_every_call_fails_once_and_is_killed_once"),
    ("A checkpoint in which any byte has changed is refused, and changes neither the model nor the optimizer.", "tests/train/test_damage.py::test_every_byte_of_a_checkpoint_is_covered"),
    ("A state with a nan never replaces a good checkpoint; a full disk keeps the history and the last good file.", "tests/train/test_damage.py::test_a_state_with_a_nan_never_replaces_a_good_one"),
    ("Files of the kernel cache that were exchanged with each other are refused.", "tests/trust/test_memory_and_state.py::test_exchanged_files_of_the_cache_are_refused"),
    ("Slow clients of the local server lock nobody out: a request has a time limit in all.", "tests/learn/test_server.py::test_forty_dripping_sockets_lock_nobody_out"),
    ("The tests compare by relative tolerances, unless an absolute one is given: a wrong gradient is not hidden by being small.", "tests/trust/test_tolerances.py::test_a_small_number_is_compared_by_its_size"),
    ("A `backward()` that is interrupted restores all gradients.", "tests/engine/test_by_hand.py::test_a_signal_ends_a_long_sweep"),
    ("After a graph has been freed, resident memory is within 15 % of the memory in use.", "tests/trust/test_memory_comes_back.py::test_resident_memory_is_what_is_in_use"),
    ("The C and JavaScript code of the ops is generated from the table and is up to date.", "tests/engine/test_generated.py::test_"),
    ("The ops in the web page give the same values and partial derivatives as those in Python.", "tests/learn/test_ops_js.py::test_values_and_partials_are_those_of_python"),
]  # fmt: skip

HEAD = """# Why trust a gradient

For each promise of micrograd there is a test that would fail if the promise were broken. This page lists the promises and their tests,
and the results of the fuzzers and other tools that search for unexpected defects. `make trust` writes this page, and a test checks that
every test named here exists.

## Promises

| promise | test |
| --- | --- |
"""

MUTANTS = """A mutant is one file with one small change: another operator, comparison or number, a negated condition, a dropped statement,
`None` in place of a result. Changes of messages, annotations and docstrings are left out. A mutant runs the tests that execute the
changed lines, the fastest first, until one fails or 40 seconds of tests have passed (3 to 8 seconds for `states.py`, `primal.py`
and the second half of `ops.py`). Where fewer were tried than there are, they are a random sample, or all but
those that take effect when a module is imported. The reasons for which known survivors change nothing are in `tools/mutants_survivors.json`."""

MIDDLE = """
## Counts

| what | command | last run |
| --- | --- | --- |
"""

FOOT = """
The fuzzer generates Python functions with loops (nested, long, reversed, over lists that they change), folds of generator expressions,
nested comprehensions, branches, early returns, exceptions, lists, lists of lists, objects that are changed or made anew (classes with
operators, dataclasses, named tuples), helper functions, captured Values, inner derivatives and every op. Every second program
(`--mixed`) returns anything that a function may return (`None`, bools, texts, whole numbers, containers and mixtures of them), and
calls functions of other packages, which are not merged. The fuzzer runs each program at three to six points (ordinary numbers, equal
numbers, inputs moved onto the edge of a branch):

- All programs run on the C engine and are compared with dual numbers to which random rounding noise is added. The effect of the noise
  shows how much a different order of rounding may change the result, and bounds the allowed difference. On the Python engine they must
  give the same bits.
- Of programs that return more than a number, the result is compared as a whole, with its constants and containers: in the first call
  and in later ones, with any of the points first, and over rows. Their numbers, added up, are compared in the other ways, too.
- A sample also runs as a traced tape with its adjoint after all passes (which must give the same bits), as one tape of all paths, in
  mpmath at 30 digits with derivatives that were written independently of the op table, in PyTorch if it is installed, and for
  derivatives up to order 4 on both engines.
- One in 20 (`--compiled`) runs as machine code in every mode: `jit` with `exact=True`, by default, with `wait=False` before and after the
  code is ready, and with `fastmath`; as the first call and after other calls; `vmap` with each row as the first one, with one, two and
  seven threads, and in single precision; and orders 2 to 4.
- One in 20 (`--histories`), if it has a branch, runs in several histories: with shuffled rows in batches of random sizes and as single
  points, with calls on Values in between, compiled and interpreted, and summed. The results of a row must be the same to the bit,
  without `exact=True`. The branches are also merged starting from several rows, which must give the same tape.

MUTANTS_TABLE
## What was found

All of the following defects are fixed.

- The fuzzer of programs found three. A Value that a function given to `grad` kept, and that was used outside later, lost its gradient
  silently. An object with an unusual `__getattr__` near a function broke the trace. And if two variants were valid for a row, the last
  bit of its result depended on the order of rows.
- Three related defects were found by hand while the last one was fixed. Calls on Values decided which variant later calls on numbers
  used. The number of iterations of a `while` in the first row decided how a `for` beside it was compiled. And in a function with a long
  loop, a row that raises an exception got 0.0 instead.
- Failing system calls found one: a new run that overwrote the checkpoint of an older run could lose both in a crash.
- Guided fuzzing reported one input, for which it had forged the checksum of a cached kernel. A checksum does not protect against forgery,
  so the check in the fuzzer was corrected.
- Another 212,000 programs found that functions over lists did not accept lists whose length and items both differ by row, so that such
  programs were not merged, and that an oracle treated functions of constants as exact.
- A tester found that the results of `floor` and similar functions in compiled code could be off by a whole step.
- Another 720,000 programs found one failure, of the fuzzer itself: the noise of an oracle led it into a branch that divides by zero.
- Mutants and reverted fixes showed two weak tests: the tests of what a gradient reaches had no input of 0, where a wrong flag shows, and
  the test of a learner's predictions also passed with an absolute tolerance. Both are stricter now.
- The fuzzer of merged programs found that `backward()` gave nan where an infinite gradient meets a step such as `floor`, and `grad` gave
  a number. A surviving mutant showed the same for the condition of `where` and the sign of `copysign`.
- The documented examples of other people's packages (652 calls of functions of fluids and ht) were differentiated, compiled and
  compared with eager code. Where an `except` caught the error by which a trace refuses `math.exp(x)`, the compiled function went on
  with other numbers, in silence.
- A test that was written for a surviving mutant found that the check of merged kernels took an infinite derivative for rounding, whatever
  eager code gave.
- Mutants of the reverse loops and of the optimizers showed what no test looked at: which numbers a loop keeps for its gradient, the
  reach of values that a loop without iterations would use, contradictions between an optimizer and its groups. There are tests now.

- When the fuzzer began to write lists of lists, objects and exceptions, its first 1,500 such programs found four defects. Where a loop in
  one arm of an `if` assigned items of a list of lists, the merged code had the old numbers (the check of merged code noticed this). An
  `except` of a program caught what the merger itself raised, so that `jit` took the wrong branch in silence. Two kinds of programs were
  compiled path by path for no good reason.
- Tests that were written for surviving mutants of the op table found that ops outside of the table could not be copied.
- Surviving mutants of the guard logic showed three defects. A call with two ints was not compared with plain Python if each of them had
  been an int in a call before, nor was a path that only floats had taken. And keys of a dict that were exchanged in place were not seen.
- A review of the watchers of objects and modules found that a compiled function went on with old parameters if it read a module without
  `forward()` in a comprehension, a list or an object, and that `vmap` of a method did not see attributes that class patterns name.
- A review of what else a trace keeps found that compiled functions went on with old numbers when a name outside of them was assigned
  again, or when a list, an array, an object or a class that they read had changed, as functions compiled by JAX do. A tester wrote 190
  programs about it: 93 of them kept old numbers, of which 73 are right now and 10 are documented; the other 10 are rare, such as
  `builtins.k = 1.0` and the masks of masked arrays.
- Mutants of `math.py` found that `sumprod` gave nan where a product overflows, that the sign of a zero was lost by `modf`, and that
  `nextafter` was nan at infinity. Mutants of the guard logic found that the classes of arguments were remembered one by one, so that
  `f(1, 2)` was not compared with plain Python after `f(1, 2.0)` and `f(1.0, 2)`.
- A tester with 20 packages from the index found that a function that catches ZeroDivisionError in a method, or with `except Exception`,
  went on with inf in compiled code if an earlier call had not divided by zero.
- Compiled functions did not see changes inside of lists of more than 256 numbers and arrays of more than 4 kB. The limits are 100,000
  numbers and 1 MB now.
- Another tester, of the bridges, found that graphs which PyTorch records (`make_fx`, `torch.func.linearize`) held the numbers of the
  first call, and that statistics of a pandas Series of Values lost their gradients.
- Another tester of whole numbers found that a zero that is made from them could have a sign in merged code (`atan2(-int(x) * y, -1.0)`),
  and that ints in lists beside Values were taken for floats.

## Known limitations

- A derivative of 0 times an infinite one is nan, as in IEEE 754, PyTorch and JAX: `acos(where(x > 0.3, x, -1.0))` at x = 0 has the
  gradient nan, because acos has an infinite derivative at -1. Compiled code that computes equal terms once may have an infinity there
  instead.
- A derivative of order n holds products of n - 1 inner derivatives. Where these leave the range of numbers, it is nan, or what underflows
  is missing: third derivatives of `softplus(exp(x))`, `hypot(exp(x), exp(y))` or `lgamma(exp(x))` at x = 400, where exp(x)² is infinite,
  and of `hypot` at x = -400. In second derivatives, what is missing lies below the last digit of another term, with one exception: the mixed
  derivative of `hypot(exp(x) + exp(y), 1.0)` at 400, which is 6.9e-176, is 0. Powers with an exponent that is a variable, such as
  `u**v`, choose between two formulas, and at such points the one that is not chosen may give nan from order 3 on. Where a first
  derivative leaves the range of numbers (`1.0 / exp(x)` at x = 400, whose partial derivative is 1e-348), the gradient is 0 or infinite, as in PyTorch and JAX.
- Each kink has its own convention, also where two of them cancel: `copysign(abs(x), x)` is x, and its derivative at 0 is 0, not 1.
- A known defect: where a function without a loop, or rows of `vmap`, use an int argument as an index (`x[k]`) inside of a `try` whose
  handler catches the error that a Value raises there (`IndexError`, `TypeError`, `Exception`), later calls may take the handler's
  path. Give such an argument by `static_argnums`, or compare it with `len(x)` before.
- `type(x) is float` is false inside a traced function; a warning names the line. Use `isinstance(x, float)`, which works.
- In eager code, `isinstance(Value(1.0), float)` is false, and so is `isinstance(Value(1.0), numbers.Real)`: that class requires equal
  numbers to have equal hashes, but Values are hashed by identity.
- With `fastmath=True` and without `wait=True`, the last bits of a result may change when the machine code is ready.
- If a batch takes more than 4,096 paths, its remaining rows run in Python, with a warning, and round like eager code. Their last bits may
  depend on the other rows of the batch.
- Where compiling the paths of rows has cost 2.5 seconds more than it has saved, the rows that are left run in plain Python, with a
  warning, and round like eager code. How many paths are compiled before depends on the speed of the machine, and with it the last
  bits of these rows; so does whether all paths of a function are found in the 2.5 seconds that the search may take.
- Without `exact=True`, products and sums may be fused, so a number that is exactly zero in eager code by cancellation may be about
  1e-17 in compiled code. Operands of an `if` and of functions with jumps (`floor`, `//`, `sign` ...) are not fused. Operands of functions
  with a kink (`abs`, `relu`) or of a division may be, so the derivative at such a point may be that of one side.
- Higher derivatives on plain numbers may differ in the last bits from those on Values and from `jit(..., exact=True)`
  ([From plain Python to machine code](compile.md)).
- Memory (`python benchmarks/memory.py`): after 10,000,000 nodes are freed, resident memory is the same as before (ratio 1.00). After
  several such graphs, `gc.collect()` returns the memory that is kept for the next one. If one node in a thousand is kept, no memory is
  returned: nodes lie in slabs of 2 MB, with about 20,000 nodes each, and a slab is returned when it is empty. Nodes cannot be moved. If
  slabs could return single pages of 4 kB, about 4 % of the memory would have to stay in this case, but they do not return single pages.
- CPython 3.11 itself loses a few bytes when it finds no memory for its frames (also in programs without micrograd), so leaks are
  searched for at the C entry points and not through Python code.
- `make sanitize` looks for races with an ordinary CPython, whose locks ThreadSanitizer sees but not its memory; `make sanitize-threads`
  does so with a CPython that was built with ThreadSanitizer. In both, the machine code of kernels and NumPy are not instrumented.
- The counts above are complete: no other programs and mutants were run. The number of programs is the sum of several runs, with one
  program in 400 or 4,000 compiled, and both the package and the fuzzer were changed between these runs; the times were measured on a
  busy machine. PyTorch's derivative of `digamma` has only 9 to 10 correct digits, so it is compared with mpmath only.
- After the last changes of the C code, all sanitizers ran all of their tests again, but with an ordinary CPython: with the one that is
  instrumented, ThreadSanitizer ran before these changes.
- Mutants of lines that did not change keep their results in the table; after tests were added, only the survivors ran again.
- Of some files only a part of the mutants was tried, and of `tape/builder.py`, `tape/interpret.py` and most of `stage/` none. In
  passes and in `stage/` they are changes inside of functions. Survivors without a reason are listed in `tools/trust_counts.json`. Many
  survivors of `ops.py` are numbers that stand where another formula is chosen.
"""


CORPUS = """`make corpus` installs other packages at pinned versions, finds functions with inputs, and runs each as it is with
`micrograd.testing.check`: in `grad`, and without `--eager` compiled and over rows too, of which CI runs a part (`make corpus-part`).
CUTEst's functions are run in `grad` and `hessian`, NIST's in `least_squares` and compiled Newton steps, to 8 certified digits. The FPCore
files are those of FPBench at 7e2b76b and of Herbie at 1863fcf, three points of each program. Values are compared with plain floats to the
bit, gradients and second derivatives with finite differences, with derivatives that were written by hand, or in 80 digits. Rows with
`--keep` add up runs with a budget; calls that these have not reached yet are not counted. *Kink*: finite differences do not settle, at
a tie, a step or the end of a domain. In rows with `--keep` and in those of `programs`, differences in 80 digits have shown that the
slopes beside the point are others, or the function rounds on purpose; what they do not decide is *unsettled*. *Refused*: an error that
names the line; most are classes derived from `float`, and numbers of mpmath. *Slow*: over the limit for all ways together; with
`--seconds 10` that is 10 s of processor time, or 40 s on the clock of a machine that does other work.
"""
THEIRS = """Of {count} of CUTEst's element functions in Python, finite differences agree with micrograd and not with the derivative that was
written by hand. The entry that differs most, counted from 0, at the problem's own start point; `--save FILE` writes all of them:

{names}"""


def missing() -> list[str]:
    """The promises whose test is not there."""
    found = []
    for promise, test in PROMISES:
        path, name = test.split("::")
        file = ROOT / path
        if not file.exists() or not re.search(rf"def {re.escape(name)}", file.read_text(encoding="utf-8")):
            found.append(f"{test}: {promise}")
    return found


def counts() -> dict[str, dict[str, object]]:
    """The last counts: those that are kept, and over them what was run since."""
    kept: dict[str, dict[str, object]] = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    for name in ("fuzz", "fuzz-mixed", "fuzz-loaders", "guided", "mutants", "faults", "corpus", "races", "interrupts"):
        path = ROOT / "build" / f"{name}.json"
        if not path.exists():
            continue
        new = json.loads(path.read_text())
        if name in ("mutants", "corpus"):
            kept[name] = {**kept.get(name, {}), **new}
        elif name != "fuzz" or new["programs"] >= 1000:  # a few programs are a look at one of them, and no run
            kept[name] = new
    return kept


def mutants(kept: dict[str, dict[str, object]]) -> dict[str, tuple[int, int, int, int]]:
    """For each file: how many mutants were tried, how many there are, and how many survived with and without a reason."""
    found = {}
    for file, result in kept["mutants"].items():
        assert isinstance(result, dict)
        with_reason = sum(f"{file}: {name}" in REASONS for name in result["survivors"])
        found[file] = result["mutants"], result["of"], with_reason, len(result["survivors"]) - with_reason
    return found


def mutants_table(kept: dict[str, dict[str, object]]) -> str:
    """The section on mutants: the share that died of each file."""
    if "mutants" not in kept:
        return ""
    lines = ["## Mutants", "", MUTANTS, "", "| file | tried | of | died | survived with a reason | without |"]
    lines.append("| --- | --: | --: | --: | --: | --: |")
    for file, (tried, of, reasons, lived) in mutants(kept).items():
        died = tried - reasons - lived
        lines.append(f"| `{file}` | {tried} | {of} | {died} ({100 * died / tried:.0f} %) | {reasons} | {lived} |")
    return "\n".join(lines) + "\n"


def corpus_table(kept: dict[str, dict[str, object]]) -> str:
    """The section on programs of other packages: what became of their calls."""
    groups: dict[str, dict[str, Any]] = kept.get("corpus", {})  # type: ignore[assignment]
    if not groups:
        return ""
    lines = ["## Programs that nobody here wrote", "", CORPUS]
    lines += [
        "| | calls | right | kink | unsettled | refused | slow | wrong | command | date |",
        "| --- | --: | --: | --: | --: | --: | --: | --: | --- | --- |",
    ]
    for title, g in groups.items():
        numbers = [f"{g.get(key, 0):,}" for key in ("calls", "right", "kink", "unsettled", "refused", "slow", "wrong")]
        lines.append(f"| {title} | {' | '.join(numbers)} | `{g['command']}` | {g['date']} |")
    wrong = {name: text for g in groups.values() for name, text in sorted(g.get("corrections", {}).items())}
    if wrong:
        lines += ["", THEIRS.format(count=len(wrong), names="\n".join(f"- `{n}`: {text}" for n, text in wrong.items()))]
    return "\n".join(lines) + "\n"


def rows(kept: dict[str, dict[str, object]]) -> list[tuple[str, str, str]]:
    found = []
    if "fuzz" in kept:
        f = kept["fuzz"]
        text = (
            f"{f['programs']:,} programs at {f['points']:,} points in {f['seconds']:,} s; {f['compiled']:,} of them compiled in "
            f"every mode, {f.get('histories', 0):,} in several histories, {f['merged']:,} merged, {f['oracle']:,} points compared with "
            f"mpmath and {f.get('torch', 0):,} with PyTorch, {f.get('orders', 0):,} to order 4, {f.get('results', 0):,} that "
            f"return more than a number: {f['failures']} open failures"
        )
        found.append(("random programs in every mode", "`make fuzz`", text))
    if "fuzz-mixed" in kept:
        f = kept["fuzz-mixed"]
        text = f"{f['programs']:,} programs at {f['points']:,} points, a random one of them in the first call of `jit`: {f['failures']} open failures"
        command = "`python -m fuzz --mixed 1 --every 1000 --histories 1000 --results build/fuzz-mixed.json`"
        found.append(("programs that return constants, texts and containers", command, text))
    if "fuzz-loaders" in kept:
        inputs = kept["fuzz-loaders"]["inputs"]
        assert isinstance(inputs, dict)
        text = ", ".join(f"{name} {n:,}" for name, n in inputs.items())
        found.append(("damaged inputs", "`make fuzz-loaders`", f"{text}: {kept['fuzz-loaders']['failures']} failures"))
    if "guided" in kept:
        text = ", ".join(f"{name} {n:,}" for name, n in kept["guided"]["inputs"].items())  # type: ignore[attr-defined]
        found.append(("the same, guided by coverage", "`python -m fuzz.loaders NAME --guided` (Atheris)",
                      f"{text}, in {kept['guided']['seconds']:,} s: {kept['guided']['failures']} failures"))  # fmt: skip
    if "faults" in kept:
        found.append(("failing allocations and system calls", "`make faults`", str(kept["faults"]["text"])))
    if "races" in kept:
        races, ends = kept["races"]["races"], kept["races"]["ends"]
        assert isinstance(ends, dict)
        text = (
            f"{races:,} races: afterwards {ends['right']:,} calls gave what plain Python gives and {ends.get('stale', 0):,} an old "
            f"number; during them, {ends.get('told', 0):,} calls said that something else had changed what the function reads"
        )
        found.append(("another thread changes what a compiled function reads", "`python tools/races.py 1000`", text))
    if "interrupts" in kept:
        sent, ends = kept["interrupts"]["interrupts"], kept["interrupts"]["ends"]
        assert isinstance(ends, dict)
        processes = ", ".join(f"{n:,} {how}" for how, n in ends.items())
        text = f"{sent:,} interrupts of {kept['interrupts']['processes']:,} processes: {processes}; all others: 0"
        found.append(("Ctrl-C at random moments of a first call", "`python tools/interrupts.py 1000`", text))
    if "mutants" in kept:
        tried, reasons, lived = (sum(row[k] for row in mutants(kept).values()) for k in (0, 2, 3))
        text = f"{tried - reasons - lived:,} of {tried:,} died, {reasons} survived with a reason, {lived} without (see below)"
        found.append(("mutants", "`make mutants`", text))
    return found


def main() -> int:
    if missing():
        print("promises without their test:\n  " + "\n  ".join(missing()), file=sys.stderr)
        return 1
    if "--check" in sys.argv:
        return 0
    kept = counts()
    COUNTS.write_text(json.dumps(kept, indent=1) + "\n")
    lines = [HEAD, *(f"| {p} | `{t.split('::')[0]}` ({t.split('::')[1]}) |\n" for p, t in PROMISES), MIDDLE]
    lines += [f"| {' | '.join(row)} |\n" for row in rows(kept)]
    foot = FOOT.replace("MUTANTS_TABLE\n", mutants_table(kept) + "\n" + corpus_table(kept) + "\n")
    PAGE.write_text("".join([*lines, foot]), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
