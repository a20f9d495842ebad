"""The public interface is the one listed in tests/api.txt: nothing goes or changes by accident."""

from difflib import unified_diff

import pytest
from surface import LISTED, surface

import mkclust

pytestmark = pytest.mark.versions

HOW = """the public interface is not the one listed in tests/api.txt:
{difference}
Lines that went or changed break users' programs: keep the old way working with a warning first
(docs/guarantees.md). Where the change is meant, `make api` lists it anew, and
CHANGELOG.md says so."""


@pytest.fixture(scope="module")
def now():
    return surface()


def test_the_interface_is_the_one_listed(now):
    listed = LISTED.read_text(encoding="utf-8")
    lines = unified_diff(listed.splitlines(), now.splitlines(), "listed", "now", n=0, lineterm="")
    difference = "\n".join(lines)
    assert not difference, HOW.format(difference=difference)


def test_the_list_sees_names_parameters_options_and_keys(now):
    lines = now.splitlines()
    for name in ("cluster", "MKCDNM", "read", "choose_k"):
        assert name in mkclust.__all__
        assert any(line.startswith(f"mkclust.{name}(") for line in lines), name
    assert "mkclust.MKCDNM(by name solver: str = 'authors')" in lines
    assert "mkclust.MKCDNM().labels_" in lines
    assert "mkclust cluster -k/--clusters required" in lines
    assert "result.json.fitted.dimensions" in lines
