"""What was measured on lines, judged by the study parallel-tcp without playing that."""

from __future__ import annotations

from pathlib import Path

import ackclock
from ackclock.study import Results, measured
from ackclock.study.runner import Loaded, Report


def judged(loaded: Loaded, folder: Path) -> measured.Measured:
    """Beside a study of which nothing was played but two runs."""
    setting = next(item for item in loaded.study.settings if item.id == "saturated")
    small = {"cc": ["cubic"], "count": [1, 4], "run.replications": 1, "run.duration": "2 s"}
    played = ackclock.run(setting.content, set={**setting.changes, **small}, jobs=1)
    report = Report(loaded.study, loaded.code, Results({"saturated": played}), (), quick=True, wall_s=0.0)
    return measured.judged(loaded, report, folder)
