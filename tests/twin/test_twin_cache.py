# SPDX-License-Identifier: Apache-2.0
"""The twin runs code from its cache: the folder must be the user's own, and only the user's."""

import os

import pytest

from aot_build.twin import build_twin

PROBE = "#include <cstdint>\nint32_t Probe() { return 1; }\n"


@pytest.fixture
def cache(monkeypatch, tmp_path):
    folder = tmp_path / "cache"
    monkeypatch.setenv("MINDSPORE_RNNT_TWIN_CACHE", str(folder))
    build_twin.accepts.cache_clear()
    return folder


def refused():
    with pytest.raises(build_twin.TwinBuildError, match="only its owner"):
        build_twin.accepts(PROBE)
    return True


def test_it_is_made_for_the_user_alone(cache):
    assert build_twin.accepts(PROBE)
    assert cache.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_others_must_not_be_able_to_write(cache, mode):
    cache.mkdir()
    cache.chmod(mode)
    assert refused()


def test_another_owner_is_refused(cache, monkeypatch):
    cache.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: cache.stat().st_uid + 1)
    assert refused()


def test_a_link_is_refused(cache, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    cache.symlink_to(tmp_path / "elsewhere")
    assert refused()
