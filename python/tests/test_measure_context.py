"""What is known of a line beside its tests: what its interface is, whether data costs money, the radio behind it."""

from __future__ import annotations

import copy
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ackclock.errors import InputError
from ackclock.measure import campaign, context, costs, interfaces, modem, routes, runner
from ackclock.measure.journal import Journal
from lines import Computer
from measuring import serving

SALT = b"of a campaign"

ROUTES = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n"

# What no record of a test may have; nobody's.
SECRETS = {
    "imei": "490154203237518", "imsi": "001010123456789", "number": "+447700900123", "iccid": "8944500000000000001",
    "device": "e867aad23fc10dc614959ad025a9d1049b3ad213", "operator": "Example Mobile", "account": "jane@example.net",
    "latitude": "52.516275", "longitude": "13.377704", "sim": "ModemManager1/SIM/4",
}  # fmt: skip
CELL, AREA = "01A2B305", "00A7F3C1"

# Answers of mmcli 1.20 with -J: field names as in its cli/mmcli-output.c, all values are texts, "--" is none.
OTHER = {"modem": {"generic": {"access-technologies": ["umts"], "ports": ["ttyUSB0 (at)", "wwan1 (net)"]}}}
MODEM = {
    "modem": {
        "3gpp": {
            "eps": {"initial-bearer": {"settings": {"apn": "internet", "password": "--", "user": SECRETS["account"]}}},
            "imei": SECRETS["imei"],
            "operator-code": "00101",
            "operator-name": SECRETS["operator"],
            "registration-state": "home",
        },
        "cdma": {"esn": "--", "meid": SECRETS["imei"]},
        "dbus-path": "/org/freedesktop/ModemManager1/Modem/1",
        "generic": {
            "access-technologies": ["lte", "5gnr"],
            "device-identifier": SECRETS["device"],
            "equipment-identifier": SECRETS["imei"],
            "own-numbers": [SECRETS["number"]],
            "ports": ["cdc-wdm0 (qmi)", "lo (net)", "ttyUSB1 (at)"],
            "signal-quality": {"recent": "yes", "value": "71"},
            "sim": f"/org/freedesktop/{SECRETS['sim']}",
        },
        "sim": {"properties": {"iccid": SECRETS["iccid"], "imsi": SECRETS["imsi"]}},
    }
}
SIGNAL = {
    "modem": {
        "signal": {
            "5g": {"error-rate": "--", "rsrp": "-97.00", "rsrq": "-11.00", "snr": "8.50"},
            "cdma1x": {"ecio": "--", "error-rate": "--", "rssi": "--"},
            "gsm": {"error-rate": "--", "rssi": "--"},
            "lte": {"error-rate": "--", "rsrp": "-100.00", "rsrq": "-9.00", "rssi": "-71.00", "snr": "--"},
            "refresh": {"rate": "10"},
            "umts": {"ecio": "--", "error-rate": "--", "rscp": "--", "rssi": "--"},
        }
    }
}
LOCATION = {
    "modem": {
        "location": {
            "3gpp": {"cid": CELL, "lac": "FFFE", "mcc": "001", "mnc": "01", "tac": AREA},
            "cdma-bs": {"latitude": "--", "longitude": "--"},
            "gps": {"latitude": SECRETS["latitude"], "longitude": SECRETS["longitude"], "nmea": [], "utc": "--"},
        }
    }
}
LIST = {"modem-list": ["/org/freedesktop/ModemManager1/Modem/0", "/org/freedesktop/ModemManager1/Modem/1"]}
ANSWERS = {"-L": LIST, "-m 0": OTHER, "-m 1": MODEM, "-m 1 --signal-get": SIGNAL, "-m 1 --location-get": LOCATION}


