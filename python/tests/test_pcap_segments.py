"""The size of a full segment is what a sender fills, and an MSS option binds the other end alone."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import ackclock
from pcaps import download

FILLED = 1368
OFFER = b"\x02\x04" + (FILLED + 12).to_bytes(2, "big")
"""The MSS option of the SYNs of a run whose segments carry 1368 bytes and timestamps."""
SHARES = ("handshake_s", "app_s", "rwnd_s", "network_s")


@pytest.fixture(scope="module", params=["flows", "links.bottleneck"])
def capture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("segments") / "a.pcapng"
    return download(path, request.param, flows__0__mss=f"{FILLED} B")


def offering(capture: Path, own: int | None, other: int | None) -> pl.DataFrame:
    """The data directions of the capture, with other offers in SYNs and SYN/ACKs: as where a path MTU is lower."""
    content = capture.read_bytes()
    assert content.count(OFFER) >= 4, "two connections"
    at, changed = 0, bytearray(content)
    while (at := content.find(OFFER, at)) >= 0:
        # The TCP header ends with the options; its flags are 7 bytes before them.
        answer = bool(content[at - 7] & 0x10)
        if (offer := own if answer else other) is not None:
            changed[at + 2 : at + 4] = offer.to_bytes(2, "big")
        at += 1
    path = capture.with_name(f"{own}-{other}.pcapng")
    path.write_bytes(changed)
    found = ackclock.pcap(path).flows.filter(pl.col("main"))
    assert found.height >= 2
    return found


@pytest.mark.parametrize(("own", "other"), [(1460, 1460), (8960, 8960), (FILLED + 13, 9000), (1460, 536), (1460, None)])
def test_what_is_offered_above_the_segments_changes_nothing(capture: Path, own: int, other: int | None) -> None:
    """`own`: what the receiver of the data offers; `other`: what their sender does, which binds ACKs alone."""
    as_sent, offered = offering(capture, None, None), offering(capture, own, other)
    names = [name for name in as_sent.columns if name not in ("file", "mss_offered", "run")]
    assert as_sent["retransmitted_segments"].sum() > 10
    assert as_sent["mss"].to_list() == [FILLED] * as_sent.height
    for name in names:
        now, before = offered[name].fill_null(-1), as_sent[name].fill_null(-1)
        if now.dtype.is_float():
            # The segments of the first two packets are known to be full after them.
            assert now.to_list() == pytest.approx(before.to_list(), rel=1e-3, abs=2e-3, nan_ok=True), name
        else:
            assert now.to_list() == before.to_list(), name
    assert (offered["network_s"] > 0.5 * offered["fct_s"]).all()
