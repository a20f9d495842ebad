"""NumPy archives, invalid paths, limits, and atomic writing."""

import os
import stat
import zipfile

import numpy as np
import pytest

from mkclust.exceptions import FileFormatError, InputError
from mkclust.io import Limits, inspect, read
from mkclust.io.atomic import write_csv_atomic, write_npz_atomic, write_text_atomic

RNG = np.random.default_rng(0)
N = 10
A, B = RNG.normal(size=(N, 3)), RNG.normal(size=(N, 4))
Y = np.arange(N) % 2


@pytest.fixture
def save(tmp_path):
    def saved(**arrays):
        np.savez_compressed(tmp_path / "made.npz", **arrays)
        return tmp_path / "made.npz"

    return saved


def test_npz_arrays_are_views(save):
    views = read(save(colour=A, shape=B, y=Y, k=2))
    assert views.names == ("colour", "shape")
    assert np.array_equal(views["shape"], B) and views.labels.tolist() == Y.tolist()
    assert "Ignored k: a single value." in views.notes


def test_npz_stacks_lie_along_the_first_axis(save):
    cube = RNG.normal(size=(N, N, N))
    assert np.array_equal(read(save(K=cube))["K2"], cube[1])
    last = RNG.normal(size=(N, N, 3))
    assert np.array_equal(read(save(K=last))["K2"], last[:, :, 1])
    assert read(save(K=np.moveaxis(last, -1, 0))).n_views == 3


def test_npz_features_in_a_stack_must_be_requested(save):
    stack = RNG.normal(size=(2, N, 3))
    with pytest.raises(FileFormatError, match=r"no views found.*X \(2x10x3 stack\)"):
        read(save(X=stack))
    assert np.array_equal(read(save(X=stack), views="X")["X2"], stack[1])


def test_npz_labels_and_names_as_text(save):
    path = save(X=A, labels=np.array(["a", "b"] * 5), who=np.array([f"s{i}" for i in range(N)]))
    views = read(path, index="who")
    assert views.labels.tolist() == ["a", "b"] * 5 and views.index[9] == "s9"
    assert any('Ignored who: one value per sample; choose it with labels="who"' in n
               for n in read(path).notes)  # fmt: skip


def test_npz_bytes_become_text(save):
    assert read(save(X=A, y=np.array([b"a", b"b"] * 5))).labels.tolist() == ["a", "b"] * 5


def test_npz_objects_are_refused_without_unpickling(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    path = tmp_path / "trap.npz"
    np.savez(path, X=np.array([Trap(), None], dtype=object))
    with pytest.raises(FileFormatError, match="no views found"):
        read(path)
    with pytest.raises(InputError, match="cannot be read as numbers"):
        read(path, views="X")
    assert not (tmp_path / "sprung").exists()
    assert inspect(path)[0].kind == "object"


def archive(path, shape, descr="<f8", body=b"", **kwargs):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("X.npy", data, **kwargs)
    return path


def test_npz_header_that_claims_more_than_the_file_has(tmp_path):
    path = archive(tmp_path / "a.npz", (10**9, 10**9))
    with pytest.raises(FileFormatError, match=r"X claims shape .* but the archive has 0"):
        read(path)


@pytest.mark.parametrize("shape", ["(-1, 8)", "(1e3,)", "(10,", "(None,)", "__import__('os')"])
def test_npz_broken_header(tmp_path, shape):
    with pytest.raises(FileFormatError, match=r"a\.npz: "):
        read(archive(tmp_path / "a.npz", shape))


def test_npz_text_of_zero_width_is_refused(tmp_path):
    path = archive(tmp_path / "a.npz", (10**12,), descr="<U0")
    with pytest.raises(InputError, match="labels='X' needs one value per sample"):
        read(path, labels="X")


def test_zip_bomb_is_refused_by_the_limit(tmp_path):
    path = archive(tmp_path / "bomb.npz", (1000, 500), body=bytes(4_000_000))
    assert path.stat().st_size < 100_000
    with pytest.raises(FileFormatError, match=r"claims 4,000,000 bytes, over the limit of 10,000"):
        read(path, limits=Limits(max_bytes=10_000))
    assert read(path).widths == (500,)


def test_npz_with_two_members_of_the_same_name(tmp_path):
    path = archive(tmp_path / "a.npz", (1, 1), body=bytes(8))
    with zipfile.ZipFile(path, "a") as made, pytest.warns(UserWarning, match="Duplicate"):
        made.writestr("X.npy", b"other")
    with pytest.raises(FileFormatError, match="several members of one name"):
        read(path)


def test_npz_member_names_are_not_paths(tmp_path):
    path = tmp_path / "made.npz"
    write_npz_atomic(path, **{"../evil": A, "b": B})
    assert set(read(path).names) == {"../evil", "b"}
    assert sorted(os.listdir(tmp_path)) == ["made.npz"]


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("suffix", [".npz", ".mat", ".parquet"])
def test_truncated_files_are_reported(save, tmp_path, keep, suffix):
    data = save(X=A, y=Y).read_bytes()
    if suffix == ".mat":
        scipy_io = pytest.importorskip("scipy.io")
        scipy_io.savemat(tmp_path / "whole.mat", {"X": A, "y": Y})
        data = (tmp_path / "whole.mat").read_bytes()
    path = tmp_path / f"cut{suffix}"
    path.write_bytes(data[: int(keep * len(data))])
    with pytest.raises(FileFormatError, match=rf"cut\{suffix}: "):
        read(path)


# --- paths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [read, inspect])
def test_paths_without_a_readable_file(tmp_path, function):
    with pytest.raises(FileFormatError, match=r"none\.mat: cannot be read: No such file"):
        function(tmp_path / "none.mat")
    (tmp_path / "empty.mat").touch()
    with pytest.raises(FileFormatError, match=r"empty\.mat: the file is empty"):
        function(tmp_path / "empty.mat")
    (tmp_path / "notes.docx").write_text("x")
    with pytest.raises(FileFormatError, match=r"unknown extension '\.docx'; known are \.mat, "):
        function(tmp_path / "notes.docx")
    with pytest.raises(FileFormatError, match="a folder should hold one table per view"):
        function(tmp_path)
    with pytest.raises(FileFormatError, match="cannot be read: File name too long"):
        function(tmp_path / ("a" * 300 + ".mat"))


@pytest.mark.parametrize("path", ["", "a\0b.mat", "\ud800.mat", 5, b"a.mat", None, [], [5]])
def test_values_that_are_not_paths(path):
    with pytest.raises(InputError):
        read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FileFormatError, match="not a regular file"):
        read(tmp_path / "pipe.csv")


