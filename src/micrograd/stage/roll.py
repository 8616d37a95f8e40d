"""Loops that stay loops: the body is interpreted once, on placeholders, and becomes a region of the tape.

Whatever the body does to the variables is then the same in each iteration, by construction: a variable is either a Value
(carried from iteration to iteration), one of a few constants (a number says which one), or a plain number that changes (see
lanes.py). A body that changes anything else, such as a list from outside, is not rolled: its iterations are written one after
the other.
"""

from __future__ import annotations

from typing import Any

from micrograd import engine, observed
from micrograd.engine import Value
from micrograd.ops import OPS
from micrograd.stage import counters
from micrograd.stage.aliases import Aliases, check_names, keep_apart
from micrograd.stage.bodies import write
from micrograd.stage.changed import Changed, carry, check_changed, owned, refuse_growth
from micrograd.stage.errors import Lost, NotYet, Outside, StaleRead, Unsupported
from micrograd.stage.forms import Form
from micrograd.stage.given import element
from micrograd.stage.items import Items
from micrograd.stage.join import join
from micrograd.stage.lanes import CARRIED, Lane, least
from micrograd.stage.leaving import Way, leave, numbers_of, ways_out
from micrograd.stage.limits import MANY, Limits
from micrograd.stage.machine import Machine
from micrograd.stage.masks import FALSE, TRUE, Mask
from micrograd.stage.mixed import refuse_inside
from micrograd.stage.nodes import node_of, number_of, result_of
from micrograd.stage.packed import Forgotten, array_of, load, one, pack, sort_of
from micrograd.stage.records import ChangedObject
from micrograd.stage.row import Row, is_plain_row
from micrograd.stage.sample import sampled
from micrograd.stage.state import Exits, Frame, undo
from micrograd.stage.summary import STALE, UNBOUND, held, is_stale
from micrograd.tape import kinds
from micrograd.tape import trace as tracing
from micrograd.tape.interpret import work
from micrograd.tape.tape import STACK
from micrograd.tape.tape import Loop as Region

WHERE = OPS["where"]
FEW = "there are few instructions in all iterations together"
PASSES = 14  # runs of the body, until it is known which forms the variables take


