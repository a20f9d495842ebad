"""Real MATLAB files, which are not in the repository, have the shapes in their descriptions."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from mkclust.io.reading import inspect, read

# file: samples, classes, columns of each view; None where the description gives no number
DATA = {
    "bbcsport_2view": (544, 5, (3183, 3203)),
    "CCV": (6773, 20, (20,) * 3),
    "ProteinFold": (694, 27, (27,) * 12),
    "YALE_Kmatrix": (165, 15, (165,) * 5),
    "jaffe_expression_213n_676d_10c_7g_uni_12k_": (213, 10, (213,) * 12),
    "BBC4views": (685, 5, (4659, 4633, 4665, 4684)),
    "20NewsGroups": (500, 5, (2000,) * 3),
    "Reuters-1200": (1200, 6, (2000,) * 5),
    "WebKB": (1051, 2, (None,) * 2),
    "Cornell": (195, 5, (None,) * 2),
    "Texas": (187, 5, (None,) * 2),
    "Cora": (2708, 7, (2708, None, None, None)),
    "CiteSeer": (3312, 6, (3312, None)),
    "ACM": (3025, 3, (1870, 3025, 3025, 3025, 3025)),
    "Mfeat": (2000, 10, (216, 76, 64, 6, 240, 47)),
    "HW2sources": (2000, 10, (784, 256)),
    "Hdigit": (10000, 10, (784, 256)),
    "MNIST-4": (4000, 4, (30, 9, 30)),
    "100Leaves": (1600, 100, (64,) * 3),
    "MSRC-v1": (210, 7, (24, 576, 512, 256, 254)),
    "ORL_4views": (400, 40, (512, 59, 864, 254)),
    "yaleA_3view": (165, 15, (9, 512, 50)),
    "Scene-15": (4485, 15, (20, 59, 40)),
    "cub_googlenet_doc2vec_c10": (600, 10, (1024, 300)),
    "BDGP": (2500, 5, (1000, 500)),
    "Wikipedia": (2866, 10, (128, 10)),
    "ORL_400n_1024d_40c": (400, 40, (1024,)),
    "YALE_165n_1024d_15c": (165, 15, (1024,)),
    "jaffe_213n_676d_10c": (213, 10, (676,)),
    "tr11_414n_6429d_9c_tfidf_uni": (414, 9, (6429,)),
    "tr45_690n_8261d_10c_tfidf_uni": (690, 10, (8261,)),
    "coauthor_phy": (34493, 5, (34493, 8415)),
    "dblp": (17716, 4, (17716, 1639)),
}
KERNELS = {"YALE_Kmatrix", "jaffe_expression_213n_676d_10c_7g_uni_12k_"}
SPARSE = {"bbcsport_2view", "BBC4views", "tr11_414n_6429d_9c_tfidf_uni", "coauthor_phy", "dblp"}


@pytest.mark.parametrize("name", DATA)
def test_data_set_is_read_as_described(data_dir, name):
    samples, classes, widths = DATA[name]
    views = read(data_dir / f"{name}.mat")
    assert len(views) == samples
    assert len(np.unique(views.labels)) == classes
    assert views.labels.dtype == np.int64
    pairs = zip(widths, views.widths, strict=True)
    assert all(width in (None, found) for width, found in pairs)
    assert views.kernels == (name in KERNELS)
    if name in SPARSE:
        assert all(sp.issparse(view) for view in views.views)


def test_every_data_set_is_described(data_dir):
    assert {path.stem for path in data_dir.glob("*.mat")} == {*DATA}


def test_inspect_describes_the_cells_of_real_files(data_dir):
    x, _, _, y = inspect(data_dir / "Wikipedia.mat")
    assert (x.name, x.kind, x.role) == ("X", "cell", "views")
    assert [item.shape for item in x.items] == [(2866, 128), (2866, 10)]
    assert y.role == "labels"


@pytest.mark.parametrize("name", ["AR10P", "YALE"])
def test_fixtures_prefer_the_prepared_kernels(fixture_dir, name):
    path = fixture_dir / f"{name}_input.mat"
    stored = scipy.io.loadmat(path)
    views = read(path)
    assert views.kernels
    assert views.names[0] == "KH1"
    assert np.array_equal(views.views[1], stored["KH"][:, :, 1])
    assert np.array_equal(read(path, views="Kraw")["Kraw1"], stored["Kraw"][:, :, 0])
