"""Sessions over HTTP: listed page by page, read, deleted and exported, by all who may."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from storage.api_token import TokenLimits
from studio.access.errors import ApiError
from studio.api.stored.sessions import SessionPage, listed
from studio.session_file import look_into
from tests.support.processes.api_server import ServedApi, serving_api

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    file = shutil.copyfile(empty_store, tmp_path_factory.mktemp("sessions") / "conductor.db")
    with serving_api(file, Pool(workers=(SimulatedWorker(name="alpha", answer="So."),))) as served:
        yield served


def request(
    served: ServedApi, path: str, key: str | None = "", method: str = "GET", **query: Any
) -> httpx.Response:
    """The answer; "" is this machine's token, None no token."""
    headers = {} if key is None else {"authorization": f"Bearer {key or served.key}"}
    address = f"{served.base_url}/{path}"
    return httpx.request(method, address, params=query, headers=headers, trust_env=False, timeout=60)


def session_asking(served: ServedApi, question: str, key: str = "") -> str:
    """The id of the session of a request."""
    answer = httpx.post(
        f"{served.base_url}/responses",
        json={"model": "worker:alpha", "input": question},
        headers={"authorization": f"Bearer {key or served.key}"},
        trust_env=False,
        timeout=60,
    )
    served.paid()
    session: str = answer.json()["conductor"]["session"]
    return session


# -- who may ---------------------------------------------------------------------------------------

Whose = Literal["lab's", "a person's"]
OUTSIDE = (401, 401, 401, 401)


@pytest.fixture(scope="module")
def keys(served: ServedApi) -> dict[str, str | None]:
    """Tokens by who sends them; None sends none."""
    tokens = served.bench.store.tokens
    limits = {"lab": None, "other": None, "narrow": TokenLimits(workers=("alpha",))}
    texts: dict[str, str | None] = {name: tokens.create(name, own)[1] for name, own in limits.items()}
    revoked, text = tokens.create("revoked")
    tokens.revoke(revoked.id)
    return {
        **texts,
        "machine": served.key,
        "nobody": None,
        "view-only": None,
        "wrong": "sk-1",
        "revoked": text,
    }


@pytest.mark.parametrize(
    ("who", "whose", "is_listed", "statuses"),
    [
        ("machine", "lab's", True, (200, 200, 200, 200)),
        ("machine", "a person's", True, (200, 200, 200, 200)),
        ("lab", "lab's", True, (200, 200, 200, 200)),
        ("lab", "a person's", False, (200, 200, 200, 403)),
        ("other", "lab's", False, (200, 404, 404, 404)),
        ("narrow", "lab's", False, (200, 404, 404, 404)),
        ("narrow", "a person's", False, (200, 404, 404, 404)),
        ("nobody", "lab's", False, OUTSIDE),
        ("view-only", "a person's", False, OUTSIDE),
        ("wrong", "lab's", False, OUTSIDE),
        ("revoked", "lab's", False, OUTSIDE),
    ],
)
def test_a_token_lists_reads_exports_and_deletes_what_it_may(
    served: ServedApi,
    keys: dict[str, str | None],
    who: str,
    whose: Whose,
    statuses: tuple[int, ...],
    *,
    is_listed: bool,
) -> None:
    session = (
        session_asking(served, "Mine?", keys["lab"] or "")
        if whose == "lab's"
        else served.bench.ask("Mine?").id
    )
    view = {"view": "0" * 40} if who == "view-only" else {}
    list_answer = request(served, "sessions", keys[who], limit=100, **view)
    answers = [
        request(served, f"sessions/{session}", keys[who], **view),
        request(served, f"sessions/{session}/export", keys[who], **view),
        request(served, f"sessions/{session}", keys[who], "DELETE", **view),
    ]
    assert (list_answer.status_code, *(each.status_code for each in answers)) == statuses
    data = list_answer.json().get("data", ())
    assert (session in [each["id"] for each in data]) == is_listed
    if not is_listed:
        together = request(served, "sessions/export", keys[who], **view)
        assert session not in together.text
    is_deleted = served.bench.store.sessions.find(session).deleted_at is not None
    assert is_deleted == (statuses[-1] == 200)
    for refused in (each for each in answers if each.status_code != 200):
        assert set(refused.json()["error"]) == {"message", "type", "param", "code"}


