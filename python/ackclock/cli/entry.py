"""Where the command line begins, and what becomes of errors.

What is typed most does without the options of all commands, which take longer than all else at the start.
"""

from __future__ import annotations

import errno
import gc
import os
import sys

import ackclock
from ackclock.cli.exit_codes import BAD_INPUT, FAILED, INTERRUPTED, OK
from ackclock.errors import AckclockError, ControllerError, EarlierResultWarning, EngineError, InputError, one_line
from ackclock.files import reason

TYPE_CHECKING = False  # what typing says, which takes time to load
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

OBJECTS_OF_START = 150_000
"""Containers that are allocated before the first collection of garbage: a command that imports everything has fewer."""


class MisuseError(Exception):
    """A command line that means nothing."""


def command() -> NoReturn:
    """Run the command line as the program of this process, and end the process."""
    collect_after_start()
    code = main()
    if _nothing_to_finish():
        import atexit

        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            sys.exit(code)
        # The interpreter would free each object of each module, which takes a sixth of the time of a short command.
        os._exit(code)
    sys.exit(code)


def collect_after_start() -> None:
    """Delay the first collection of garbage until the imports are over; collect as usual from then on.

    Imports create many objects and no garbage: to look through them again and again takes a tenth of a short command.
    """
    usual = gc.get_threshold()

    def restore(_phase: str, _info: dict[str, int]) -> None:
        gc.callbacks.remove(restore)
        gc.set_threshold(*usual)

    gc.callbacks.append(restore)
    gc.set_threshold(OBJECTS_OF_START, *usual[1:])


def _nothing_to_finish() -> bool:
    """Whether the interpreter has nothing left to do at its end but to free memory: no thread, no profiler."""
    threading = sys.modules.get("threading")
    alone = threading is None or threading.active_count() == 1
    return alone and sys.getprofile() is None and sys.gettrace() is None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (docs/cli.md)."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        result = _played(given)
        sys.stdout.flush()
    except MisuseError as error:
        return _fail(f"{error}; see: ackclock --help", BAD_INPUT)
    except InputError as error:
        return _fail(str(error), BAD_INPUT)
    except ControllerError as error:
        sys.stderr.write(error.traceback)
        return _fail(str(error), FAILED)
    except (EngineError, AckclockError) as error:
        return _fail(str(error), FAILED)
    except KeyboardInterrupt:
        return _fail("interrupted; nothing was kept", INTERRUPTED)
    except BrokenPipeError:
        # The reader of a pipe left, as `head` does. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO) or error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _fail(f"what is printed cannot be written ({reason(error)})", FAILED)
    return result if isinstance(result, int) else OK


def _played(given: Sequence[str]) -> Any:
    if given == ["--version"]:
        print(ackclock.__version__)
        return OK
    if len(given) > 1 and given[0] == "pcap" and not any(word.startswith("-") for word in given):
        # Captures and no option: a test holds that this is what the options' defaults say.
        from ackclock.cli.pcap import Request, run

        return run(Request(tuple(given[1:])))
    import warnings

    from ackclock.cli import interrupts

    with interrupts.kept(), warnings.catch_warnings():
        warnings.simplefilter("ignore", EarlierResultWarning)  # commands say it in a line
        if (plain := plain_run(given)) is not None:
            from ackclock.cli import run as running

            return running.run(running.plain(*plain))
        from ackclock.cli.app import played

        return played(given)


def plain_run(given: Sequence[str]) -> tuple[str, str | None, list[str]] | None:
    """File, `--out` and each `--set` of a command line that is ``ackclock run`` with no other option.

    None for all others, and for what may be a mistake: the options of the command say it. A test holds that both
    understand the same.
    """
    if given[:1] != ["run"]:
        return None
    file, out, changes = None, None, []
    words = iter(given[1:])
    for word in words:
        value = next(words, "") if word in ("--set", "--out") else word
        if not value or value.startswith("-"):
            return None
        if word == "--set":
            changes.append(value)
        elif word == "--out" and out is None:
            out = value
        elif word != "--out" and file is None:
            file = value
        else:
            return None
    return None if file is None else (file, out, changes)


def _fail(message: str, code: int) -> int:
    from ackclock.cli.lines import warn

    warn(one_line(message))
    return code
