"""Files as people attach them."""

from __future__ import annotations

import io
import zlib

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def pdf(*pages: str, password: str | None = None) -> bytes:
    """A PDF with one line of text a page."""
    writer = PdfWriter()
    for text in pages:
        page = writer.add_blank_page(200, 200)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = content
    if password is not None:
        writer.encrypt(password, algorithm="RC4-128")
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def busy_pdf() -> bytes:
    """A PDF of a few kilobytes that pypdf reads for seconds: two megabytes of empty texts on one page."""
    return _one_stream(zlib.compress(b"BT /F1 9 Tf " + b"()Tj " * 400_000 + b"ET"), "/FlateDecode")


def swelling_pdf() -> bytes:
    """A PDF of seven megabytes whose one stream takes a hundred times as much in memory."""
    return _one_stream(b"z" * 7_000_000 + b"~>", "/ASCII85Decode")


def _one_stream(data: bytes, filter: str) -> bytes:
    font = b"<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources%s>>" % font
    stream = b"<</Length %d/Filter%s>>stream\n%s\nendstream" % (len(data), filter.encode(), data)
    objects = (b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>", page, stream)
    file, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(file))
        file += b"%d 0 obj%s endobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return b"%sxref\n0 5\n0000000000 65535 f \n%strailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        file,
        table,
        len(file),
    )
