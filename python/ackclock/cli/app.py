"""The commands: where each is, and what the list of all says of it.

The options of a command are loaded when it is asked for, so that none waits for those of all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cyclopts
from cyclopts import App

import ackclock
from ackclock.cli import words
from ackclock.cli.entry import MisuseError
from ackclock.cli.entry import main as main
from ackclock.cli.examples import of as example
from ackclock.errors import one_line

app = App(
    name="ackclock",
    help="A laboratory for TCP congestion control.",
    version=lambda: ackclock.__version__,
    help_epilogue=example(""),
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # main says what was interrupted
)
app.register_install_completion_command(help="Install completion for your shell: bash, zsh, fish or PowerShell.")

SHELL_USAGE = "Usage: ackclock shell [OPTIONS] FILE [-- COMMAND...]"
"""Written out, for what is generated names the rest of a command line ARGS and leaves out the --."""

COMMANDS = {
    "run": ("scenario_commands:run_command", "Run a scenario and show a table of means and 95 % confidence intervals."),
    "sweep": (
        "scenario_commands:sweep_command",
        "Play every run of a scenario that is not there yet; go on after an interruption.",
    ),
    "query": ("result_commands:query_command", "Ask a result in SQL (DuckDB)."),
    "show": ("scenario_commands:show_command", "Show what a scenario resolves to, without running it."),
    "rank": (
        "result_commands:rank_command",
        "Rank controllers, or values of a swept key: which is best, how sure that is, and what it costs.",
    ),
    "compare": (
        "result_commands:compare_command",
        "Compare two results, or values of a swept key: differences, intervals, adjusted p-values, verdicts.",
    ),
    "agree": (
        "agree_options:agree_command",
        "Play a scenario on several engines; a page says how far they agree. Exit code 1 if that is not shown.",
    ),
    "plot": (
        "plot_options:plot_command",
        "Draw a figure of a result: the one that suits what was swept, or another.",
    ),
    "pcap": (
        "pcap_options:pcap_command",
        "Analyse TCP connections in packet captures: who limited, what was lost and why, round trips.",
    ),
    "shell": (
        "shell:shell_command",
        "Run a program, or your shell, behind the path of a scenario, in real time or with --virtual in virtual time."
        "\n\nThe other end is server.ackclock (in the environment: ACKCLOCK_SERVER, ACKCLOCK_SERVER6). The exit code "
        "is the\nprogram's.",
    ),
    "measure": (
        "measure_options:measure_app",
        "Measure real lines: a server at one end, campaigns of tests at the other.",
    ),
    "import": (
        "imports:import_app",
        "Make results of what iperf3, flent, mahimahi or Pantheon have measured; tables of what a proxy has written.",
    ),
    "get": (
        "get:get_command",
        "Download a file over as many connections as make it faster, decided while it runs; go on where it ended.",
    ),
    "proxy": (
        "proxy:proxy_command",
        "Split TCP connections: one to the client, one to the server, joined here; until SIGTERM."
        "\n\nWithout --allow or --credentials only this computer can connect.",
    ),
    "advise": ("advise:advise_app", "Advice from models and runs of the simulator."),
    "cc": (
        "catalogue_commands:cc_command",
        "List controllers and slow starts, or describe one with its window in a standard test.",
    ),
    "doctor": ("catalogue_commands:doctor_command", "Show what this computer can do, and what to do about the rest."),
    "kernel": ("kernels:app", "Build, list and remove kernels for the engine kernel-vt."),
    "study": (
        "study_commands:study_app",
        "Studies: published evaluations that can be run, with claims that are checked.",
    ),
}
"""Of every command the module of this folder with its function, or with the app of its own commands, and its help."""

for _name, (_place, _help) in COMMANDS.items():
    _more: dict[str, Any] = {} if _place.endswith("app") else {"help_epilogue": example(_name)}
    if _name == "shell":
        _more["usage"] = SHELL_USAGE
    app.command(f"ackclock.cli.{_place}", name=_name, help=_help, **_more)


def played(arguments: Sequence[str]) -> Any:
    """Do what a command line says; what the command answers. Raises :class:`MisuseError`."""
    try:
        return app(words.joined(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except cyclopts.CycloptsError as error:
        said = one_line(str(error))
        if isinstance(error, cyclopts.UnknownCommandError) and error.unused_tokens:
            said = _without_far_guess(said, error.unused_tokens[0])
        raise MisuseError(said if said.endswith("...") else said.removesuffix(".")) from error


def _without_far_guess(said: str, word: str) -> str:
    """`said` without a guess that begins with another letter and has not much of the word: "import" for "report"."""
    import difflib
    import re

    found = re.search(r' Did you mean "([^"]+)"\?', said)
    if found is None or found[1][:1] == word[:1]:
        return said
    return said if difflib.SequenceMatcher(None, word, found[1]).ratio() >= _CLOSE else said.replace(found[0], "")


_CLOSE = 0.75
