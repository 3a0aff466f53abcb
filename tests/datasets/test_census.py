"""The census teaching file."""

import gzip

import pytest

from privacygauge.datasets.local_copies import SAMPLE, VARIABLE, WHOLE, census, own_file
from privacygauge.errors import InputError

needs_the_sample = pytest.mark.skipif(
    own_file(SAMPLE) is None, reason="the sample is not available"
)


@needs_the_sample
def test_the_sample_has_fifty_thousand_people_of_six_regions():
    frame, whole = census()
    assert frame.shape == (50_000, 17)
    assert not whole
    assert frame["Region"].nunique() == 6
    assert frame["Residence Type"].nunique() == 1
    assert (frame["Industry"] == "-9").any()
    assert all(isinstance(value, str) for value in frame.iloc[0])


def test_another_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match=r"neither uk_census_2011\.csv nor"):
        census()
    (tmp_path / f"{SAMPLE}.gz").write_bytes(gzip.compress(b"Person ID,Region\n1,E\n"))
    with pytest.raises(InputError, match="its checksum differs"):
        census()
    (tmp_path / WHOLE).write_text("Person ID,Region\n1,E\n")
    with pytest.raises(InputError, match=r"569,741 rows where it is the whole one, got 1"):
        census()
    for content in ("", 'Person ID,Region\n1,E,"more\n2'):
        (tmp_path / WHOLE).write_text(content)
        with pytest.raises(InputError, match="is damaged or no csv file"):
            census()
