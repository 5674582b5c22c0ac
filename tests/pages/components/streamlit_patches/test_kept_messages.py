"""What was drawn is sent, in its order, whatever is run next."""

from __future__ import annotations

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from pages.components.streamlit_patches.messages import keep_unsent_messages


def whole_page():
    """The messages of a page that were not sent yet: two fragments below each other, and the end."""
    queue = ForwardMsgQueue()
    queue.enqueue(place(1, "canvas"))
    queue.enqueue(place(2, "panels"))
    queue.enqueue(ForwardMsg(script_finished=ForwardMsg.FINISHED_SUCCESSFULLY))
    return queue


@pytest.fixture
def unsent(monkeypatch):
    """The same with the patch."""
    monkeypatch.setattr(ForwardMsgQueue, "clear", ForwardMsgQueue.clear)
    keep_unsent_messages()
    return whole_page()


def place(at, fragment):
    """The message that makes a fragment's place on the page."""
    message = ForwardMsg()
    message.metadata.delta_path[:] = [0, at]
    message.delta.fragment_id = fragment
    message.delta.add_block.allow_empty = True
    return message


def texts_of(messages):
    """Each message's place, or its kind where it has none."""
    return [list(m.metadata.delta_path) or m.WhichOneof("type") for m in messages]


def test_without_the_patch_streamlit_discards_the_place_of_the_fragment_that_is_run_next():
    queue = whole_page()
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["canvas"])
    places = texts_of(queue.flush())
    assert [0, 1] not in places
    assert [0, 2] in places


@pytest.mark.parametrize("fragments", [["canvas"], ["canvas", "panels"], None])
def test_what_a_page_drew_comes_before_what_is_run_next(unsent, fragments):
    unsent.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=fragments)
    unsent.enqueue(ForwardMsg(session_event={}))
    unsent.enqueue(place(1, "canvas"))
    flushed = unsent.flush()
    assert texts_of(flushed) == [[0, 1], [0, 2], "script_finished", "session_event", [0, 1]]
    assert flushed[2].script_finished == ForwardMsg.FINISHED_SUCCESSFULLY


def test_what_was_sent_is_not_sent_again(unsent):
    assert len(unsent.flush()) == 3
    assert unsent.flush() == []