# -- lists -----------------------------------------------------------------------------------------


@pytest.fixture
def store(url: str) -> Iterator[SessionStore]:
    """A store whose clock moves on with every third session."""
    ticks = iter(range(10_000))
    with SessionStore.open(url, clock=lambda: float(next(ticks) // 3)) as store:
        yield store


def ids_by_page(store: SessionStore, **query: Any) -> list[list[str]]:
    """The ids of all pages."""
    pages: list[list[str]] = []
    after = None
    for _ in range(100):
        page = listed(store, SessionPage(after=after, **query), token=None)
        pages.append([each["id"] for each in page["data"]])
        assert (page["first_id"], page["last_id"]) == (pages[-1][0], pages[-1][-1])
        after = page["last_id"]
        if not page["has_more"]:
            return pages
    raise AssertionError("the pages have no end")


def test_pages_have_each_session_once_also_where_several_changed_at_one_moment(store: SessionStore) -> None:
    for number in range(11):
        store.sessions.create(f"question {number}")
    every = list(store.sessions.ids())
    assert len({each.updated_at for each in store.sessions.listed()}) < len(every)
    for limit in (1, 2, 4, 11, 20):
        pages = ids_by_page(store, limit=limit)
        assert [id for page in pages for id in page] == every
        assert {len(page) for page in pages[:-1]} <= {limit}


def test_a_page_goes_on_behind_a_session_that_was_deleted(store: SessionStore) -> None:
    for number in range(5):
        store.sessions.create(f"question {number}")
    every = store.sessions.ids()
    store.sessions.delete(*every[:2])
    page = listed(store, SessionPage(after=every[1], limit=2), token=None)
    assert [each["id"] for each in page["data"]] == [*every[2:4]]


def test_a_page_keeps_to_the_moments_that_are_selected(store: SessionStore) -> None:
    for number in range(9):
        store.sessions.create(f"question {number}")
    times = sorted({each.updated_at for each in store.sessions.listed()})
    chosen = {"since": times[1], "until": times[-2]}
    pages = ids_by_page(store, limit=2, **chosen)
    own = [each.id for each in store.sessions.listed() if times[1] <= each.updated_at <= times[-2]]
    assert [id for page in pages for id in page] == own
    newest = store.sessions.ids()[0]
    behind = listed(store, SessionPage(after=newest, **chosen), token=None)
    assert [each["id"] for each in behind["data"]] == own


def test_a_token_cannot_begin_a_page_behind_a_session_that_is_not_its_own(store: SessionStore) -> None:
    token, _ = store.tokens.create("lab")
    session = store.sessions.create("why?").id
    for after in (session, "gone", "\0"):
        with pytest.raises(ApiError, match="begin without 'after'"):
            listed(store, SessionPage(after=after), token=token.id)


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ({"search": "river"}, ["Rivers"]),
        ({"state": "planned"}, ["Rivers"]),
        ({"state": ["planned", "new"]}, ["Hills", "Rivers"]),
        ({"topology": "single"}, ["Rivers"]),
        ({"worker": ["nobody", "alpha"]}, ["Rivers"]),
        ({"tag": ["wet", "long"]}, ["Rivers"]),
        ({"tag": ["wet", "dry"]}, []),
        ({"since": 4e12}, []),
        ({"until": 1.5}, []),
        ({"most_tokens": 5}, []),
        ({"evaluated": True}, []),
        ({"limit": 1}, ["Hills"]),
    ],
)
def test_a_list_and_an_export_select_by_the_same_parameters(
    served: ServedApi, query: dict[str, Any], titles: list[str]
) -> None:
    store = served.bench.store
    store.sessions.delete(*store.sessions.ids())
    river = store.sessions.create("Where?", title="Rivers").id
    workflow = Workflow.of([Step(instruction="Look.", worker="alpha")])
    store.revisions.add(river, workflow, origin="human", note="By hand")
    store.sessions.add_tags([river], ["wet", "long"])
    store.sessions.create("Where?", title="Hills")
    page = request(served, "sessions", **query).json()
    assert [each["title"] for each in page["data"]] == titles
    assert page["has_more"] == ("limit" in query)
    assert all("snippet" in each for each in page["data"]) or "search" not in query
    if "limit" not in query:
        exported = request(served, "sessions/export", **query)
        assert int(exported.headers["content-length"]) == len(exported.content)
        preview = look_into(BytesIO(exported.content), workers=(), is_taken=lambda _: False)
        assert [each.title for each in preview.sessions] == titles


