"""Exceptions: which handler, else, finally, raise from, contexts, bare raise, unbound names."""

import sys


def show(error, depth=0):
    while error is not None and depth < 6:
        print("  " * depth, type(error).__name__, error, "cause", repr(error.__cause__), error.__suppress_context__)
        error, depth = error.__context__, depth + 1


def attempt(f, *args):
    try:
        print(f.__name__, "->", f(*args))
    except BaseException as error:
        print(f.__name__, "raised")
        show(error)


def ways(n):
    log = []
    try:
        log.append("try")
        if n == 0:
            raise ValueError("zero")
        if n == 1:
            raise KeyError("one")
        if n == 2:
            raise OSError("two")
        if n == 3:
            return log
        log.append("end of try")
    except ValueError:
        log.append("value")
    except (KeyError, IndexError) as error:
        log.append(repr(error))
    except OSError as error:
        log.append(str(error))
        return log
    else:
        log.append("else")
    finally:
        log.append("finally")
    log.append("after")
    return log


for n in range(5):
    print(ways(n))


def finally_wins(n):
    for i in range(3):
        try:
            if n == 0:
                raise ValueError("lost")
            if n == 1:
                return "lost"
            if n == 2:
                continue
            if n == 3:
                break
        finally:
            if i == 1 and n < 4:
                return "won"
            if n == 0:
                break
    else:
        return "else"
    return "end"


for n in range(5):
    attempt(finally_wins, n)


def contexts():
    try:
        try:
            1 / 0
        except ZeroDivisionError:
            {}["key"]
    except KeyError as error:
        show(error)
    try:
        try:
            raise ValueError("a")
        except ValueError as error:
            raise KeyError("b") from error
    except KeyError as error:
        show(error)
    try:
        try:
            raise ValueError("a")
        except ValueError:
            raise KeyError from None
    except KeyError as error:
        show(error)
    try:
        raise ValueError
    except ValueError as error:
        show(error)
    try:
        raise TypeError("t") from ValueError
    except TypeError as error:
        show(error)


contexts()


def bare():
    try:
        raise ValueError("first")
    except ValueError:
        try:
            raise KeyError("second")
        except KeyError:
            pass
        raise


def bare_in_function():
    def again():
        raise

    try:
        1 / 0
    except ZeroDivisionError:
        again()


def bare_without():
    raise


def bare_in_finally():
    try:
        raise ValueError("v")
    finally:
        raise


def wrong_raise():
    raise 5


def wrong_raise_class():
    raise int


def wrong_cause():
    raise ValueError from 5


def made_by_new():
    class Odd(Exception):
        def __new__(cls):
            return 5

    raise Odd


def wrong_except():
    try:
        1 / 0
    except 5:
        pass


def wrong_except_not_reached():
    try:
        pass
    except 5:
        return "unused"


def except_evaluated():
    def kind():
        print("evaluated")
        return ZeroDivisionError

    try:
        1 / 0
    except (KeyError, kind()) as error:
        return error


def name_is_gone():
    try:
        1 / 0
    except ZeroDivisionError as error:
        print(error)
    return error


def name_may_be_deleted():
    try:
        1 / 0
    except ZeroDivisionError as error:
        del error
    return "ok"


def unbound(n):
    if n:
        x = 1
    return x


def unbound_deleted():
    x = 1
    del x
    del x


def unbound_free(n):
    def inner():
        return y

    if n:
        y = 1
    return inner()


def undefined():
    return undefined_name


def undefined_global():
    global never
    del never


def self_reference():
    try:
        raise ValueError("v")
    except ValueError as error:
        raise error


def info():
    found = [sys.exc_info()[0]]
    try:
        raise ValueError("v")
    except ValueError:
        found.append(sys.exc_info()[0])
        try:
            raise KeyError
        except KeyError:
            found.append(sys.exc_info()[0])
        found.append(sys.exc_info()[0])
    finally:
        found.append(sys.exc_info()[0])
    found.append(sys.exc_info()[0])
    return found


def return_in_finally_has_no_context():
    def f():
        try:
            return 1
        finally:
            found.append(sys.exc_info()[0])
            try:
                raise ValueError("v")
            except ValueError as error:
                found.append(error.__context__)

    found = []
    f()
    return found


def loop_else():
    try:
        for i in range(3):
            try:
                if i == 1:
                    raise StopIteration(i)
            except StopIteration as stop:
                print("stop", stop.value)
                continue
            else:
                print("else", i)
        else:
            print("loop else")
    finally:
        print("done")


def nested_finally():
    try:
        try:
            raise ValueError("inner")
        finally:
            try:
                raise KeyError("cleanup")
            except KeyError as error:
                print(repr(error), repr(error.__context__))
    except ValueError as error:
        print(repr(error), error.__context__)


def asserting(x):
    assert x > 0, f"{x} is not positive"
    assert x < 10
    return x


def subclasses():
    class Base(Exception):
        pass

    class Derived(Base):
        def __str__(self):
            return "derived " + super().__str__()

    for error in (Base("b"), Derived("d"), BaseException("e")):
        try:
            raise error
        except Derived as caught:
            print("Derived", caught)
        except Base as caught:
            print("Base", caught)
        except BaseException as caught:
            print("other", caught)


class Suppress:
    def __init__(self, *kinds):
        self.kinds = kinds

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        print("exit", kind, error, traceback is None)
        return kind is not None and issubclass(kind, self.kinds)


def suppressed():
    with Suppress(ValueError) as first, Suppress(KeyError):
        raise ValueError(first.kinds)
    with Suppress(ValueError):
        with Suppress(KeyError):
            raise OSError("not suppressed")


def failing_exit():
    class Fails:
        def __enter__(self):
            raise RuntimeError("enter")

        def __exit__(self, *args):
            print("never")

    class FailsLater:
        def __enter__(self):
            return self

        def __exit__(self, *args):
            raise RuntimeError("exit")

    try:
        with FailsLater():
            raise ValueError("body")
    except RuntimeError as error:
        show(error)
    try:
        with FailsLater():
            pass
    except RuntimeError as error:
        show(error)
    with Fails():
        print("never")


def no_manager():
    with 5:
        pass


def half_manager():
    class Half:
        def __enter__(self):
            print("never")

    with Half():
        pass


def instance_enter_is_not_used():
    class M:
        def __enter__(self):
            return "class"

        def __exit__(self, *a):
            return False

    m = M()
    m.__enter__ = lambda: "instance"
    with m as found:
        return found


for f in (bare, bare_in_function, bare_without, bare_in_finally, wrong_raise, wrong_raise_class, wrong_cause, wrong_except,
          wrong_except_not_reached, except_evaluated, name_is_gone, name_may_be_deleted, unbound_deleted, undefined,
          undefined_global, self_reference, info, return_in_finally_has_no_context, loop_else, nested_finally, subclasses,
          suppressed, failing_exit, no_manager, half_manager, instance_enter_is_not_used):  # fmt: skip
    attempt(f)
for n in (0, 1):
    attempt(unbound, n)
    attempt(unbound_free, n)
for x in (1, -1, 11):
    attempt(asserting, x)
try:
    made_by_new()
except TypeError as error:
    print(str(error)[:40])
