"""Large graphs, made small: the nodes of one neuron or layer become one box that says how many it holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from micrograd.engine import Value, topological
from micrograd.learn.nodes import reached, scope_path

MAX_BOXES = 48  # more than this is no overview any more: neurons become layers, layers the modules around them
BANDS = 6  # boxes for the part of a graph that no module made


@dataclass(slots=True)
class GroupBox:
    """A box of a collapsed drawing: the nodes that it holds, and what is to be said of them."""

    title: str
    members: list[int] = field(default_factory=list)
    inputs: dict[int, int] = field(default_factory=dict)  # group -> how many edges come from it
    exits: list[int] = field(default_factory=list)  # members that are used outside
    leaves: int = 0
    ops: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Overview:
    """The groups in topological order, the last one with the root; and the nodes that they hold."""

    groups: list[GroupBox]
    order: list[Value]
    seen: list[bool]  # whether a backward pass has been at a node


def collapse(root: Value, depth: int | None = None) -> Overview:
    """Group a graph by the modules that made its nodes: `depth` levels of them, or as many as stay readable."""
    order = topological(root)
    place = {id(v): i for i, v in enumerate(order)}
    inputs = [[place[id(u)] for u in v._prev] for v in order]
    stamps = _owners(order, inputs)
    paths = {stamp: scope_path(stamp) for stamp in set(stamps)}
    deepest = max((len(path) for path in paths.values()), default=0)
    levels = range(deepest, 0, -1) if depth is None else [max(0, min(depth, deepest))]
    level, keys = 0, [f"#{i}" for i in range(len(order))]  # "#7" is node 7 by itself
    for level in levels:
        titles = {stamp: " · ".join(path[:level]) for stamp, path in paths.items()}
        keys = [titles[stamp] or f"#{i}" for i, stamp in enumerate(stamps)]
        if len(set(keys)) <= MAX_BOXES:
            break
    if len(set(keys)) > MAX_BOXES:
        keys = _banded(keys, order, inputs)
    groups = _grouped(_acyclic(keys, inputs), order, inputs)
    for group in groups:
        group.title = _title(group, [paths[stamps[i]][:level] for i in group.members if order[i]._prev])
    return Overview(groups, order, reached(order, inputs))


def _owners(order: list[Value], inputs: list[list[int]]) -> list[int]:
    """For each node the scope that it belongs to. A leaf without a label that only one module uses is its parameter."""
    stamps = [v._scope for v in order]
    users: list[int | None] = [None] * len(order)
    for i, ids in enumerate(inputs):
        for j in ids:
            users[j] = stamps[i] if users[j] in (None, stamps[i]) else 0
    for j, v in enumerate(order):
        if not v._prev and not v.label:
            stamps[j] = users[j] or 0
    return stamps


def _banded(keys: list[str], order: list[Value], inputs: list[list[int]]) -> list[str]:
    """Put the nodes that no module made together as well: by how many modules lie before them, then by depth."""
    stage, level = [0] * len(keys), [0] * len(keys)
    last: dict[str, int] = {}  # the latest stage of each module
    for i, ids in enumerate(inputs):
        for j in ids:
            passed = last[keys[j]] + 1 if not keys[j].startswith("#") and keys[j] != keys[i] else stage[j]
            stage[i] = max(stage[i], passed)
            level[i] = max(level[i], level[j] + 1)
        if not keys[i].startswith("#"):
            last[keys[i]] = stage[i] = max(stage[i], last.get(keys[i], 0))
    loose = [i for i, key in enumerate(keys) if key.startswith("#") and i != len(keys) - 1]
    depths: dict[int, int] = {}
    for i in loose:
        depths[stage[i]] = max(depths.get(stage[i], 0), level[i])
    bands = max(1, BANDS // max(1, len(depths)))
    banded = list(keys)
    first_use = [len(keys)] * len(keys)
    for i, ids in enumerate(inputs):
        for j in ids:
            first_use[j] = min(first_use[j], i)
    for i in loose:
        at = stage[i]
        if order[i]._prev:
            low = min(bands - 1, level[i] * bands // (depths[at] + 1))
            banded[i] = f"~{at}.{low}"
        else:
            user = first_use[i]
            at = stage[user] if user < len(keys) else 0
            banded[i] = f"={at}"
    return banded


def _acyclic(keys: list[str], inputs: list[list[int]]) -> list[int]:
    """The number of each node's group; groups on a cycle (a module that feeds itself through another) are one."""
    number: dict[str, int] = {}
    group = [number.setdefault(key, len(number)) for key in keys]
    feeds: list[set[int]] = [set() for _ in number]
    for i, ids in enumerate(inputs):
        for j in ids:
            if group[j] != group[i]:
                feeds[group[i]].add(group[j])
    component = _components([sorted(near) for near in feeds])
    return [component[g] for g in group]


def _components(feeds: list[list[int]]) -> list[int]:
    """Tarjan's strongly connected components, iterative; numbered so that inputs come first."""
    index = [-1] * len(feeds)
    low = [0] * len(feeds)
    component = [-1] * len(feeds)
    open_nodes: list[int] = []
    count = found = 0
    for start in range(len(feeds)):
        if index[start] >= 0:
            continue
        work = [(start, 0)]
        while work:
            v, k = work.pop()
            if k == 0:
                index[v] = low[v] = count
                count += 1
                open_nodes.append(v)
            if k > 0:
                low[v] = min(low[v], low[feeds[v][k - 1]])
            while k < len(feeds[v]):
                u = feeds[v][k]
                k += 1
                if index[u] < 0:
                    work += [(v, k), (u, 0)]
                    break
                if component[u] < 0:
                    low[v] = min(low[v], index[u])
            else:
                if low[v] == index[v]:
                    while True:
                        u = open_nodes.pop()
                        component[u] = found
                        if u == v:
                            break
                    found += 1
    return component


def _grouped(group: list[int], order: list[Value], inputs: list[list[int]]) -> list[GroupBox]:
    groups = [GroupBox("") for _ in range(max(group) + 1)]
    used_outside: set[int] = set()
    for i, ids in enumerate(inputs):
        box = groups[group[i]]
        box.members.append(i)
        if ids:
            box.ops[order[i]._op] += 1
        else:
            box.leaves += 1
        for j in ids:
            if group[j] != group[i]:
                box.inputs[group[j]] = box.inputs.get(group[j], 0) + 1
                used_outside.add(j)
    used_outside.add(len(order) - 1)
    for j in sorted(used_outside):
        groups[group[j]].exits.append(j)
    return groups


def _title(box: GroupBox, paths: list[tuple[str, ...]]) -> str:
    """What the modules of a group are called: the path that all of them share."""
    if not box.ops:
        return "leaves"
    if () in paths:
        return "steps"
    shared: list[str] = []
    for parts in zip(*set(paths)):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return " · ".join(shared) or " + ".join(sorted({path[0] for path in paths})[:3])