@pytest.fixture
def computer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Computer:
    folder = tmp_path / "computer"
    folder.mkdir()
    return Computer(folder, monkeypatch)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("loopback", {"number": 772}),
        ("virtual", {}),
        ("virtual", {"uevent": "DEVTYPE=bridge\n"}),
        ("fixed", {"driver": "e1000e"}),
        ("fixed", {"driver": "virtio_net"}),
        ("fixed", {"driver": ""}),
        ("fixed", {"driver": "r8152", "maker": "0bda"}),
        ("wifi", {"driver": "iwlwifi", "wireless": "wireless"}),
        ("wifi", {"driver": "iwlwifi", "wireless": "phy80211", "uevent": "DEVTYPE=wlan\n"}),
        ("wifi", {"driver": "rndis_wlan", "wireless": "phy80211"}),
        ("mobile", {"driver": "iosm", "uevent": "DEVTYPE=wwan\n"}),
        ("mobile", {"driver": "cdc_ether", "uevent": "DEVTYPE=wwan\n"}),
        ("mobile", {"driver": "cdc_mbim"}),
        ("mobile", {"driver": "huawei_cdc_ncm"}),
        ("mobile", {"driver": "qmi_wwan"}),
        ("tethered", {"driver": "rndis_host"}),
        ("tethered", {"driver": "cdc_ether"}),
        ("tethered", {"driver": "cdc_ncm"}),
        ("tethered", {"driver": "ipheth", "maker": "05ac"}),
        ("tethered", {"driver": "", "uevent": "DEVTYPE=bluetooth\n"}),
        ("fixed", {"driver": "cdc_ncm", "maker": "0bda"}),
        ("fixed", {"driver": "cdc_ether", "maker": "0b95"}),
    ],
    ids=str,
)
def test_an_interface_is_what_its_driver_says(computer: Computer, kind: str, given: dict[str, Any]) -> None:
    computer.interface("it", **given)
    assert interfaces.kind("it") == kind
    assert context.metered("it") == (kind in ("mobile", "tethered")), "nobody else has said so"


def test_an_interface_of_which_nothing_is_known_costs_nothing(computer: Computer) -> None:
    assert interfaces.kind("gone") == "virtual"
    assert not context.metered("gone")
    assert not context.metered(None)
    assert interfaces.number("gone", "mtu") is interfaces.number(None, "mtu") is None
    computer.interface("it")
    (computer.net / "it" / "speed").write_text("-1\n")
    (computer.net / "it" / "mtu").write_text("1420\n")
    assert (interfaces.number("it", "speed"), interfaces.number("it", "mtu")) == (None, 1420)


@pytest.mark.parametrize(
    ("told", "phone", "cable"),
    [
        ("yes", True, True),
        ("yes (guessed)", True, True),
        ("no", False, False),
        ("no (guessed)", True, False),
        ("unknown", True, False),
        ("yesterday", True, False),
        ("  ", True, False),
        ("no such\nthing", True, False),
        (None, True, False),
    ],
)
def test_what_network_manager_says_of_costs_goes_before_what_an_interface_is(
    computer: Computer, told: str | None, phone: bool, cable: bool
) -> None:
    computer.interface("usb0", "rndis_host")
    computer.interface("eth0", "e1000e")
    if told is not None:
        question = '"-g GENERAL.METERED device show usb0" | "-g GENERAL.METERED device show eth0"'
        words = f'[ "$LC_ALL" = C ] && echo "{told}" || echo "ja (geraten)"'
        computer.program("nmcli", f'case "$*" in\n{question}) {words};;\n*) echo "what?"; exit 2;;\nesac')
    assert (context.metered("usb0"), context.metered("eth0")) == (phone, cable)


def test_network_manager_that_fails_has_said_nothing(computer: Computer) -> None:
    computer.interface("usb0", "rndis_host")
    computer.program("nmcli", "echo no; exit 10")
    assert context.metered("usb0"), "an exit code other than 0 is no answer"


FILE = """
[campaign]
name = "radio"
server = "127.0.0.1:{port}"
repetitions = 1
gap = "0 s"

[[lines]]
name = "here"
interface = "lo"
rate = "8 Mbit/s"

[test]
duration = "100 ms"
interval = "50 ms"
pacing = "8 Mbit/s"
"""


def written(folder: Path, port: int, *replacements: tuple[str, str]) -> campaign.Campaign:
    text = FILE.format(port=port)
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    file = folder / "radio.toml"
    file.write_text(text, encoding="utf-8")
    return campaign.load(file)


def test_a_phone_asks_for_a_yes_and_a_campaign_may_say_that_it_is_free(computer: Computer, tmp_path: Path) -> None:
    computer.interface("lo", "ipheth")
    much = ('rate = "8 Mbit/s"', "")
    line = written(tmp_path, 1, much)
    assert costs.metered(line, line.lines[0])
    with pytest.raises(InputError, match="line 'here' is metered, and much may go over it"):
        runner.begin(line, tmp_path / "out", runner.Asked(), print)
    free = written(tmp_path, 1, ('rate = "8 Mbit/s"', "metered = false"))
    assert not costs.metered(free, free.lines[0])


def kept(folder: Path) -> str:
    """All that is in the files of a folder, and their names."""
    found = []
    for file in sorted(folder.rglob("*")):
        found.append(str(file.relative_to(folder)))
        if file.is_file():
            data = file.read_bytes()
            found.append((gzip.decompress(data) if file.suffix == ".gz" else data).decode("utf-8", errors="replace"))
    return "\n".join(found)


