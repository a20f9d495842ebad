"""A run killed at any step leaves one set of files, or a set that readers call incomplete."""

import json
import os
import signal
import sys

import numpy as np
import pytest

from mkclust import GraphFusion, datasets, load
from mkclust.cli.output_directory import OutputFolder, StagedModel
from mkclust.exceptions import FileFormatError
from mkclust.io.manifest import NAME, read_manifest, require_complete_set

STEPS = ("replace", "rename", "unlink", "mkdir", "rmdir")  # calls of os that change a folder


@pytest.fixture(scope="module")
def models():
    views = datasets.make_views(40, n_clusters=2, n_views=2, noise=0.3, random_state=0)
    return [GraphFusion(2, random_state=seed).fit(views) for seed in (0, 1)]


def write_run(folder, number, models, target=None):
    """Write the results of one run: each file holds the number of its run."""

    def write(staged):
        names = ["labels.csv", "result.json", "embedding.npz" if number else "graph.npz"]
        for name in names:
            (staged / name).write_text(str(number))
        return [staged / name for name in names]

    model = None if target is None else StagedModel.written(models[number].save, target)
    return OutputFolder(folder).write(write, model)


def killed_at(step, action):
    """Run the action in a child that is killed at a step; return whether it was killed."""
    child = os.fork()
    if child == 0:
        left = [step]

        def hooked(original):
            def call(*args, **kwargs):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return original(*args, **kwargs)

            return call

        for name in STEPS:
            setattr(os, name, hooked(getattr(os, name)))
        code = 1
        try:
            action()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def sound_runs(folder):
    """Return the runs whose files are in the folder, by their contents."""
    found = read_manifest(folder)
    assert not found.problems(folder)
    return {(folder / name).read_text() for name in found.files}


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.parametrize("before", [True, False], ids=["replaced", "new"])
@pytest.mark.parametrize("place", [None, "out/model.npz", "elsewhere/model.npz"])
def test_killed_at_every_step_the_set_is_old_new_or_incomplete(tmp_path, models, before, place):
    outcomes = []
    for step in range(60):
        here = tmp_path / str(step)
        here.mkdir()
        folder, target = here / "out", None if place is None else here / place
        if before:
            write_run(folder, 0, models, target)
        if not killed_at(step, lambda f=folder, t=target: write_run(f, 1, models, t)):
            break
        if not (folder / NAME).exists():
            assert not before and not any((folder / n).exists() for n in ("labels.csv",))
            outcomes.append("none")
            continue
        try:
            require_complete_set(folder)
        except FileFormatError as error:
            assert "incomplete" in str(error)
            outcomes.append("incomplete")
            if place == "out/model.npz" and target.exists():
                with pytest.raises(FileFormatError, match="incomplete"):
                    load(target)
        else:
            (run,) = sound_runs(folder)  # never two
            outcomes.append("old" if run == "0" else "new")
        write_run(folder, 1, models, target)  # the next run mends it
        assert sound_runs(folder) == {"1"}
    else:
        pytest.fail("the run never ended")
    assert sound_runs(folder) == {"1"}
    assert set(outcomes) >= ({"old", "incomplete"} if before else {"none"})


def test_the_model_is_part_of_the_set(tmp_path, models):
    folder = tmp_path / "out"
    write_run(folder, 0, models, folder / "first.npz")
    found = json.loads((folder / NAME).read_text())
    assert found["model"][0] == "first.npz" and found["complete"] is True
    written = write_run(folder, 1, models, folder / "second.npz")
    assert "first.npz" in written.removed and not (folder / "first.npz").exists()
    np.testing.assert_array_equal(load(folder / "second.npz").labels_, models[1].labels_)
    assert read_manifest(folder).problems(folder) == []
    (folder / "second.npz").write_bytes(b"other")
    assert read_manifest(folder).problems(folder) == [
        "second.npz is not the file that the run wrote"
    ]


def test_a_model_of_the_user_in_the_folder_is_never_removed(tmp_path, models):
    folder = tmp_path / "out"
    write_run(folder, 0, models, folder / "first.npz")
    models[1].save(folder / "first.npz")
    models[1].save(folder / "mine.npz")
    write_run(folder, 1, models, None)
    assert (folder / "first.npz").exists() and (folder / "mine.npz").exists()


def test_a_model_outside_is_named_by_its_path(tmp_path, models):
    write_run(tmp_path / "out", 0, models, tmp_path / "m" / "model.npz")
    assert read_manifest(tmp_path / "out").model[0] == str(tmp_path / "m" / "model.npz")
    (tmp_path / "m" / "model.npz").unlink()
    (problem,) = read_manifest(tmp_path / "out").problems(tmp_path / "out")
    assert problem.endswith("model.npz is missing")


@pytest.mark.parametrize(
    "model", [["../x.npz", "0"], ["labels.csv", "0"], ["..", "0"], ["a"], "x", [1, 2]]
)
def test_a_manifest_names_no_other_file_as_a_model(tmp_path, models, model):
    write_run(tmp_path, 0, models)
    content = json.loads((tmp_path / NAME).read_text()) | {"model": model}
    (tmp_path / NAME).write_text(json.dumps(content))
    assert read_manifest(tmp_path).model is None


def test_names_of_255_bytes_are_written(tmp_path, models):
    folder, target = tmp_path / ("é" * 127), tmp_path / ("名" * 83 + ".npz")
    for number in (0, 1):
        write_run(folder, number, models, target)
        assert sound_runs(folder) == {str(number)}
    assert {path.name for path in tmp_path.iterdir()} == {folder.name, target.name}


@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()])
def test_a_model_whose_results_cannot_be_written_leaves_no_temporary_file(tmp_path, models, error):
    def write(_):
        raise error

    model = StagedModel.written(models[0].save, tmp_path / "model.npz")
    with pytest.raises(type(error)):
        OutputFolder(tmp_path / "out").write(write, model)
    assert not [*tmp_path.iterdir()]
