"""The corpus, first half: where a body ends. Each row with what must come back (SPEC §2.1: llhttp's syntax, strict).

In every row APPROVE is smuggled where a reader with other rules would find a request: none may approve.
"""

from hostile_case import APPROVAL, APPROVE, CHUNKED, GET, LAST, PATH, chunk, closed, get, kept, length_of, post, refused

END = b"0\r\n\r\n"
LENGTH = length_of(APPROVAL)
CHUNKS = chunk(APPROVAL) + END
SMUGGLED = END + APPROVE
NO_CHUNKS = (
    b" chunked, identity",
    b" chunked, chunked",
    b" chunked,",
    b" identity",
    b" xchunked",
    b" chunkedx",
    b" chunked;q=1",
    b' "chunked"',
    b" chunked\t",
    b" \x0bchunked",
    b" chunked\x0b",
    b" chunked\x00",
    b"\r\n chunked",
    b"\r\n\tchunked",
    b"",
)
NO_LENGTHS = (
    b"-1",
    b"+%d" % len(APPROVAL),
    b"0x%x" % len(APPROVAL),
    b"%d,%d" % (len(APPROVAL), len(APPROVAL)),
    b"6 6",
    b"6_6",
    b"66a",
    b"6e1",
    b"66\x00",
    b"\xb2",
    b"",
    b" ",
    b"18446744073709551616",
    b"9" * 40,
)
NO_CHUNK = (
    b"fffffffffffffffff\r\n",
    b"-1\r\n",
    b"+1\r\n",
    b"0x%x\r\n%b\r\n" % (len(APPROVAL), APPROVAL) + END,
    b" %x\r\n%b\r\n" % (len(APPROVAL), APPROVAL) + END,
    b"%x \r\n%b\r\n" % (len(APPROVAL), APPROVAL) + END,
    b"%x\n%b\r\n" % (len(APPROVAL), APPROVAL) + END,
    b"%x\r\n%b\n" % (len(APPROVAL), APPROVAL) + END,
    b"%x\r\n%b" % (len(APPROVAL), APPROVAL) + END,
    b"%x;a\n\r\n%b\r\n" % (len(APPROVAL), APPROVAL) + END,
    b'%x;a="\r\n0\r\n%b\r\n' % (len(APPROVAL), APPROVAL) + END,
    b"\r\n" + CHUNKS,
    b"zz\r\n" + CHUNKS,
    b"\x00" + CHUNKS,
    chunk(APPROVAL) + b"0\r\nContent-Length: 7\r\n\r\n",
    chunk(APPROVAL) + b"0\r\nContent-Length: x\r\n\r\n",
    chunk(APPROVAL) + b"0\r\nTransfer-Encoding: chunked\r\n\r\n",
    chunk(APPROVAL) + b"0\r\nX: a\n\r\n\r\n",
    chunk(APPROVAL) + b"0\r\nX : a\r\n\r\n",
)

