"""The pool page's wiring: who is shown, what is tested, added, changed, removed, refused and undone."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from conductor.files.project_folder import own_pool_file
from conductor.workers.keys.hosts import hosts_file
from conductor.workers.pool.built_in import ORCHARD
from pages.components.tab import services
from pages.components.tab.state import plain
from tests.support.cases.tokenizer_cases import write_tokenizer
from tests.support.endpoints.fake_openai import FakeOpenAI, serving
from tests.support.runs.local_conductor import write_untrained
from tests.support.runs.waiting import until

pytestmark = pytest.mark.thorough

KEY = "sk-marked-0123456789"
HOSTILE = '<img src=x onerror="alert(1)"> **b** [l](http://a.b) $x$'

POOL = """\
# Ours.
[[worker]]
name = "alpha"
base_url = "http://127.0.0.1:9/v1"
model = "m-1"  # the small one
context = 8192
price_prompt = 0.15
price_completion = 0.6
concurrency = 2
fallback = "beta"

[[worker]]
kind = "simulated"
name = "beta"
strengths = "made-up words"
"""


@pytest.fixture(scope="module")
def fake():
    with serving(FakeOpenAI(models=("m-1",))) as served:
        yield served


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The pool file of this test's app."""
    path = tmp_path / "pool.toml"
    path.write_text(POOL, encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ALPHA_API_KEY", raising=False)
    return path


def texts(page):
    """Every text of the page, as it is read."""
    elements = (*page.markdown, *page.caption, *page.error, *page.warning, *page.info)
    return [re.sub(r"\\(.)", r"\1", str(element.value)).replace("\u2060", "") for element in elements]


def page_text(page):
    return "\n".join(texts(page))


def confirm_button(page):
    """The key of the button that allows sending a key to a host, or None."""
    return next((button.key for button in page.button if button.key.startswith("pool-confirm")), None)


def press(page, key):
    page.button(key=key).click().run()
    assert not page.exception
    return page


def examined(page):
    """The page once no worker is being tested."""
    probe = services.services().probe
    until(lambda: not probe.busy)
    return page.run()


def remove(page, name):
    [button] = [button for button in page.button if button.label == f"Remove {name}"]
    button.click().run()
    assert not page.exception
    return page


# -- what is shown -------------------------------------------------------------------------------------


def test_each_worker_is_shown_with_what_is_known_of_it(app, file):
    page = app("pool")
    assert not page.exception
    lines = texts(page)
    for value in (
        "**alpha**",
        "http://127.0.0.1:9/v1",
        "8,192",
        "0.15 in, 0.6 out",
        "2 at a time",
        "simulated, no model is called · made-up words",
        "not tested",
    ):
        assert value in lines
    assert f"{file} · 2 workers" in lines


def test_a_key_is_shown_as_set_or_missing_and_never_itself(app, file, monkeypatch):
    keyed = POOL.replace('model = "m-1"', 'model = "m-1"\napi_key_env = "ALPHA_API_KEY"')
    file.write_text(keyed, encoding="utf-8")
    page = app("pool")
    assert ":material/key_off: missing" in texts(page)
    assert ":material/error: cannot be used" in texts(page)
    assert ":material/error: beta answers instead of it: ALPHA_API_KEY is not set" in page_text(page)
    file.write_text(keyed.replace('fallback = "beta"', ""), encoding="utf-8")
    page.run()
    assert "It is not offered to the Conductor: ALPHA_API_KEY is not set" in page_text(page)
    assert any('ALPHA_API_KEY = "..."' in code.value for code in page.code)
    monkeypatch.setenv("ALPHA_API_KEY", KEY)
    file.write_text(f"{keyed}\n", encoding="utf-8")
    page.run()
    assert ":material/key_off: not confirmed" in texts(page)
    press(page, confirm_button(page))
    assert ":material/key: set" in texts(page)
    assert not page.error
    assert KEY not in page_text(page) + "".join(code.value for code in page.code)


def test_a_key_is_asked_about_before_it_is_sent_to_another_host(app, file, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("ALPHA_API_KEY", KEY)
    page = press(app("pool"), "pool-icon-change-0")
    fill(page, api_key_env="ALPHA_API_KEY")
    press(page, "pool-save")
    assert "**Send ALPHA_API_KEY to http://127.0.0.1:9?**" in page_text(page)
    assert "is not confirmed for http://127.0.0.1:9, so it is not sent there" in page_text(page)
    press(page, confirm_button(page))
    assert not confirm_button(page)
    assert "not confirmed" not in page_text(page)
    assert not services.workbench().pool.unusable
    press(page, "pool-icon-change-0")
    fill(page, base_url="https://api.example.com/v1")
    press(page, "pool-save")
    assert "**Send ALPHA_API_KEY to https://api.example.com?**" in page_text(page)
    assert ":material/key_off: not confirmed" in texts(page)
    hosts_file().chmod(0o666)
    page.run()
    assert not confirm_button(page)
    assert "is not yours alone" in page_text(page)


def test_the_workbench_asks_about_a_key_too_and_takes_one_click(app, file, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("ALPHA_API_KEY", KEY)
    file.write_text(POOL.replace('fallback = "beta"', 'api_key_env = "ALPHA_API_KEY"'), encoding="utf-8")
    page = app("workbench")
    assert "**Send ALPHA_API_KEY to http://127.0.0.1:9?**" in page_text(page)
    press(page, confirm_button(page))
    assert not confirm_button(page)
    assert "cannot be used" not in page_text(page)
    assert hosts_file().read_text(encoding="utf-8").startswith("ALPHA_API_KEY http://127.0.0.1:9 ")


def test_other_pages_name_the_workers_that_cannot_be_used(app, file):
    keyed = POOL.replace('fallback = "beta"', 'api_key_env = "ALPHA_API_KEY"')
    file.write_text(keyed, encoding="utf-8")
    assert "1 of 2 workers cannot be used: alpha." in page_text(app("workbench"))
    keyless = '[conductor]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\napi_key_env = "ALPHA_API_KEY"\n'
    file.write_text(keyless + POOL, encoding="utf-8")
    assert "The Conductor cannot plan." in page_text(app("workbench"))
    file.write_text(POOL, encoding="utf-8")
    assert "cannot be used" not in page_text(app("workbench"))


def test_the_built_in_pool_is_labelled_and_states_how_a_model_gets_in(app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = app("pool")
    assert not page.exception
    assert page.info[0].value.startswith("**Without a model of your own: simulated, no model is called.**")
    assert "connect an endpoint" in page.info[0].value
    assert "**calculator**" in texts(page)
    assert not [button for button in page.button if button.key.startswith("pool-icon-remove")]


def test_the_orchard_is_chosen_with_one_click_and_a_worker_is_added_beside_it(app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = press(app("pool"), "found-use-orchard")
    assert own_pool_file().read_text(encoding="utf-8") == ORCHARD
    assert services.workbench().pool.names[:2] == ("facts", "letters")
    assert services.workbench().conductor.card.kind == "embedded"
    assert "6 workers · simulated workers; the Conductor is a small model on this machine" in page_text(page)
    assert "Conductor, a small model in this program, trained in a small world" in page_text(page)
    press(page, "pool-add")
    fill(page, name="gamma", model="m", base_url="http://127.0.0.1:9/v1")
    press(page, "pool-save")
    assert [button.label for button in page.button if button.label.startswith("Remove")] == [
        "Remove orchard",
        "Remove gamma",
    ]
    remove(page, "gamma")
    assert len(services.workbench().pool.names) == 6


def test_a_built_in_set_chosen_by_its_name_is_shown_without_buttons(app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONDUCTOR_POOL", "orchard")
    page = app("pool")
    assert not page.exception
    assert "The built-in set orchard · 6 workers · simulated workers; the Conductor is" in page_text(page)
    assert "**letters**" in texts(page)
    assert not page.error
    assert not [button for button in page.button if button.key.startswith("pool-")]


def test_a_simulated_pool_is_labelled(app, file):
    file.write_text(POOL[POOL.index("[[worker]]\nkind") :], encoding="utf-8")
    assert "simulated, no model is called" in app("pool").caption[0].value


def test_names_are_shown_letter_for_letter(app, file):
    file.write_text(
        f"[[worker]]\nkind = 'simulated'\nname = '{HOSTILE}'\nstrengths = '{HOSTILE}'\n", encoding="utf-8"
    )
    page = app("pool")
    assert f"**{HOSTILE}**" in texts(page)
    assert f"**{plain(HOSTILE, limit=120)}**" in [element.value for element in page.markdown]


def test_long_pools_are_cut_into_pages(app, file):
    file.write_text(
        "".join(f"[[worker]]\nkind = 'simulated'\nname = 'w{n}'\n" for n in range(21)), encoding="utf-8"
    )
    page = app("pool")
    assert not page.exception
    assert len([button for button in page.button if button.key.startswith("pool-icon-test")]) == 20


# -- a file that cannot be used ------------------------------------------------------------------------


def test_a_wrong_file_opens_the_page_at_the_fault_and_is_fixed_there(app, file):
    wrong = POOL + f'api_key = "{KEY}"\n'
    file.write_text(wrong, encoding="utf-8")
    page = app("pool")
    assert not page.exception
    assert f"{file}, line 16: worker 2, api_key: unknown key" in page_text(page)
    assert '> 16 | api_key = "***"' in page.code[0].value
    box = page.text_area[0]
    assert KEY not in box.value
    box.set_value(box.value.replace('api_key = "***"\n', "seed = x\n"))
    press(page, "pool-text-save")
    assert "is not valid TOML" in page.error[-1].value
    assert file.read_text(encoding="utf-8") == wrong
    page.text_area[0].set_value(POOL)
    press(page, "pool-text-save")
    assert not page.error
    assert file.read_text(encoding="utf-8") == POOL
    assert "**alpha**" in texts(page)


def test_a_mask_is_not_saved_for_the_key_behind_it(app, file):
    file.write_text(
        POOL.replace("concurrency = 2", "concurrency = 2\nextra = { key = 'abc' }"), encoding="utf-8"
    )
    page = app("pool")
    page.text_area[0].set_value(page.text_area[0].value.replace("m-1", "m-2"))
    press(page, "pool-text-save")
    assert "Line 10 has what looks like a key" in page.error[-1].value
    assert "abc" in file.read_text(encoding="utf-8")


OTHER = """
[[worker]]
kind = "mine"
name = "gamma"
words = ["a", "b"]  # a list
"""
CODE = """
from conductor.workers.pool.table import WorkerTable
from conductor.workers.simulated import SimulatedWorker

class Mine(WorkerTable):
    words: tuple[str, ...]
    def build(self):
        return SimulatedWorker(self.name)
"""


def test_a_worker_of_an_installed_package_is_shown_and_left_as_it_is(app, file, install):
    install("my-kind", {"conductor.workers": {"mine": "my_kind:Mine"}}, code=CODE)
    file.write_text(POOL + OTHER, encoding="utf-8")
    page = app("pool")
    assert "**gamma**" in texts(page)
    press(page, "pool-icon-change-2")
    assert any("The kind **mine** comes from an installed package" in text for text in texts(page))
    assert "pool-save" not in {button.key for button in page.button}
    press(page, "pool-form-cancel")
    press(page, "pool-icon-change-1")
    page.text_input(key="pool-2-strengths").set_value("other words")
    press(page, "pool-save")
    assert file.read_text(encoding="utf-8") == (POOL + OTHER).replace("made-up words", "other words")


def test_what_was_typed_is_kept_where_another_person_changed_the_file(app, file):
    page = app("pool")
    page.text_area[0].set_value(POOL.replace("m-1", "m-2")).run()
    theirs = POOL.replace("8192", "4096")
    file.write_text(theirs, encoding="utf-8")
    press(page, "pool-text-save")
    assert "changed by someone else" in page.error[0].value
    assert file.read_text(encoding="utf-8") == theirs
    assert "m-2" in page.text_area[0].value
    press(page, "pool-text-reset")
    assert page.text_area[0].value == theirs


@pytest.mark.parametrize("name", ["workbench", "sessions"])
def test_the_other_pages_state_what_is_wrong_and_lead_to_the_pool_page(app, file, name):
    file.write_text("[[worker]]\n", encoding="utf-8")
    page = app(name)
    assert not page.exception
    assert f"{file}, line 1: worker 1, kind: needs kind" in page_text(page)
    links = [link.proto.page for link in page.get("page_link")]
    assert "pool" in links


def test_a_file_that_goes_wrong_leaves_the_pool_as_it_was_and_states_it(app, file):
    page = app()
    assert not page.warning
    file.write_text(POOL + "speed = 3\n", encoding="utf-8")
    page.run()
    assert not page.exception
    assert len(page.warning) == 1
    assert (
        "line 16: worker 2, speed: unknown key. Did you mean seed? "
        "Until that is fixed, the previous pool stays in use." in page_text(page)
    )
    assert services.workbench().pool.names == ("alpha", "beta")


def test_a_named_file_that_does_not_exist_can_be_made(app, file):
    file.unlink()
    page = app("pool")
    assert not page.exception
    assert page.error[0].value.startswith("There is no pool file at ")
    press(page, "pool-add")
    fill(page, name="new", model="m", base_url="http://h/v1")
    press(page, "pool-save")
    assert (
        file.read_text(encoding="utf-8")
        == '[[worker]]\nname = "new"\nmodel = "m"\nbase_url = "http://h/v1"\n'
    )
    assert services.workbench().pool.names == ("new",)


# -- an endpoint ---------------------------------------------------------------------------------------


def connect(page, **typed):
    """The dialog after its models were asked for; `typed` by field."""
    press(page, "pool-connect")
    for name, text in typed.items():
        page.text_input(key=f"connect-1-{name}").set_value(text)
    return press(page, "connect-list")


def test_the_models_of_an_endpoint_become_workers_with_one_key_that_is_in_no_text(app, file):
    with serving(FakeOpenAI(models=("m-1", "m-2", "embed-3"), key=KEY, lists_faults=False)) as served:
        page = connect(app("pool"), url=served.base_url, secret=KEY, variable="OURS_API_KEY")
        assert page.multiselect(key="connect-1-models").options == ["m-1", "m-2"]
        page.multiselect(key="connect-1-models").set_value(["m-2"])
        page.selectbox(key="connect-1-planner").set_value("m-1")
        press(page, "connect-add")
        page = examined(page)
        assert ":material/check_circle: answers" in texts(page)
    text = file.read_text(encoding="utf-8")
    assert KEY not in text + page_text(page)
    assert services.workbench().pool.names == ("alpha", "beta", "m-2")
    assert services.workbench().conductor.card.model == "m-1"
    assert "OURS_API_KEY" in hosts_file().read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({}, "Enter the URL"),
        ({"url": "nowhere"}, "The URL: "),
        ({"url": "http://127.0.0.1:9/v1"}, "127.0.0.1:9"),
        ({"url": "http://127.0.0.1:9/v1", "secret": "short"}, "This is not a key"),
        ({"url": "http://127.0.0.1:9/v1", "secret": KEY, "variable": "a b"}, "Name of the key: "),
    ],
)
def test_an_address_that_lists_no_models_is_named_and_nothing_is_written(app, file, typed, message):
    page = connect(app("pool"), **typed)
    assert message in page_text(page)
    assert file.read_text(encoding="utf-8") == POOL
    assert KEY not in page_text(page)


def test_a_key_that_the_endpoint_refuses_is_not_kept(app, file, tmp_path):
    key = "sk-another-0123456789"
    with serving(FakeOpenAI(models=("m-1",), key=KEY, lists_faults=False)) as served:
        page = connect(app("pool"), url=served.base_url, secret=key, variable="OURS_API_KEY")
    assert "the key was not stored" in page_text(page)
    secrets = tmp_path / ".streamlit" / "secrets.toml"
    assert not secrets.exists() or key not in secrets.read_text(encoding="utf-8")


# -- tests ---------------------------------------------------------------------------------------------


def test_a_worker_is_tested_and_its_health_shown(app, file, fake):
    file.write_text(POOL.replace("http://127.0.0.1:9/v1", fake.base_url), encoding="utf-8")
    page = examined(press(app("pool"), "pool-icon-test-0"))
    lines = texts(page)
    assert ":material/check_circle: answers" in lines
    assert any(text.endswith("to the first token") for text in lines)
    assert lines.count("not tested") == 1


def test_all_are_tested_and_what_is_wrong_is_stated_under_its_row(app, file):
    page = examined(press(app("pool"), "pool-test-all"))
    lines = texts(page)
    assert ":material/error: not reachable" in lines
    assert ":material/check_circle: answers" in lines
    assert any("start the server there, or correct base_url" in text for text in lines)


def test_a_test_under_way_is_shown_and_can_be_stopped(app, file):
    file.write_text("[[worker]]\nkind = 'simulated'\nname = 'slow'\nlatency = 60\n", encoding="utf-8")
    page = press(app("pool"), "pool-test-all")
    assert any(text.startswith(":material/progress_activity:") for text in texts(page))
    assert page.button(key="pool-icon-test-0").disabled
    press(page, "pool-stop")
    assert "not tested" in texts(examined(page))


def test_another_endpoint_has_not_been_tested(app, file):
    page = examined(press(app("pool"), "pool-icon-test-0"))
    assert ":material/error: not reachable" in texts(page)
    file.write_text(POOL.replace("127.0.0.1:9", "127.0.0.1:19"), encoding="utf-8")
    page.run()
    assert texts(page).count("not tested") == 2


# -- the form ------------------------------------------------------------------------------------------


def field(page, key):
    """A field of the open form."""
    [match] = [
        element
        for element in (
            *page.text_input,
            *page.number_input,
            *page.selectbox,
            *page.text_area,
            *page.checkbox,
        )
        if str(element.key).startswith("pool-") and str(element.key).endswith(f"-{key}")
    ]
    return match


def fill(page, **values):
    for key, value in values.items():
        field(page, key).set_value(value)
    return page


@pytest.mark.usefixtures("file")
def test_what_is_missing_is_stated_at_its_field(app):
    page = press(press(app("pool"), "pool-add"), "pool-save")
    text = page_text(page)
    for message in (
        "Enter the name",
        "Enter the model",
        "Enter the URL where the model is served",
    ):
        assert message in text
    assert "required" not in text
    assert "Not saved. Check: Name, Model, Base URL." in page_text(page)


def test_a_worker_of_programs_is_added_once_code_is_allowed(app, file):
    page = press(app("pool"), "pool-add")
    page.segmented_control[0].set_value("python").run()
    press(fill(page, name="runs"), "pool-save")
    assert "allow_code = true allows it" in page_text(page)
    press(fill(page, allow_code=True), "pool-save")
    assert 'kind = "python"\nname = "runs"\nallow_code = true\n' in file.read_text(encoding="utf-8")
    assert services.workbench().pool.cards["runs"].kind == "offline"


def test_a_worker_is_added_and_the_app_uses_it_at_once(app, file):
    page = press(app("pool"), "pool-add")
    fill(page, name="gamma", model="m-2", base_url="http://127.0.0.1:9/v1", context=4096, extra="top_k = 40")
    press(page, "pool-save")
    added = (
        '\n[[worker]]\nname = "gamma"\nmodel = "m-2"\nbase_url = "http://127.0.0.1:9/v1"\ncontext = 4096\n'
    )
    assert file.read_text(encoding="utf-8") == f"{POOL}{added}extra = {{top_k = 40}}\n"
    assert services.workbench().pool.names == ("alpha", "beta", "gamma")
    assert ":material/check: gamma was added." in texts(page)
    assert not page.get("dialog")


def test_a_worker_is_changed_and_the_rest_of_the_file_stays(app, file):
    page = press(app("pool"), "pool-icon-change-0")
    assert (field(page, "name").value, field(page, "context").value) == ("alpha", 8192)
    assert field(page, "fallback").value == "beta"
    fill(page, context=None, max_tokens=512)
    press(page, "pool-save")
    assert file.read_text(encoding="utf-8") == POOL.replace("context = 8192\n", "").replace(
        'fallback = "beta"\n', 'fallback = "beta"\nmax_tokens = 512\n'
    )


def test_what_is_wrong_is_stated_beside_its_field_and_nothing_is_written(app, file):
    page = press(app("pool"), "pool-icon-change-0")
    fill(page, base_url="nowhere", api_key_env=KEY, temperature=3.0, extra="top_k: 40")
    press(page, "pool-save")
    text = page_text(page)
    for message in (
        "Write a whole URL, like",
        "Write the name of an environment variable",
        "Input should be less than or equal to 2",
        "Write lines like top",
    ):
        assert message in text
    assert "Not saved. Check: Base URL, Key variable, Temperature, Extra parameters." in text
    assert KEY not in text
    assert file.read_text(encoding="utf-8") == POOL
    fill(page, base_url="http://127.0.0.1:9/v1", api_key_env="", temperature=1.5, extra="", name="beta")
    press(page, "pool-save")
    assert "A second worker is named 'beta'" in page_text(page)
    fill(page, name="first")
    press(page, "pool-save")
    assert 'name = "first"' in file.read_text(encoding="utf-8")


def test_a_tokenizer_is_named_and_what_is_wrong_with_it_is_stated_beside_its_field(app, file):
    page = press(app("pool"), "pool-icon-change-0")
    fill(page, tokenizer="models/m-1.json")
    press(page, "pool-save")
    assert "cannot be read: No such file or directory. Download the model's tokenizer.json" in page_text(page)
    assert "Not saved. Check: Tokenizer." in page_text(page)
    write_tokenizer(file.parent / "models" / "m-1.json")
    press(page, "pool-save")
    assert 'tokenizer = "models/m-1.json"\n' in file.read_text(encoding="utf-8")
    card = services.workbench().pool.cards["alpha"]
    assert card.tokenizer == str(file.parent / "models" / "m-1.json")


def test_a_service_fills_in_its_address_and_the_name_of_its_key(app, file):
    page = press(app("pool"), "pool-add")
    field(page, "service").select_index(0).run()
    assert field(page, "base_url").value == "https://api.openai.com/v1"
    assert field(page, "api_key_env").value == "OPENAI_API_KEY"


def test_the_first_worker_may_stand_beside_a_calculator(app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = press(app("pool"), "pool-add")
    fill(page, name="new", model="m", base_url="http://127.0.0.1:9/v1")
    field(page, "add-calculator").check()
    press(page, "pool-save")
    assert services.workbench().pool.names == ("new", "calculator")
    assert own_pool_file().exists()


def test_a_conductor_in_this_program_is_added_tested_and_changed(app, file, tmp_path):
    write_untrained(tmp_path / "small")
    page = press(app("pool"), "pool-add-conductor")
    page.segmented_control[0].set_value("local").run()
    fill(page, name="tiny", model="elsewhere")
    press(page, "pool-save")
    assert "elsewhere is not a folder" in page_text(page)
    fill(page, model="small")
    press(page, "pool-save")
    assert file.read_text(encoding="utf-8").endswith(POOL.removeprefix("# Ours.\n"))
    assert '[conductor]\nkind = "local"\nname = "tiny"\nmodel = "small"' in file.read_text(encoding="utf-8")
    assert services.workbench().conductor.card.name == "tiny"
    assert "in this program" in page_text(page)
    press(page, "pool-icon-test-0")
    assert "answers" in page_text(examined(page))
    press(page, "pool-icon-change-0")
    fill(page, temperature=0.5)
    press(page, "pool-save")
    assert "temperature = 0.5" in file.read_text(encoding="utf-8")


def test_a_conductor_is_added_changed_and_removed(app, file):
    page = press(app("pool"), "pool-add-conductor")
    fill(page, base_url="http://127.0.0.1:9/v1", model="planner", dialect="binary")
    press(page, "pool-save")
    assert services.workbench().conductor.card.model == "planner"
    assert "pool-add-conductor" not in [button.key for button in page.button]
    press(page, "pool-icon-change-0")
    fill(page, model="planner-2")
    press(page, "pool-save")
    assert services.workbench().conductor.card.model == "planner-2"
    remove(page, "conductor")
    assert services.workbench().conductor.card.kind == "offline"
    assert file.read_text(encoding="utf-8") == POOL


def test_a_removed_worker_comes_back_by_undo(app, file):
    file.write_text(POOL.replace('fallback = "beta"\n', ""), encoding="utf-8")
    before = file.read_text(encoding="utf-8")
    page = remove(app("pool"), "beta")
    assert services.workbench().pool.names == ("alpha",)
    assert ":material/check: beta was removed." in texts(page)
    press(page, "pool-undo")
    assert file.read_text(encoding="utf-8") == before
    assert "pool-undo" not in [button.key for button in page.button]


def test_who_is_needed_cannot_be_removed(app, file):
    page = remove(app("pool"), "beta")
    assert file.read_text(encoding="utf-8") == POOL
    assert re.search("beta was not removed: .*there is no worker named 'beta'", page_text(page))


def test_without_the_last_worker_the_built_in_set_answers_and_each_set_leads_to_the_other(
    app, file, monkeypatch
):
    now = [100.0]
    monkeypatch.setattr("pages.components.tab.state.time", SimpleNamespace(monotonic=lambda: now[0]))
    file.write_text(POOL[POOL.index("[[worker]]\nkind") :], encoding="utf-8")
    page = app("pool")
    assert not [button for button in page.button if button.key in ("found-use-orchard", "found-use-built-in")]
    remove(page, "beta")
    assert file.read_text(encoding="utf-8").strip() == 'workers = "built-in"'
    assert ":material/check: beta was removed. The built-in workers are in use now." in texts(page)
    press(page, "found-use-orchard")
    assert file.read_text(encoding="utf-8") == ORCHARD
    press(page, "found-use-built-in")
    assert file.read_text(encoding="utf-8") == ORCHARD, "the second press of a double click"
    now[0] += 2.0
    press(page, "found-use-built-in")
    assert file.read_text(encoding="utf-8") == 'workers = "built-in"\n'


def test_a_form_goes_on_with_the_same_worker_of_a_file_that_was_changed_meanwhile(app, file):
    page = press(app("pool"), "pool-icon-change-0")
    theirs = "[[worker]]\nkind = 'simulated'\nname = 'zero'\n\n" + POOL
    file.write_text(theirs, encoding="utf-8")
    fill(page, context=4096)
    press(page, "pool-save")
    assert "changed by someone else" in page_text(page)
    assert file.read_text(encoding="utf-8") == theirs
    press(page, "pool-save")
    assert file.read_text(encoding="utf-8") == theirs.replace("8192", "4096")


def test_a_form_does_not_overwrite_another_change_of_the_same_worker(app, file):
    page = press(app("pool"), "pool-icon-change-0")
    theirs = POOL.replace("8192", "1024")
    file.write_text(theirs, encoding="utf-8")
    fill(page, context=4096)
    for _ in range(2):
        press(page, "pool-save")
        assert "changed by someone else" in page_text(page)
    assert file.read_text(encoding="utf-8") == theirs


def test_cancel_closes_the_form(app, file):
    page = press(press(app("pool"), "pool-icon-change-0"), "pool-form-cancel")
    assert "pool-save" not in [button.key for button in page.button]
    assert file.read_text(encoding="utf-8") == POOL
