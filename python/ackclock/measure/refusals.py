"""What a server or a kernel has refused, said of the campaign file: which key it is about, and what to do."""

from __future__ import annotations

from pathlib import Path

from ackclock.errors import InputError
from ackclock.measure.campaign import Campaign, Trial
from ackclock.measure.client import RefusedError
from ackclock.scenario.reading.line_numbers import line_of

_TOKEN_REMEDY = "give the file that measure serve --token has there"  # noqa: S105 - no token, but where to find it


def explained(refused: RefusedError, campaign: Campaign, token: Path | None = None) -> RefusedError:
    """The same with file, key, line and remedy, as far as its key says them; `token` is the file of --token."""
    if refused.key == "token":
        return RefusedError(str(_token(refused, campaign, token)), refused.key)
    if refused.key in Trial.model_fields:
        problem, _, remedy = str(refused).partition("; ")
        return RefusedError(str(at(campaign, ("test", refused.key), problem, remedy or "change it")), refused.key)
    return refused


def _token(refused: RefusedError, campaign: Campaign, token: Path | None) -> InputError:
    if token is not None:
        return InputError(f"{refused} ({token})", _TOKEN_REMEDY, key="--token")
    key, name = ("campaign", "token"), campaign.header.token
    if name is None:
        problem = f"{refused}: the campaign has none"
        return at(campaign, key, problem, 'write token = "FILE" in [campaign], or give --token FILE')
    return at(campaign, key, f"{refused} (read from {campaign.folder / name})", f"{_TOKEN_REMEDY}, here or as --token")


def at(campaign: Campaign, key: tuple[str, str], problem: str, remedy: str) -> InputError:
    """What is wrong, of a key of the campaign file and its line."""
    line = line_of(campaign.text, key)
    return InputError(problem, remedy, source=campaign.source, key=".".join(key), line=line)
