"""What can be recorded over time: the names of the series, which probes, tables and figures have in common.

What each is and its unit: the keys of ``[probes]`` (`scenario/settings.py`).
"""

FLOW = (
    "cwnd",
    "ssthresh",
    "srtt",
    "in_flight",
    "delivered",
    "sent",
    "retransmitted",
    "recoveries",
    "timeouts",
    "pacing_rate",
    "min_rtt",
    "lost",
    "delivery_rate",
    "ca_state",
    "busy",
    "rwnd_limited",
    "sndbuf_limited",
    "unacked",
    "acknowledged",
)
"""Of each flow."""

LINK = ("queue", "queue_bytes", "link_sent", "drops")
"""Of each link."""

CELL = ("rho_rb", "rho_tti", "up_rho_rb")
"""Of each radio cell."""

USER = ("user_rate", "user_up_rate", "user_rb_share", "user_queue_age", "user_queue_bytes", "user_sinr")
"""Of each user of a cell."""

CAPTURED = ("pipe", "rwnd", "rtt", "rtt_ts", "cwnd_estimate")
"""Of each direction of a connection in a capture, besides those of a flow that it has too."""

SERIES = (*FLOW, *LINK, *CELL, *USER)
"""All that a run can record, in the order of the tables."""

OF_INTERVAL = ("cwnd", "srtt", "delivered", "queue")
"""What `interval` alone records: enough to draw the window, the delay, the rate and the queue."""

OVERVIEW = ("cwnd", "delivered", "queue")
"""What the overview of a run is drawn from."""

OVERVIEW_OF_CELL = ("rho_rb", "user_rate", "user_queue_age")
"""What it is drawn from besides where there is a cell."""
