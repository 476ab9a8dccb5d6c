"""Where the compiled engine is loaded: at the first use, so that ``import ackclock`` and the command line stay fast."""

from __future__ import annotations

from ackclock.errors import EngineError

TYPE_CHECKING = False  # what typing says, which takes time to load
if TYPE_CHECKING:
    from types import ModuleType


def load() -> ModuleType:
    """The extension. Raises :class:`EngineError` if it is not there."""
    try:
        from ackclock import _ackclock
    except ImportError as error:
        raise EngineError(f"the compiled engine is missing ({error}); build it with: make build") from error
    return _ackclock