TWO_FRAMINGS = [
    refused("CL.CL, equal", post(LENGTH + LENGTH, APPROVAL)),
    refused("CL.CL, other", post(LENGTH + b"Content-Length: 0\r\n", APPROVAL + APPROVE)),
    refused("CL.TE", post(b"Content-Length: %d\r\n" % len(SMUGGLED) + CHUNKED, SMUGGLED)),
    refused("TE.CL", post(CHUNKED + b"Content-Length: 4\r\n", chunk(APPROVE) + END)),
    refused("TE.TE", post(CHUNKED + CHUNKED, CHUNKS)),
    refused("TE.TE, identity last", post(CHUNKED + b"Transfer-Encoding: identity\r\n", CHUNKS)),
    kept("TE.TE, identity first", post(b"Transfer-Encoding: identity\r\n" + CHUNKED, chunk(b"{}") + END), 400),
    refused("TE with a space before the colon", post(b"Transfer-Encoding : chunked\r\n" + LENGTH, CHUNKS)),
    refused("CL with a space before the colon", post(b"Content-Length : 5\r\n", APPROVAL)),
]
OF_A_GET = [
    closed("a GET with a length", get(b"Metadata: true\r\n" + length_of(APPROVE)) + APPROVE, 200),
    closed("a GET with chunks", get(b"Metadata: true\r\n" + CHUNKED) + chunk(APPROVE) + END, 200),
    refused("a GET with an unknown coding", get(b"Metadata: true\r\nTransfer-Encoding: identity\r\n") + APPROVE),
    refused("a GET with broken chunks", get(b"Metadata: true\r\n" + CHUNKED) + b"zz\r\n" + APPROVE),
]
BODIES_LIKE_REQUESTS = [
    kept("the body is an approval", post(length_of(APPROVE), APPROVE), 400),
    kept("the body is a question", post(length_of(GET), GET), 400),
    kept("the chunks are an approval", post(CHUNKED, chunk(APPROVE) + END), 400),
    kept("each chunk is an approval", post(CHUNKED, chunk(APPROVE) * 3 + END), 400),
    refused("broken chunks of an Expect", post(CHUNKED + b"Expect: 100-continue\r\n", b"zz\r\n" + APPROVE)),
    kept("the body of an Expect", post(length_of(APPROVE) + b"Expect: 100-continue\r\n", APPROVE), 400),
    closed("the body of a refused request", post(length_of(APPROVE), APPROVE, headers=b""), 400),
    closed("the body of a lost request", post(length_of(APPROVE), APPROVE).replace(PATH, b"/nowhere", 1), 404),
    closed("the body of a DELETE", post(length_of(APPROVE), APPROVE).replace(b"POST", b"DELETE", 1), 405),
    closed("the body of an upgrade", post(length_of(APPROVE) + b"Connection: upgrade\r\nUpgrade: x\r\n", APPROVE), 400),
    closed("what follows an upgrade", get(b"Metadata: true\r\nConnection: upgrade\r\nUpgrade: x\r\n") + APPROVE, 200),
    closed("what follows the last request", LAST + APPROVE, 200),
    closed("what follows HTTP/1.0", get(version=b"HTTP/1.0") + APPROVE, 200),
]
SEAMS = [
    refused("glued without an empty line", GET[:-2] + APPROVE),
    refused("glued by a bare LF", GET[:-2] + b"\n" + APPROVE),
    refused("glued by a bare CR", GET[:-2] + b"\r" + APPROVE),
    closed("glued by a NUL", GET + b"\x00" + APPROVE, 200, 400),
    closed("glued by a space", GET + b" " + APPROVE, 200, 400),
    closed("glued by a tab", GET + b"\t" + APPROVE, 200, 400),
    closed("glued by a byte order mark", GET + b"\xef\xbb\xbf" + APPROVE, 200, 400),
    closed("one byte after a body", post(length_of(b"{}"), b"{}") + b"}" + APPROVE, 400, 400),
    closed("one byte after the chunks", post(CHUNKED, chunk(b"{}") + END) + b"0" + APPROVE, 400, 400),
    kept("glued by empty lines", GET + b"\r\n\r\n" + GET, 200, 200),
    kept("three in a row", GET + get(target=b"/nowhere") + get(b""), 200, 404, 400),
    kept("a question behind chunks", post(CHUNKED, chunk(b"{}") + END) + GET, 400, 200),
    kept(
        "a question behind a trailer", post(CHUNKED, chunk(b"{}") + b"0\r\nMetadata: true\r\n\r\n") + get(b""), 400, 400
    ),
    closed("a body in the trailer's place", post(CHUNKED, chunk(b"{}") + b"0\r\n") + APPROVE, 400),
]
FRAMING = [
    *TWO_FRAMINGS,
    *(refused(f"Transfer-Encoding:{how!r}", post(b"Transfer-Encoding:" + how + b"\r\n", CHUNKS)) for how in NO_CHUNKS),
    *(refused(f"Content-Length: {how!r}", post(b"Content-Length: " + how + b"\r\n", APPROVAL)) for how in NO_LENGTHS),
    *(refused(f"a chunk {how[:24]!r} … {how[-24:]!r}", post(CHUNKED, how)) for how in NO_CHUNK),
    *OF_A_GET,
    *BODIES_LIKE_REQUESTS,
    *SEAMS,
]
# Not refused, and rightly so: their bodies end where every reader says they end, so they approve.
WELL_FRAMED = [
    kept("Chunked", post(b"Transfer-Encoding: Chunked\r\n", CHUNKS), 200),
    kept("a tab before chunked", post(b"Transfer-Encoding:\tchunked\r\n", CHUNKS), 200),
    kept("chunks last of several codings", post(b"Transfer-Encoding: identity, chunked\r\n", CHUNKS), 200),
    kept("a chunk extension", post(CHUNKED, b"%x;a=b\r\n%b\r\n" % (len(APPROVAL), APPROVAL) + END), 200),
    kept("many zeros", post(CHUNKED, chunk(APPROVAL) + b"00000\r\n\r\n"), 200),
    kept("a length with zeros before it", post(b"Content-Length: 00%d\r\n" % len(APPROVAL), APPROVAL), 200),
    kept("a length between tabs", post(b"Content-Length:\t%d\t \r\n" % len(APPROVAL), APPROVAL), 200),
    kept("an unknown header with an underscore", post(b"Transfer_Encoding: chunked\r\n" + LENGTH, APPROVAL), 200),
    closed("chunks in HTTP/1.0", post(CHUNKED, CHUNKS).replace(b"HTTP/1.1", b"HTTP/1.0"), 200),
]
