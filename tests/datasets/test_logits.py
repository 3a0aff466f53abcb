import numpy as np
import pytest

from privacygauge.datasets.local_copies import VARIABLE, cifar_logits
from privacygauge.errors import InputError


@pytest.mark.parametrize(("n_classes", "accuracy"), [(10, 0.926), (100, 0.6883)])
def test_the_models_are_as_good_as_they_are_known_to_be(data_folder, n_classes, accuracy):
    logits, labels = cifar_logits(n_classes)
    assert (logits.shape, logits.dtype) == ((10_000, n_classes), np.float64)
    # Every class has equally many test images.
    assert np.bincount(labels).tolist() == [10_000 // n_classes] * n_classes
    assert np.mean(logits.argmax(axis=1) == labels) == pytest.approx(accuracy, abs=1e-9)


def test_what_is_missing_or_changed_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match=r"^n_classes must be one of 10, 100, got 1000$"):
        cifar_logits(1_000)
    with pytest.raises(InputError, match=r"^logits_cifar10_resnet-20\.npz is not in the folder"):
        cifar_logits(10)
    (tmp_path / "logits_cifar10_resnet-20.npz").write_bytes(b"other")
    with pytest.raises(InputError, match="its checksum differs"):
        cifar_logits(10)