@pytest.mark.real_time
def test_a_test_has_the_radio_behind_it_and_nothing_of_whose_it_is(computer: Computer, tmp_path: Path) -> None:
    computer.interface("lo", "qmi_wwan", "DEVTYPE=wwan\n")
    computer.mmcli(ANSWERS)
    out = tmp_path / "out"
    with serving() as (_, address):
        assert runner.begin(written(tmp_path, address.port), out, runner.Asked(), print).done == 1
    ((_, test),) = Journal(out).tests()
    assert test["context"]["type"] == "mobile"
    found = test["context"]["modem"]
    word = found.pop("cell")
    assert re.fullmatch(r"[0-9a-f]{16}", word)
    assert found == {
        "technology": ["5gnr", "lte"],
        "quality_percent": 71,
        "signal": {
            "lte": {"rssi_dbm": -71.0, "rsrp_dbm": -100.0, "rsrq_db": -9.0, "snr_db": None},
            "5g": {"rsrp_dbm": -97.0, "rsrq_db": -11.0, "snr_db": 8.5},
        },
    }
    text = kept(out).lower()
    assert word in text.partition("manifest.json")[2], "it is in the results as well as in the journal"
    said = json.dumps(ANSWERS).lower()
    for name, secret in SECRETS.items():
        assert secret.lower() in said, "nothing would have been looked for"
        assert secret.lower() not in text, name
    for number in (CELL, AREA):
        digits = f"{number.lstrip('0').lower()}|{int(number, 16)}"
        assert not re.search(rf"(?<![1-9a-f])({digits})(?![0-9a-f])", text), "where the cell stands"


def test_of_what_a_modem_says_only_what_looks_like_it_is_kept(computer: Computer) -> None:
    """A firmware that puts its IMEI anywhere: there is no field through which it comes."""

    def spoilt(told: Any) -> Any:
        if isinstance(told, dict):
            return {key: told[key] if key == "ports" else spoilt(value) for key, value in told.items()}
        return [SECRETS["imei"]] if isinstance(told, list) else SECRETS["imei"]

    computer.mmcli({**{key: spoilt(value) for key, value in ANSWERS.items()}, "-L": LIST, "-m 0": OTHER})
    found = modem.seen("lo", SALT)
    assert found == {"technology": None, "quality_percent": None, "signal": None, "cell": None}


def at(**place: str) -> dict[str, Any]:
    """The answers of a modem in another cell."""
    told = copy.deepcopy(ANSWERS)
    told["-m 1 --location-get"]["modem"]["location"]["3gpp"].update(place)  # type: ignore[index]
    return told


def test_a_cell_is_a_word_of_its_campaign(computer: Computer) -> None:
    def cell(salt: bytes = SALT, **place: str) -> str | None:
        computer.mmcli(at(**place))
        found = modem.seen("lo", salt)
        assert found is not None
        word: str | None = found["cell"]
        return word

    own = cell()
    assert own == cell()
    assert own == cell(lac="1234", tac="5678"), "areas are of an operator's making and change; the cell does not"
    assert own == cell(cid=CELL.lower().lstrip("0"))
    others = [cell(b"of another campaign"), cell(cid="01A2B306"), cell(mnc="02"), cell(mcc="999")]
    small = [cell(cid="1A2B", lac=area) for area in ("0001", "0002")]
    assert len({own, *others, *small}) == 7, "a number of GSM's is that of other cells in other areas"
    assert [cell(cid=none) for none in ("--", "0", "00000000", "")] == [None] * 4


def test_the_radio_is_asked_of_the_modem_whose_interface_it_is(computer: Computer) -> None:
    asked = computer.mmcli(ANSWERS)
    assert modem.seen("eth0", SALT) is None
    assert modem.seen("wwan", SALT) is None
    assert "get" not in asked.read_text()
    found = modem.seen("wwan1", SALT)  # its program answers no other question of this modem
    assert found == {"technology": ["umts"], "quality_percent": None, "signal": None, "cell": None}


def test_nobody_is_asked_about_a_cable(computer: Computer) -> None:
    computer.interface("lo", "e1000e")
    asked = computer.mmcli(ANSWERS)
    assert context.gather("127.0.0.1", "lo", SALT, keep_addresses=False)["modem"] is None
    assert asked.read_text() == ""


@pytest.mark.parametrize(
    "told",
    ["", "null", "[]", "{", '{"modem-list": "--"}', '{"modem-list": ["--", "-m", 3, null]}', '{"modem-list": []}'],
)
def test_an_answer_that_is_none_is_no_radio(computer: Computer, told: str) -> None:
    computer.interface("lo", "qmi_wwan")
    asked = computer.mmcli({**ANSWERS, "-L": told})
    assert context.gather("127.0.0.1", "lo", SALT, keep_addresses=False)["modem"] is None
    assert asked.read_text() == "-L -J\n", "nothing else may be asked for"


