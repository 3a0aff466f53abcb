from privacygauge.report.values import Tone, table


def test_rows_say_the_heads_of_their_columns():
    rows = [{"Name": "a", "n": "1", "Said": "x"}, {"Name": "b", "n": "2", "Said": "y"}]
    found = table("t", "T", rows, prose=("Said",), spare=("n",), best=[False, True], at_once=1)
    assert [column.title for column in found.columns] == ["Name", "n", "Said"]
    assert [column.prose for column in found.columns] == [False, False, True]
    assert [column.needed for column in found.columns] == [True, False, True]
    assert [row.cells for row in found.full] == [("a", "1", "x"), ("b", "2", "y")]
    assert [row.tone for row in found.full] == [Tone.PLAIN, Tone.BEST]
    assert found.at_once == 1
