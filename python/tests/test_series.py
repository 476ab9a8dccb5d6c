"""What senders say of themselves over time: how the series hang together, on the simulator."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import ackclock

NAMES = ("unacked", "acknowledged", "in_flight", "lost", "ca_state", "delivered", "sent", "retransmitted")
PATH: dict[str, Any] = {
    "kind": "dumbbell",
    "rate": "10 Mbit/s",
    "rtt": "40 ms",
    "queue": {"kind": "droptail", "limit": "30 packets"},
}
OPEN, REDUCTION, RECOVERY, LOSS = 0, 2, 3, 4


def sampled(flow: dict[str, Any], duration: str = "10 s", **path: Any) -> pl.DataFrame:
    """A column for each series of the only flow."""
    document = {
        "topology": PATH | path,
        "flows": [flow],
        "run": {"duration": duration},
        "probes": dict.fromkeys(NAMES, "20 ms"),
    }
    return ackclock.run(document).series.pivot(on="metric", index="time_s", values="value")


@pytest.mark.parametrize("profile", ["linux", "rfc"])
def test_what_is_sent_is_acknowledged_or_not_or_reported(profile: str) -> None:
    all_of_it = sampled({"cc": "reno", "profile": profile}, loss="0.2 %")
    once = all_of_it["sent"] - all_of_it["retransmitted"]
    # What SACK has reported counts as acknowledged, and as not acknowledged cumulatively.
    reported = all_of_it["acknowledged"] + all_of_it["unacked"] - once
    assert reported.min() == 0
    assert reported.max() > 10 * 1448
    assert (all_of_it["delivered"] >= all_of_it["acknowledged"] - reported).all()
    calm = all_of_it.filter((reported == 0) & (pl.col("ca_state") == OPEN) & (pl.col("lost") == 0))
    assert calm.height > 100
    assert calm["in_flight"].to_list() == calm["unacked"].to_list()
    repairing = all_of_it.filter(pl.col("lost") > 0)
    assert repairing.height > 5
    assert set(repairing["ca_state"]) <= {RECOVERY, LOSS}
    assert (repairing["in_flight"] < repairing["unacked"]).all()


def test_states_are_numbered_as_linux_does() -> None:
    # The way is shut for a second: a timeout, and what follows it.
    shut = [{"at": "2 s", "rate": "off"}, {"at": "3 s", "rate": "10 Mbit/s"}]
    state = sampled({"cc": "reno"}, "5 s", events=shut)
    assert set(state.filter(pl.col("time_s").is_between(2.6, 2.98))["ca_state"]) == {LOSS}
    assert set(state.filter(pl.col("time_s") < 0.1)["ca_state"]) == {OPEN}
    marking = sampled({"cc": "reno", "tcp": {"ecn": "classic"}}, queue={"kind": "codel", "ecn": True, "limit": "1 MB"})
    assert REDUCTION in set(marking["ca_state"])
    assert marking["lost"].max() == 0


def test_of_many_connections_they_add_up() -> None:
    files = {"kind": "files", "arrivals": {"every": "300 ms"}, "size": "100 kB", "most": 4}
    all_of_it = sampled({"cc": "reno", "app": files}, "4 s")
    assert all_of_it["acknowledged"].is_sorted()
    # The end of a stream counts as a byte.
    assert all_of_it["acknowledged"][-1] - all_of_it["delivered"][-1] in range(5)
    assert all_of_it["delivered"][-1] == 400_000
    assert all_of_it["unacked"][-1] == 0
    assert "ca_state" not in all_of_it.columns, "of many there is none"
