"""Rows are read from each kind of file, separator and encoding; what can be read in two ways is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from conductor.errors import DataError
from conductor.evaluation.rows import MAX_LINE, rows_of

LINE = '{"input": "Städte?", "target": "Zürich"}'
ROW = {"input": "Städte?", "target": "Zürich"}


def written(folder: Path, name: str, content: bytes) -> Path:
    file = folder / name
    file.write_bytes(content)
    return file


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", LINE.encode()),
        ("a.jsonl", LINE.encode("utf-8-sig")),
        ("a.jsonl", LINE.encode("utf-16")),
        ("a.jsonl", f"{LINE}\r\n\r\n".encode()),
        ("a.jsonl.gz", gzip.compress(LINE.encode(), mtime=0)),
        ("a.json", LINE.encode()),
        ("a.json", json.dumps([ROW]).encode()),
        ("a.json", f"\n  {json.dumps([ROW], indent=1)}".encode("utf-8-sig")),
        ("a.json", json.dumps([ROW]).encode("utf-16")),
        ("a.json.gz", gzip.compress(json.dumps([ROW]).encode(), mtime=0)),
        ("a.csv", "input,target\nStädte?,Zürich".encode()),
        ("a.csv", "input;target\r\nStädte?;Zürich\r\n".encode("utf-8-sig")),
        ("a.csv", "input\ttarget\nStädte?\tZürich".encode("utf-16")),
        ("a.csv", "input|target\n\nStädte?|Zürich\n".encode()),
        ("a.csv", 'sep=;\n"input";"target"\nStädte?;Zürich'.encode()),
        ("a.csv", '"input, as asked";target\nx;y'.replace(", as asked", "").encode() + b"\n"),
        ("a.tsv", "input\ttarget\nStädte?\tZürich\n".encode()),
        ("a.csv", "input,target,,\nStädte?,Zürich,,\n".encode()),
        ("a.jsonl", LINE.encode("utf-32")),  # Python's own mark
        ("a.jsonl", gzip.compress(LINE.encode(), mtime=0)),  # curl without --compressed
        ("a.jsonl.gz", LINE.encode()),  # A browser unpacked it.
        ("a.json", json.dumps({"data": [ROW]}).encode()),  # SQuAD, `datasets`
        ("a.json", json.dumps({"version": "1.1", "data": [ROW]}, indent=1).encode()),
        (
            "a.json",
            json.dumps({"features": [{"name": "input"}], "rows": [{"row_idx": 0, "row": ROW}]}).encode(),
        ),
        ("a.json", json.dumps({"name": "task", "examples": [ROW]}, indent=1).encode()),  # BIG-bench
        ("a.json", json.dumps(ROW, indent=1).encode()),
        ("a.csv", '"sep=;"\r\n"input";"target"\r\nStädte?;Zürich'.encode()),  # Programs that quote all cells.
        ("a.csv", "\n \ninput;target\nStädte?;Zürich\n \n".encode()),
        ("a.csv", "input,target\rStädte?,Zürich\r".encode()),  # Excel on an old Mac
        ("a.csv", ",input,target\n0,Städte?,Zürich\n".encode()),  # pandas' index
        ("a.csv", "input, target\nStädte?, Zürich\n".encode()),
        ("a.csv", '"input"; "target"\r\n"Städte?"; "Zürich"\r\n'.encode()),
        ("a.csv", " input ,target \nStädte?,Zürich\n".encode()),
        ("a.csv", "sep=|\ninput|target\nStädte?|Zürich".encode()),
        ("a.tsv", "input\ttarget\r\nStädte?\tZürich\r\n".encode("utf-16")),  # Excel's Unicode text
        ("a.CSV", '\ufeff"input","target"\r\n"Städte?","Zürich"'.encode()),
        ("a.csv", gzip.compress("input,target\nStädte?,Zürich\n".encode(), mtime=0)),
        ("a.json", f"{LINE}\n".encode("utf-16")),
        ("a.json", json.dumps({"records": [ROW], "count": 1}).encode()),
        ("a.jsonl", json.dumps(ROW, ensure_ascii=True).encode()),
        ("a.ndjson", LINE.encode()),  # Elastic, Label Studio
        ("a.ndjson.gz", gzip.compress(LINE.encode(), mtime=0)),
    ],
)
def test_a_row_is_the_same_in_each_kind_of_file(tmp_path: Path, name: str, content: bytes) -> None:
    ((_, row),) = rows_of(written(tmp_path, name, content))
    assert row == (ROW if b"x;y" not in content else {"input": "x", "target": "y"})


@pytest.mark.parametrize(("name", "text"), [("a.jsonl", LINE), ("a.csv", "input;target\nStädte?;Zürich")])
def test_another_encoding_is_read_where_it_is_named_and_refused_by_its_line_else(
    tmp_path: Path, name: str, text: str
) -> None:
    good = text.replace("ä", "a").replace("ü", "u")
    last = text.splitlines()[-1]
    file = written(tmp_path, name, f"{good}\n{last}\n".encode("cp1252"))
    assert [row for _, row in rows_of(file, encoding="cp1252")][-1] == ROW
    *_, (number, broken) = rows_of(file)
    assert (number, isinstance(broken, DataError)) == (len(text.splitlines()) + 1, True)
    assert "is not UTF-8 (its byte 0xe4)" in str(broken)
    with pytest.raises(DataError, match="'no-such' is no encoding"):
        list(rows_of(file, encoding="no-such"))
    for codec in ("base64", "hex", "zlib", "rot13", "idna", "punycode", "undefined", "a\0b"):
        with pytest.raises(DataError, match="is no encoding"):
            list(rows_of(file, encoding=codec))
    with pytest.raises(DataError, match="cannot be read as utf-16"):
        list(rows_of(written(tmp_path, name, b"abc"), encoding="utf-16"))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", b"a,b;c\n1,2;3", "may separate: write sep="),
        ("a.csv", b"a,a\n1,2", "two columns 'a'"),
        ("a.csv", b'a,b\n1,2\n3,"4\n5,6\n', r"not CSV from line 3 on: unexpected end"),
        ("a.csv", b'a,b\n1,"2"x\n', "not CSV from line 2 on"),
        ("a.json", b'[{"a": 1},', "a.json is not JSON"),
        ("a.json", b'[{"a": "\xfc"}]', "not UTF-8"),
        ("a.jsonl.gz", gzip.compress(LINE.encode() * 500, mtime=0)[:-20], "cannot be read"),
        ("a.jsonl.gz", gzip.compress(LINE.encode(), mtime=0)[:12] + b"\xff" * 40, "cannot be read"),
        ("a.json", b'[{"a": 1, "a": 2}]', "a.json names 'a' twice in one object"),
        (
            "a.json",
            b'{"a": {"input": "x"}, "b": {"input": "y"}}',
            "object of objects; write an array of rows",
        ),
        (
            "a.json",
            b'{"input": {"0": "x"}, "target": {"0": "y"}}',
            "object of objects; write an array of rows",
        ),
        ("a.json", b'{"input": ["x"], "target": ["y"]}', "object of lists; write an array of rows"),
        ("a.json", b'{"train": [{"input": "x"}], "test": []}', "object of lists; write an array of rows"),
        ("a.csv", b"PK\x03\x04\x14\0", "of Excel, Word or LibreOffice"),
        ("a.csv", b"\xd0\xcf\x11\xe0\xa1\xb1", "an old Excel"),
        ("a.jsonl", b"PAR1\x15\x04", "a Parquet file; name it .parquet"),
        ("a.jsonl", b"version https://git-lfs.github.com/spec/v1", "run git lfs pull"),
        ("a.jsonl", b"BZh91AY", "an archive; unpack it"),
        ("a.csv", b"SQLite format 3\0", "Arrow or SQLite"),
        ("a.csv", b"\n<!DOCTYPE html><p>Sign in", "an HTML page"),
        *(
            ("a.csv", "input,x".encode(name), f"looks like text in {name.upper()} without a mark")
            for name in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
        ),
        ("a.xlsx", b"", "must end in"),
        ("a.gz", b"", "must end in"),
        ("a.parquet", b"no", "not a Parquet file"),
        (
            "a.parquet",
            b"version https://git-lfs.github.com/spec/v1",
            "run git lfs pull",
        ),  # a clone of the hub
        ("a.parquet", b"ARROW1\0\0", "Arrow or SQLite"),
        # pandas' orient="split"; jq; an array under another name.
        (
            "a.json",
            b'{"columns": ["input"], "index": [0], "data": [["x"]]}',
            "object of lists; write an array",
        ),
        (
            "a.jsonl",
            b'{\n "input": "x"\n}\n',
            "JSON over several lines from line 1 on: write each row in one",
        ),
        ("a.json", b'{\n "input": "x"\n}\n{\n "input": "y"\n}', "JSON over several lines from line 1"),
        ("a.jsonl", b'[\n{"input": "x"},\n{"input": "y"}\n]\n', "an array into a file that ends in .json"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match=reason):
        list(rows_of(written(tmp_path, name, content)))


@pytest.mark.parametrize("cells", ["1,2,3", "1"])
def test_a_row_with_more_or_fewer_cells_than_columns_is_broken_alone(tmp_path: Path, cells: str) -> None:
    rows = list(rows_of(written(tmp_path, "a.csv", f"a,b\n1,2\n{cells}\n5,6\n".encode())))
    assert [number for number, _ in rows] == [2, 3, 4]
    assert [isinstance(row, DataError) for _, row in rows] == [False, True, False]


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "utf-16", "utf-16-le"])
def test_a_mark_is_no_part_of_a_text_in_an_encoding_that_is_named(tmp_path: Path, encoding: str) -> None:
    marked = f"\ufeff{LINE}".encode("utf-16-le" if "16" in encoding else encoding)
    assert [row for _, row in rows_of(written(tmp_path, "a.jsonl", marked), encoding=encoding)] == [ROW]


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"a,b\n1,2\n3,\0\n", 3, "a byte 0"),
        (b"sep=;\n\na;b\n1;2\n3\n", 5, "1 cells"),
        (b"\n\na;b\n1;2\n3\n", 5, "1 cells"),
        (b"a,b\n1,2\n" + b"x" * (MAX_LINE + 1) + b",2\n", 3, "a cell of more than 2,000,000 characters"),
    ],
)
def test_a_broken_row_has_the_number_of_its_line(
    tmp_path: Path, content: bytes, line: int, reason: str
) -> None:
    ((_, whole), (number, fault)) = rows_of(written(tmp_path, "a.csv", content))
    assert (whole, number) == ({"a": "1", "b": "2"}, line)
    assert reason in str(fault)


def test_a_long_cell_is_read(tmp_path: Path) -> None:
    ((_, row),) = rows_of(written(tmp_path, "a.csv", b"a,b\n" + b"x" * 140_000 + b",1\n"))
    assert isinstance(row, dict)
    assert len(row["a"]) == 140_000


@pytest.mark.parametrize("first", ["", "question,A,B,C,D,answer\n", "Question,A,B,C,D,answer\n"])
def test_a_table_without_a_head_gets_the_names_that_it_is_known_to_have(tmp_path: Path, first: str) -> None:
    file = written(tmp_path, "a.csv", f"{first}Why?,w,x,y,z,A\n".encode())
    names = ("question", "A", "B", "C", "D", "answer")
    ((_, row),) = rows_of(file, headless=names)
    assert isinstance(row, dict)
    assert list(row.values()) == ["Why?", "w", "x", "y", "z", "A"]
