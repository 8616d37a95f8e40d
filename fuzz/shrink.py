"""A shorter program that still fails: statements and parts of expressions are dropped as long as the failure stays."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

from fuzz.generate import Program


def shrink(program: Program, fails: Callable[[Program], bool], most: int = 400) -> Program:
    """The shortest program that was found within so many tries."""
    tries, changed = 0, True
    while changed:
        changed = False
        for text in shorter(program.text):
            tries += 1
            if tries > most:
                return program
            smaller = program._replace(text=text)
            if fails(smaller):
                program, changed = smaller, True
                break
    return program


def shorter(text: str) -> Iterator[str]:
    """Every text that is a little shorter: a statement less, a body in place of its loop, an operand in place of its op."""
    tree = ast.parse(text)
    seen = set()
    for change in _changes(tree):
        try:
            found = ast.unparse(ast.fix_missing_locations(change)) + "\n"
        except (ValueError, RecursionError):
            continue
        if len(found) < len(text) and found not in seen:
            seen.add(found)
            yield found


def _changes(tree: ast.Module) -> Iterator[ast.Module]:
    """Copies of the tree with one change each, the largest changes first. Classes stay as they are, or go as a whole."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    fixed = {id(node) for found in classes for node in ast.walk(found)}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in fixed}
    kept = [node for node in tree.body if not isinstance(node, ast.ClassDef) or node.name in used]
    if len(kept) < len(tree.body):
        yield _replaced(tree, 0, "body", kept)
    places = [(k, node) for k, node in enumerate(ast.walk(tree)) if id(node) not in fixed]
    for k, node in places:
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if not isinstance(body, list) or isinstance(node, ast.Module):
                continue
            for i in range(len(body) - 1, -1, -1):
                inside: list[list[ast.stmt]] = [[]]
                if not isinstance(body[i], ast.FunctionDef):
                    inside += [x for name in ("body", "orelse") if (x := getattr(body[i], name, None))]
                for other in inside:
                    yield _replaced(tree, k, field, body[:i] + other + body[i + 1 :])
    for k, node in places:
        for field, value in ast.iter_fields(node):
            for i, child in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(child, ast.expr) and not isinstance(getattr(child, "ctx", None), ast.Store):
                    for part in ast.iter_child_nodes(child):
                        if isinstance(part, ast.expr) and not isinstance(part, (ast.Compare, ast.Lambda)):
                            new = value[:i] + [part] + value[i + 1 :] if isinstance(value, list) else part
                            yield _replaced(tree, k, field, new)


def _replaced(tree: ast.Module, node: int, field: str, value: object) -> ast.Module:
    changed = copy.deepcopy(tree)
    target = next(n for k, n in enumerate(ast.walk(changed)) if k == node)
    setattr(target, field, copy.deepcopy(value) or ([ast.Pass()] if field == "body" else []))
    return changed
