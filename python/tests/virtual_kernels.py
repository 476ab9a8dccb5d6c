"""The kernel in virtual time that tests run on, whatever else has been built on this computer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ackclock.virtual import guest, kept, patches


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """The newest kernel of those without a patch is the only one, of the version that figures are of if there is one.

    What else was built here must not matter.
    """
    forbidden = guest.forbidden()
    found = [kernel for kernel in kept.all_of_them() if " with " not in kernel.source]
    found.sort(key=lambda kernel: not kernel.version.startswith(f"{patches.WRITTEN_FOR}."))
    if forbidden or not found:
        pytest.fail(f"nothing here is tested: {forbidden or 'no kernel is built; ackclock kernel build'}")
    (folder / found[0].name).symlink_to(found[0].image.parent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACKCLOCK_KERNELS", str(folder))
        yield


@pytest.fixture(scope="module", autouse=True)
def able(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with alone(tmp_path_factory.mktemp("kernels")):
        yield