def test_missing_permission_is_reported(tmp_path, monkeypatch):
    path = tmp_path / "closed.npz"
    np.savez(path, X=A)
    path.chmod(0)
    if os.access(path, os.R_OK):  # the superuser may read anything
        monkeypatch.setattr(
            "pathlib.Path.open",
            lambda *args, **kwargs: (_ for _ in ()).throw(PermissionError(13, "Permission denied")),
        )
    with pytest.raises(FileFormatError, match=r"closed\.npz: cannot be read: Permission denied"):
        read(path)


def test_arguments_of_the_wrong_kind(save):
    path = save(X=A)
    for wrong in ({"labels": True}, {"index": 3}, {"views": [1]}, {"views": []}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            read(path, **wrong)


# --- limits --------------------------------------------------------------------------------------


def test_limits_count_only_what_is_read(save):
    path = save(X=A, huge=np.zeros((50, 100)), y=Y)
    tight = Limits(max_bytes=A.nbytes + Y.nbytes)
    assert read(path, limits=tight).names == ("X",)
    with pytest.raises(FileFormatError, match=r"over the limit of 320.*Limits\(max_bytes=40"):
        read(path, views="huge", labels=False, limits=tight)


def test_limits_on_views_and_columns(save):
    path = save(X1=A, X2=B)
    with pytest.raises(FileFormatError, match="X2 claims 4 columns, over the limit of 3"):
        read(path, limits=Limits(max_columns=3))
    with pytest.raises(FileFormatError, match="claims 2 views, over the limit of 1"):
        read(path, limits=Limits(max_views=1))


# --- writing -------------------------------------------------------------------------------------


def interrupted():
    yield ["1", "2"]
    raise KeyboardInterrupt


def test_writers_write_the_content(tmp_path):
    write_text_atomic(tmp_path / "a.txt", "grüß")
    assert (tmp_path / "a.txt").read_bytes() == "grüß".encode()
    write_npz_atomic(tmp_path / "a.npz", X=A, y=Y)
    assert np.array_equal(read(tmp_path / "a.npz")["X"], A)
    write_csv_atomic(tmp_path / "a.csv", ["x", "y"], ([i, i / 2] for i in range(3)))
    assert (tmp_path / "a.csv").read_bytes() == b"x,y\n0,0.0\n1,0.5\n2,1.0\n"
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "a.npz", "a.txt"]


@pytest.mark.parametrize("rows", [interrupted(), [["1", "2"], ["3"]]])
def test_a_failing_writer_leaves_the_old_file_and_nothing_else(tmp_path, rows):
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises((KeyboardInterrupt, InputError)):
        write_csv_atomic(path, ["x", "y"], rows)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_of_the_last_step_leaves_no_file(tmp_path, monkeypatch, step):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space left"):
        write_text_atomic(tmp_path / "a.txt", "text")
    assert os.listdir(tmp_path) == []


def test_objects_are_not_written(tmp_path):
    with pytest.raises(InputError, match="X holds Python objects"):
        write_npz_atomic(tmp_path / "a.npz", X=[object()])
    with pytest.raises(UnicodeEncodeError):
        write_text_atomic(tmp_path / "a.txt", "\ud800")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="needs permission bits")
def test_permissions_are_those_of_the_old_file_or_the_default(tmp_path):
    (tmp_path / "plain").touch()
    write_text_atomic(tmp_path / "new", "")
    plain = stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == plain
    (tmp_path / "new").chmod(0o600)
    write_text_atomic(tmp_path / "new", "again")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600
