"""Where the compiled engine is loaded: at the first use, so that ``import ackclock`` and the command line stay fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from ackclock.errors import ControllerError, EngineError, one_line


def load() -> ModuleType:
    """The extension. Raises :class:`EngineError` if it is not there."""
    try:
        from ackclock import _ackclock
    except ImportError as error:
        raise EngineError(f"the compiled engine is missing ({error}); build it with: make build") from error
    return _ackclock


@contextmanager
def translated() -> Iterator[None]:
    """Turn the extension's errors into those of this package."""
    extension = load()
    try:
        yield
    except extension.ControllerFailure as failure:
        import traceback

        controller, flow, at_ns, method = failure.args
        cause = failure.__cause__
        assert cause is not None
        problem = one_line("".join(traceback.format_exception_only(cause)))
        text = "".join(traceback.format_exception(cause))
        raise ControllerError(problem, controller, flow, at_ns / 1e9, method, text) from cause
    except ValueError as error:
        raise EngineError(str(error)) from error