@pytest.mark.parametrize(
    ("path", "query", "param"),
    [
        ("sessions", {"limit": 0}, "limit"),
        ("sessions", {"limit": 101}, "limit"),
        ("sessions", {"state": ["new", "gone"]}, "state"),
        ("sessions", {"since": "yesterday"}, "since"),
        ("sessions", {"since": "nan"}, "since"),
        ("sessions", {"since": 2, "until": 1}, "until"),
        ("sessions", {"least_tokens": 2, "most_tokens": 1}, "most_tokens"),
        ("sessions", {"tag": ["a"] * 21}, "tag"),
        ("sessions", {"after": "gone"}, "after"),
        ("sessions", {"order": "asc"}, "order"),
        ("sessions/export", {"limit": 5}, "limit"),
    ],
)
def test_a_list_names_the_parameter_that_it_refuses(
    served: ServedApi, path: str, query: dict[str, Any], param: str
) -> None:
    refused = request(served, path, **query)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)


# -- one session -----------------------------------------------------------------------------------


def test_a_session_is_read_with_all_its_parts_and_its_file_can_be_imported(served: ServedApi) -> None:
    session = session_asking(served, "Which is it?")
    detail = request(served, f"sessions/{session}").json()
    assert (detail["id"], detail["object"], detail["answer"]) == (session, "session", "So.")
    assert [run["status"] for run in detail["runs"]] == ["finished"]
    assert detail["session"]["query"] == "Which is it?"
    exported = request(served, f"sessions/{session}/export")
    assert exported.headers["content-type"] == "application/jsonl"
    preview = look_into(BytesIO(exported.content), workers=(), is_taken=lambda _: False)
    assert [each.runs for each in preview.sessions] == [1]


def test_a_deleted_session_is_gone_until_the_app_restores_it(served: ServedApi) -> None:
    session = session_asking(served, "Which is it?")
    permanent = request(served, f"sessions/{session}", method="DELETE", permanent="true")
    assert (permanent.status_code, permanent.json()["error"]["param"]) == (400, "permanent")
    deleted = request(served, f"sessions/{session}", method="DELETE")
    assert deleted.json() == {"id": session, "object": "session.deleted", "deleted": True}
    for method, path in (("GET", session), ("GET", f"{session}/export"), ("DELETE", session)):
        answer = request(served, f"sessions/{path}", method=method)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "session_not_found")
    served.bench.store.sessions.restore(session)
    assert request(served, f"sessions/{session}").status_code == 200


def test_a_session_that_runs_is_not_deleted(served: ServedApi) -> None:
    store = served.bench.store
    session = served.bench.ask("Which is it?").id
    workflow = Workflow.of([Step(instruction="Look.", worker="alpha")])
    revision = store.revisions.add(session, workflow, origin="human", note="By hand")
    store.runs.start(run="going", session=session, revision=revision.id)
    refused = request(served, f"sessions/{session}", method="DELETE")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "session_busy")
    assert store.sessions.find(session).deleted_at is None
