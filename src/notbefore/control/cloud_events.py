"""News as CloudEvents 1.0, in JSON: what a receiver of webhooks gets.

Rule 1: `data` is the record as /v1/history shows it, with the one change that the event is about.
Rule 2: everything in it comes from the store and the settings, so that a second sending, by whichever server, is the
same, byte for byte.
Not here: signatures, headers, the way there (notifiers/).
"""

from notbefore.control.shapes import Json, json_line, shown_record
from notbefore.core.news import Gap, News
from notbefore.core.times import iso
from notbefore.ports import StoredRecord

TYPES = "dev.notbefore"
RETIRED = f"{TYPES}.history.retired"


def cloud_event(news: News | Gap, source: str) -> bytes:
    told = of_gap(news) if isinstance(news, Gap) else of_change(news)
    return json_line({"specversion": "1.0", "id": news.id, "source": source, **told}).encode()


def of_change(news: News) -> Json:
    record = shown_record(StoredRecord(news.revision, news.record))
    told: Json = {"type": type_of(news)}
    if subject := subject_of(news):
        told["subject"] = subject
    told["time"] = iso(news.record.at_ms)
    if news.record.scope:
        told["partitionkey"] = news.record.scope
    told["datacontenttype"] = "application/json"
    told["data"] = {**record, "changes": [record["changes"][news.number]]}
    return told


def of_gap(gap: Gap) -> Json:
    return {
        "type": RETIRED,
        "datacontenttype": "application/json",
        "data": {"after": gap.after, "retired_through": gap.through},
    }


def type_of(news: News) -> str:
    """`started: approved` is `dev.notbefore.event.started`; the rest of the word is in the data."""
    words = news.change.what.partition(":")[0].split()
    if news.change.event:
        thing = "event"
    elif len(words) > 1:
        # As history names it: `host declared`, `token revoked`, `vm left`.
        thing, *words = words
    else:
        thing = "scope" if news.record.scope else "fleet"
    return f"{TYPES}.{thing}.{'_'.join(words)}"


def subject_of(news: News) -> str:
    """The event, or else the scope; what concerns the fleet has none."""
    return news.change.event.id if news.change.event else news.record.scope
