"""One request, one answer, looked at byte by byte: so that only servers that answer rightly are measured."""

from dataclasses import dataclass

from measuring.load import ANSWER_MAX_BYTES, Address, LoadFailed, asking

END_OF_HEAD = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    length: int

    def header(self, name: str) -> str:
        return next((value for header, value in self.headers if header == name), "")


def answer_to(address: Address, request: bytes, source: str = "") -> Answer:
    got = b""
    with asking(address, request, source) as line:
        while not is_whole(got):
            part = line.recv(ANSWER_MAX_BYTES)
            if not part:
                raise LoadFailed(f"{address[0]}:{address[1]} closed within its answer: {got!r}")
            got += part
    return parsed(got)


def is_whole(got: bytes) -> bool:
    if END_OF_HEAD not in got:
        return False
    answer = parsed(got)
    return answer.status == 304 or len(answer.body) >= int(answer.header("content-length"))


def parsed(got: bytes) -> Answer:
    head, _, body = got.partition(END_OF_HEAD)
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = tuple((name.lower(), value.strip()) for name, _, value in pairs)
    return Answer(int(first.split()[1]), headers, body, len(got))