def test_without_modem_manager_there_is_no_radio(computer: Computer) -> None:
    computer.interface("lo", "qmi_wwan")
    assert context.gather("127.0.0.1", "lo", SALT, keep_addresses=False)["modem"] is None
    computer.program("mmcli", 'echo "error: couldn\'t find the ModemManager process in the bus" >&2; exit 1')
    assert context.gather("127.0.0.1", "lo", SALT, keep_addresses=False)["modem"] is None


def test_a_modem_that_does_not_answer_in_time_does_not_answer(
    computer: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Those of both modems take a second each, together more than there is; with patience for each there were some.
    computer.mmcli(ANSWERS, before="sleep 1;")
    monkeypatch.setattr(modem, "PATIENCE_S", 1.5)
    assert modem.seen("lo", SALT) is None


def test_a_modem_that_keeps_its_cell_to_itself_is_asked_for_it_once(computer: Computer) -> None:
    """Who may know the place is up to polkit, which may ask somebody for a password."""
    asked = computer.mmcli({key: value for key, value in ANSWERS.items() if "location" not in key})
    for _ in range(3):
        found = modem.seen("lo", SALT)
        assert found is not None
        assert found["cell"] is None
        assert found["technology"] == ["5gnr", "lte"]
    lines = asked.read_text().splitlines()
    assert [lines.count(f"-m 1 --{what}-get -J") for what in ("signal", "location")] == [3, 1]


@pytest.mark.usefixtures("computer")
def test_a_name_made_of_a_hardware_address_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    told = f"{ROUTES}enx02aabbccddee\t0\t010200C0\t3\t0\t0\t100\t0"
    monkeypatch.setattr(routes, "text", lambda file: told if str(file) == "/proc/net/route" else None)
    found = context.gather("127.0.0.1", "enx02aabbccddee", SALT, keep_addresses=True)
    assert re.fullmatch(r"enx-[0-9a-f]{8}", found["interface"])
    assert found["default_route"] == f"{found['interface']} 192.0.2.1", "it is seen that the route goes by it"
    other = context.gather("127.0.0.1", "wlx02aabbccddef", SALT, keep_addresses=True)
    assert other["interface"][:4] == "wlx-"
    assert other["interface"][4:] != found["interface"][4:]
    assert "02aabbccdde" not in json.dumps([found, other])
    assert context.identity("127.0.0.1", "enx02aabbccddee", SALT)[1] == "enx02aabbccddee", "this is not kept"


@pytest.mark.usefixtures("computer")
def test_of_a_named_interface_only_its_own_way_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    told = f"{ROUTES}eth0\t0\t010200C0\t3\t0\t0\t100\t0\nusb0\t0\t01016433\t3\t0\t0\t600\t0"
    monkeypatch.setattr(routes, "text", lambda file: told if str(file) == "/proc/net/route" else None)
    found = [context.gather("127.0.0.1", device, SALT, keep_addresses=True) for device in (None, "usb0", "none0")]
    assert [item["default_route"] for item in found] == ["eth0 192.0.2.1", "usb0 51.100.1.1", None]
    assert [item["address"] for item in found] == ["127.0.0.1", None, None], "not that of another interface"
    before = context.identity("127.0.0.1", "usb0", SALT)
    told = told.replace("010200C0", "020200C0")
    assert context.identity("127.0.0.1", "usb0", SALT) == before, "the tests do not leave by that route"
    told = told.replace("01016433", "02016433")
    assert context.identity("127.0.0.1", "usb0", SALT) != before


def test_the_default_route_is_that_of_the_version_of_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    none, least = "0" * 32, "0" * 31 + "1"
    told = "".join(
        f"{destination} {length} {none} 00 {gateway} {metric} 00000001 00000000 {flags} {name}\n"
        for destination, length, gateway, metric, flags, name in (
            ("fd00" + "0" * 28, "40", none, "00000100", "00000001", "eth0"),
            (none, "00", "fe80" + "0" * 27 + "2", "00000400", "00000003", "wlan0"),
            (none, "00", "fe80" + "0" * 27 + "1", "00000064", "00000003", "eth0"),
            (none, "00", none, "00000001", "00200200", "lo"),
            (least, "80", none, "00000000", "80200001", "lo"),
        )
    )
    monkeypatch.setattr(routes, "text", lambda file: told if str(file) == "/proc/net/ipv6_route" else None)
    assert routes.default(6) == ("eth0", "fe80::1")
    assert routes.default(6, "wlan0") == ("wlan0", "fe80::2")
    assert context.default_route("2001:db8::2", None) == "eth0 fe80::/48"
    assert context.default_route("192.0.2.2", None) is None