class Roll:
    """One attempt to roll a loop."""

    private = False  # whether its variables are those of a comprehension, which nobody reads behind it
    collects = False  # whether each iteration gives an item of a list (see collect.py)
    owns = False  # whether each object that is carried was made by the iteration before and has one name (see instances.py)

    def __init__(
        self,
        m: Machine,
        frame: Frame,
        names: list[str],
        items: Items | None,
        read: set[str],
        pack: bool = False,
        key: int | None = None,
    ) -> None:
        """`names` are assigned in the body; of those in `read` an iteration probably reads what the iteration before has left.

        With `pack`, long lists are arrays. The `key` says which loop it is.
        """
        self.m, self.frame, self.names, self.items, self.pack, self.key = m, frame, names, items, pack, key
        self.outer = m.rolling
        self.depth: int = 0 if self.outer is None else self.outer.depth + 1
        self.context: Mask = m.here  # the rows of the iteration around for which it runs
        self.going: Mask = TRUE  # where its condition holds, which it does in each iteration
        self.hint = 0  # so much room lists have that are made in the body
        self.loads = items is not None and items.limit is not None  # whether elements are loaded by their index
        self.item_made: Any = None  # what this iteration gives, where a list is collected
        self.of = ""  # of which kind such items are
        self.apart = Aliases()  # the variables for which nothing is carried
        # An iteration that is taken for certain assigns what it assigns first.
        once = items is not None and least(items.length) > 0
        self.forms = {name: Form(self, once and name not in read, pack) for name in names}
        self.line, self.costs = m.line, dict(m.costs)
        self.lists: list[Changed | ChangedObject] = []  # from outside, that the body changes
        # While it is not known how lists become longer: whether an index has been taken to be inside of one.
        self.guesses: bool | None = None
        self.asked = False  # whether an iteration has asked if two of the objects that it was given are the same
        self.in_vain: list[tuple[Any, Any]] = []  # rows of tables and what they held, if the loop is not rolled
        self.returned = Form(self, fresh=True, inside=1)  # what is returned inside of the loop, if it is not a Value
        self.exits: list[Way] = []  # the ways out of the loop that were seen: (break, return or lost; what)

    # ---- what the body may ask for

    def index(self, step: int, start: int) -> Lane:
        """The int start + step * iteration."""
        value = self.iteration if step == 1 else self.iteration * float(step)
        return Lane(int, value + float(start) if start else value, {self: step}, start)

    def changes(self, x: Any) -> bool:
        """Whether a list or an object is one from outside that the body changes."""
        return any(c.x is x for c in self.lists)

    def item(self, items: list[Any]) -> Any:
        """One item of a list in each iteration."""
        return load(self.m, pack(self.m, items), self.index(1, 0)) if self.loads else self.element(items)

    def element(self, items: Any) -> Any:
        """One item of a list in each iteration; of a list of lists, a list of such items."""
        return element(self, items)

    # ---- running the body

    def run(self, test: Any, body: Any, store: Any, first: bool = False) -> None:
        """Run the loop for the rows that are here, and let them wait where they leave it.

        Before its `first` iteration, NotYet is raised where a variable holds a constant that becomes a Value.
        """
        m, frame = self.m, self.frame
        self.owned = owned(m, frame, self.names) if self.pack else set()
        self.entry = entry = {name: frame.variables.get(name, UNBOUND) for name in self.names}
        for name in self.names:
            if not self.forms[name].fresh:
                self._begin(name, entry[name])
        begin = m.here
        for lost in m.lost:  # a row that is lost may hold anything, and must not keep the loop running
            begin = m.masks.without(begin, lost)
        passes, before = 0, len(m.masks.atoms) - m.by_iteration
        while passes < PASSES:
            try:
                if self._once(test, body, store, entry):
                    break
            except StaleRead as found:
                stale = [n for n, f in self.forms.items() if f.fresh and found.name in ("", n)]
                if not stale:  # of a loop around this one
                    raise
                for name in stale:
                    self.forms[name] = Form(self, arrays=self.pack)
                    self.apart.discard(name)
                    self._begin(name, entry[name])
                continue
            except Outside as found:
                carry(self, found)
                continue
            except (Unsupported, Lost, Exception):
                if not counters.forget(self):
                    raise
                continue
            if first and any(form.becomes for form in self._forms()):
                raise NotYet
            passes += 1
        else:
            raise Unsupported("the variables of a loop take too many forms")
        iterations = MANY if self.items is None else self.items.iterations
        chooses = len(m.masks.atoms) - m.by_iteration > before and iterations >= Limits.iterations
        if iterations * work(self.body) < self._enough() and not chooses:
            raise Unsupported(FEW)
        if self.exits:
            refuse_growth([*self.forms.values(), *(c.form for c in self.lists)])
        self._emit(entry, begin)

    def _forms(self) -> list[Form]:
        forms = [*self.forms.values(), *(f for c in self.lists if isinstance(c, ChangedObject) for f in c.forms())]
        return [part for form in forms for part in form.all()]

    def _enough(self) -> int:
        """Instructions of all iterations from which on it is rolled; the rows of a table count together.

        A loop inside of another one whose length changes with the iterations of that one could not be written out.
        """
        if self.items is not None and self.items.limit is not None:
            return 0
        return 0 if self.private and self.outer is not None and self.outer.private else self.m.limits.work

    def _begin(self, name: str, x: Any) -> None:
        """Let a variable hold at the beginning of an iteration what it holds before the loop."""
        if x is STALE:
            raise StaleRead(name)
        if x is UNBOUND:
            self.forms[name].constants.append(UNBOUND)
        else:
            refuse_inside(self.m, x)
            form = self.forms[name]
            if name in self.owned and is_plain_row(x):
                form.row = Row(self, False)
            form.admit(held(self.m, x), entry=True)

    def _once(self, test: Any, body: Any, store: Any, entry: dict[str, Any]) -> bool:
        """Interpret the body on placeholders; False where a variable takes a form that was not known."""
        m, frame, names = self.m, self.frame, self.frame.variables
        m.costs = dict(self.costs)  # a body is interpreted several times, and written once
        serial = self.serial = tracing.next_trace()
        before = self.around = observed.set_trace(serial)
        kept = m.here, m.bystanders, m.lost, m.lost_at, frame.exits, frame.level, m.rolling
        loops = {key: names.get(key) for key in (".break", ".continue")}
        self.kinds = kinds.begin(serial, [], None)
        m.differentiated += 1
        m.masks.stack.append(m.differentiated)
        m.masks.values.append({})
        m.here, m.bystanders, m.lost, m.lost_at, m.rolling = TRUE, FALSE, [], [], self
        depth = len(m.journals)
        try:
            frame.level = m.level
            top = m.enter()
            self.arrays: list[tuple[list[Any], Value]] = []
            self.iteration = self.placeholder(1.0)
            self.carried: list[Value] = []
            self.begun: dict[str, Any] = {}
            places: dict[str, list[Any]] = {}
            for name, form in self.forms.items():
                places[name] = [] if name in self.apart else [self.placeholder(1.0) for _ in range(form.count)]
                self.carried += places[name]
                self.begun[name] = STALE if form.fresh else form.rebuilt(m, places[name], inside=True)
                if name in self.owned and (form.row is not None or form.shape.kind is list):
                    m.made(self.begun[name])
                m.assign(frame, name, self.begun[name])
            for c in self.lists:
                given = [self.placeholder(1.0) for _ in range(c.form.count)]
                self.carried += given
                c.begin(m, given)
            how = Value(0.0)
            returned = [Value(0.0), *(self.placeholder(1.0) for _ in range(self.returned.count))]
            self.test: Any = None
            self.endless = False
            if test is not None:
                m.enter()
                go_on = m.truth(test(m, frame))
                if m.lost or m.here is not TRUE:
                    raise Unsupported("the condition of a loop may fail")
                self.endless, self.going = go_on is TRUE, go_on
                changed = m.journals.pop()
                if changed:  # the last time it is evaluated, no body follows that could be in the same iteration
                    raise Unsupported("the condition of a loop changes something")
                self.test = m.masks.value(go_on)
            if store is not None:
                assert self.items is not None
                store(m, frame, self.items.make(self))
            names[".break"] = breaks = Exits(top.index, m.here)
            frame.exits = returns = Exits(top.index, m.here)
            names[".continue"] = iteration = m.enter()
            body(m, frame)
            m.meet(iteration)
            if self.kinds.asked:
                raise Unsupported(
                    "the body of a loop asks for the class of a number that changes from one iteration to the next"
                )
            return self._outputs(serial, breaks, returns, how, returned)
        finally:
            while len(m.journals) > depth:
                undo(m.journals.pop())
            for c in self.lists:
                c.undo(m)
            m.masks.values.pop()
            m.masks.stack.pop()
            m.here, m.bystanders, m.lost, m.lost_at, frame.exits, frame.level, m.rolling = kept
            for key, value in loops.items():
                if value is None:
                    names.pop(key, None)
                else:
                    names[key] = value
            observed.set_trace(before)
            kinds.end(serial)

    def placeholder(self, x: float) -> Value:
        """A Value in place of what an iteration is given. Which class that has is not known, so nobody may ask for it."""
        made = Value(x)
        self.kinds.known[id(made)] = made, float
        return made

    def _outputs(self, serial: int, breaks: Exits, returns: Exits, how: Value, returned: list[Value]) -> bool:
        m, frame = self.m, self.frame
        forms_known = True
        finals: dict[str, Any] = {}
        for name in self.names:
            entries: list[Any] = []
            for s in breaks.states:
                change = s.changes.get((id(frame), name))
                entries.append((s.mask, None, self.begun[name] if change is None else change[2]))
            if m.here is not FALSE:
                entries.append((m.here, None, frame.variables.get(name, UNBOUND)))
            finals[name] = join(m, entries) if entries else self.begun[name]
            refuse_inside(m, finals[name])
            if is_stale(finals[name]):
                raise StaleRead(name)
        check_changed(self, self.begun, finals, [*breaks.states, *returns.states])
        if counters.find(self):
            forms_known = False
        if self.apart.find(m, self.forms, finals):
            forms_known = False
        for name in self.names:
            same = type(finals[name]) is list and any(c.x is finals[name] for c in self.lists)
            if name not in self.apart and not same and self.forms[name].admit(finals[name]):
                forms_known = False
        for c in self.lists:
            if c.admit(m, [breaks, returns]):
                forms_known = False
        changed = [*m.journals[breaks.index :], *(s.changes for s in [*breaks.states, *returns.states])]
        for x, name, _ in [] if self.collects or self.private else [e for found in changed for e in found.values()]:
            if x is frame and name not in self.names and not name.startswith("."):
                raise Unsupported(f"`{name}` is changed in a way that is not seen in the source of the loop")
        m.here = TRUE  # what is carried is that of all rows: of those that leave the loop in this iteration, too
        ways = ways_out(m, self.returned, breaks, returns)
        forms_known = forms_known and self.returned.count == len(returned) - 1
        for kind, what, _, _ in ways:
            if (kind, what) not in self.exits:
                self.exits.append((kind, what))
                forms_known = False
        guessed, self.guesses = self.guesses, None
        if guessed or not forms_known:
            return False
        parts = [(self.forms[name], x) for name, x in finals.items() if name not in self.apart]
        parts += [part for c in self.lists for part in c.held()]
        back = [(self.returned, x) for _, what, _, x in ways if what == ()]
        self.owns = (
            check_names(self, parts, back) and self.items is not None and self.items.limit is None and not self.exits
        )
        iterations = MANY if self.items is None else self.items.iterations
        most = max([form.growth(x, form.fresh) for form, x in [*parts, *back]], default=0)
        if most * iterations > CARRIED // 2:
            raise Unsupported("a whole number that is carried from one iteration to the next becomes too large")
        carried: list[Any] = []
        for name in self.names:
            carried += [] if name in self.apart else self.forms[name].carried(m, finals[name])
        for c in self.lists:
            carried += c.form.carried(m, c.final)
        if self.collects:
            if ways:
                raise Unsupported("an item of a list may raise an exception, or does what is not merged")
            carried.append(one(m, self.item_made))
            self.of = sort_of(m, m.now(self.item_made))
        inputs = [*self.carried]
        self.flagged = bool(self.exits) or self.test is not None
        if self.flagged:
            carried += numbers_of(m, self, ways, returned)
            inputs += [how, *returned]
            going = engine.apply(OPS["eq"], how, 0.0)
            self.test = going if self.test is None else engine.apply(WHERE, going, self.test, 0.0)
        if self.items is not None and (self.loads or self.items.limit is not None):
            within = engine.apply(OPS["lt"], self.iteration, getattr(self.items.length, "whole", self.items.length))
            self.test = within if self.test is None else engine.apply(WHERE, within, self.test, 0.0)
        elements = [placeholder for _, placeholder in self.arrays]
        last, tests = [*elements, self.iteration], [] if self.test is None else [self.test]
        self.body, self.condition, self.invariants = write(serial, carried, inputs, last, tests)
        return True

    # ---- the region

    def _nothing(self, form: Form) -> Any:
        """What is carried at the beginning for a variable that each iteration assigns first."""
        return 0.0 if form.row is None else node_of(STACK, [0.0] * form.row.room, 0.0)

    def _emit(self, entry: dict[str, Any], begin: Mask) -> None:
        m, frame = self.m, self.frame
        start, sizes = [], {}
        for name, form in self.forms.items():
            if name in self.apart:
                continue
            parts = [self._nothing(form)] * form.count if form.fresh else form.carried(m, held(m, entry[name]))
            sizes[name] = len(parts)
            start += parts
        for c in self.lists:
            start += c.form.carried(m, c.x)
        if self.flagged:  # rows that are not here have left already, so that they do not keep the loop running
            start += [engine.apply(WHERE, m.masks.value(begin), 0.0, -1.0) if begin is not TRUE else 0.0]
            start += [0.0] * (1 + self.returned.count)
        iterations = self.items.iterations if self.items is not None else None
        op = Region(self.body, len(start), len(self.invariants), iterations, self.condition)
        region = node_of(op, [*start, *self.invariants, *(array_of(items) for items, _ in self.arrays)], 0.0)
        numbers = None
        if m.rolling is None:
            arrays = [tracing.peek(items) for items, _ in self.arrays]
            numbers = sampled(m, op, [*map(number_of, [*start, *self.invariants]), *arrays])
            m.rolled += 1
        sample = [0.0] * len(start) if numbers is None else numbers
        region.__dict__["_numbers"] = sample
        keep_apart(self)
        results = [result_of(region, k, y) for k, y in enumerate(sample)]
        at = 0
        for name, form in self.forms.items():
            if name in self.apart:
                continue
            value = form.rebuilt(m, results[at : at + sizes[name]])
            at += sizes[name]
            if value is not UNBOUND:
                m.assign(frame, name, value)
        for c in self.lists:
            c.finish(m, results[at : at + c.form.count])
            at += c.form.count
        for name, owner in self.apart.owners.items():
            m.assign(frame, name, frame.variables[owner])
        for name in self.apart.forgotten:
            m.assign(frame, name, Forgotten(self.key))
        often = f"{iterations} iterations" if iterations is not None else "as many iterations as each row needs"
        done = ", rows that are done are masked" if self.flagged else ""
        m.notes[self.line] = f"a loop in the tape, {len(self.body)} instructions per iteration, {often}{done}"
        if not self.flagged:
            return
        leave(m, self, results[at], results[at + 1 :])
        m.here = FALSE if self.endless else m.here  # `while True` has no end of its own
