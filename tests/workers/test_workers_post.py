"""What a worker asks of its parent, and how the answer comes back (workers/post.py)."""

import asyncio
import json

import pytest

from notbefore.core.errors import REFUSALS, Refusal, StoreUnavailable
from notbefore.workers.frames import ASKED_IN_FLIGHT_MAX, Answered, Broke, Refused, as_bytes
from notbefore.workers.post import Post


@pytest.fixture
def sent():
    return []


@pytest.fixture
def post(sent):
    return Post(sent.append)


async def asked(post):
    """A question that waits for its answer."""
    question = asyncio.ensure_future(post.enable("s", "vm"))
    await asyncio.sleep(0)
    return question


async def test_each_answer_goes_to_who_asked(post, sent):
    """By number, in whatever order they come."""
    first, second = await asked(post), await asked(post)

    post.answered(Answered(sent[1].number, None))
    await second
    assert not first.done()

    post.answered(Answered(sent[0].number, None))
    await first


@pytest.mark.parametrize("code", REFUSALS)
async def test_a_refusal_is_raised_as_the_class_it_was(post, sent, code):
    """With code, message, hint and facts; what a VM sent may be in them, text or not."""
    question = await asked(post)
    refused = Refused(code, as_bytes("No \ud800."), as_bytes("Ask."), json.dumps({"event": "\ud800"}))

    post.answered(Answered(sent[0].number, refused))

    with pytest.raises(Refusal) as raised:
        await question
    assert type(raised.value) is REFUSALS[code]
    assert (raised.value.message, raised.value.hint) == ("No \ud800.", "Ask.")
    assert raised.value.facts == {"event": "\ud800"}


async def test_a_parent_that_breaks_down_over_it_leaves_nobody_waiting(post, sent):
    """The VM is answered 500, as in one process."""
    question = await asked(post)

    post.answered(Broke(sent[0].number))

    with pytest.raises(RuntimeError):
        await question


async def test_beyond_the_limit_it_is_refused_at_once_and_recovers(post, sent):
    """A limit on every queue."""
    questions = [await asked(post) for _ in range(ASKED_IN_FLIGHT_MAX)]
    with pytest.raises(StoreUnavailable):
        await post.enable("s", "vm")

    for one in sent:
        post.answered(Answered(one.number, None))
    await asyncio.gather(*questions)
    post.answered(Answered(1, None))
    again = await asked(post)
    post.answered(Answered(sent[-1].number, None))
    await again
