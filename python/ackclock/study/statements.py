"""Every statement of a paper, and which claims judge it: `expected/statements.toml` of a study.

The file is optional. It closes the gap between claims and paper: a statement that no claim judges says why, and a
claim that judges no statement is listed as beyond the paper.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ackclock.errors import InputError, unknown
from ackclock.study.model import Statement, Statements
from ackclock.study.reader import Source, Table

FILE = Path("expected") / "statements.toml"

_MEASURED = "measured.py"


def read_statements(folder: Path) -> Statements | None:
    """The statements of the study in `folder`; `None` if it has no such file. Raises :class:`InputError`."""
    path = folder / FILE
    if not path.is_file():
        return None
    table = Source(path).table()
    found = Statements(
        statements=table.each("statement", _read_statement, required=True),
        beyond=table.texts("beyond", ()),
        measured=table.texts("measured", ()),
    )
    table.end()
    texts = [each.text for each in found.statements]
    for index, text in enumerate(texts):
        if text in texts[:index]:
            raise table.source.wrong(
                ("statement", index, "text"), "the same text occurs twice", "remove one of the two"
            )
    return found


def _read_statement(table: Table) -> Statement:
    found = Statement(
        text=_nonempty(table, "text"),
        where=_nonempty(table, "where"),
        claims=table.texts("claims", ()),
        unjudged=table.get("unjudged", str, ""),
    )
    table.end()
    if found.claims and found.unjudged:
        problem = "a statement has either claims or a reason why none judges it"
        raise table.wrong("unjudged", problem, "remove claims or unjudged")
    if not found.claims and not found.unjudged.strip():
        problem = "no claim judges this statement, and no reason is given"
        raise table.wrong("text", problem, 'add claims = ["A1"] or unjudged = "why not"')
    return found


def _nonempty(table: Table, name: str) -> str:
    text = table.get(name, str)
    if not text.strip():
        raise table.wrong(name, f"'{name}' is empty", "write a few words")
    return text


def check_statements(folder: Path, statements: Statements, claims: Collection[str]) -> None:
    """Check the statements against the ids of the claims in `claims.py`. Raises :class:`InputError`.

    Every claim that is named must exist. Every claim of the study must judge a statement or be listed in `beyond`.
    """
    known = [*claims, *(name for name in statements.measured if name not in claims)]
    named = {name for each in statements.statements for name in each.claims}
    for index, each in enumerate(statements.statements):
        _check_known(folder, ("statement", index, "claims"), each.claims, known)
    _check_known(folder, ("beyond",), statements.beyond, known)
    for name in statements.measured:
        if name in claims:
            raise _wrong(folder, ("measured",), f"'{name}' is a claim of claims.py", "remove it")
        if not (folder / _MEASURED).is_file():
            raise _wrong(folder, ("measured",), f"the study has no {_MEASURED}", "remove the key")
    for name in statements.beyond:
        if name in named:
            raise _wrong(folder, ("beyond",), f"'{name}' judges a statement", "remove it")
    for name in known:
        if name not in named and name not in statements.beyond:
            raise _wrong(folder, ("beyond",), f"claim '{name}' judges no statement", "name it in one, or list it here")


def _check_known(folder: Path, key: tuple[str | int, ...], names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            found = unknown("claim", name, known)
            raise _wrong(folder, key, found.problem, found.remedy)


def _wrong(folder: Path, key: tuple[str | int, ...], problem: str, remedy: str) -> InputError:
    """The error about a key of a file that was read before."""
    return Source(folder / FILE).wrong(key, problem, remedy)
