"""An example of every command, which its --help ends with."""

from __future__ import annotations

_OF = {
    "": "ackclock run scenarios/compare.toml",
    "run": "ackclock run scenarios/compare.toml --set cc=bbr3 --out results/bbr3",
    "sweep": "ackclock sweep scenarios/compare.toml --precision 5% --out results/a",
    "query": 'ackclock query results/a "select avg(mean_rtt_s) from flows"',
    "show": "ackclock show scenarios/parking-lot.toml --set cc=bbr3",
    "rank": 'ackclock rank results/a --goal "goodput_bps up, jain up 2x"',
    "compare": "ackclock compare results/a --by cc --base reno --margin 5%",
    "agree": "ackclock agree scenarios/single-flow.toml --engines sim,kernel",
    "plot": "ackclock plot results/a --y goodput_bps --format pdf",
    "pcap": "ackclock pcap radio.pcapng --events --out results/radio",
    "shell": "ackclock shell scenarios/single-flow.toml -- ping -c 3 server.ackclock",
    "measure": "ackclock measure run lines.toml --out results/lines",
    "measure plan": "ackclock measure plan lines.toml",
    "measure run": "ackclock measure run lines.toml --out results/lines",
    "measure resume": "ackclock measure resume results/lines",
    "measure why": "ackclock measure why results/lines",
    "measure serve": "ackclock measure serve --bind 0.0.0.0 --token token --expire '8 h'",
    "import": "ackclock import iperf3 results/*.json --out results/measured",
    "import iperf3": "ackclock import iperf3 results/*.json --out results/measured",
    "import flent": "ackclock import flent rrul.flent.gz --out results/rrul",
    "import mahimahi": "ackclock import mahimahi down.log --out results/link",
    "import pantheon": "ackclock import pantheon *_datalink_run*.log --out results/pantheon",
    "import proxy": "ackclock import proxy lines.json --out results/proxy",
    "get": "ackclock get https://example.com/disk.img --checksum sha256=DIGITS",
    "proxy": "ackclock proxy --to example.com:80 --listen 127.0.0.1:8080",
    "advise": "ackclock advise split scenarios/split-tcp.toml",
    "advise split": "ackclock advise split scenarios/split-tcp.toml",
    "cc": "ackclock cc cubic --set beta=0.8 --profile rfc",
    "doctor": "ackclock doctor",
    "kernel": "ackclock kernel list",
    "kernel build": "ackclock kernel build --source linux-mine --name mine",
    "kernel list": "ackclock kernel list",
    "kernel remove": "ackclock kernel remove mine",
    "study": "ackclock study run blbe-slow-start --quick",
    "study list": "ackclock study list",
    "study show": "ackclock study show high-bdp",
    "study new": "ackclock study new studies/my-paper",
    "study run": "ackclock study run high-bdp --quick --cc bbr3 --out results/mine",
}


def of(command: str) -> str:
    """What the help of a command ends with; that of ``ackclock`` itself is that of no command."""
    return f"Example: {_OF[command]}"
