"""What the text below each field of a model says, read from its source: only documents and editors need it."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import sys


@functools.cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """The classes of a module by name."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def field_docstrings(model: type) -> dict[str, str]:
    """The text below each field that `model` itself annotates, by the names of the fields."""
    body = _classes(model.__module__)[model.__name__].body
    found: dict[str, str] = {}
    for field, text in itertools.pairwise(body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(content))):
                found[name] = inspect.cleandoc(content)
    return found
