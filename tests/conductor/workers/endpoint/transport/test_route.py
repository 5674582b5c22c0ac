"""The environment's proxies and certificates in the forms in which people write them."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from conductor.errors import PoolError
from conductor.workers.endpoint.transport.route import client_options, environment_checks, route_to, trusted

FAR = httpx.URL("https://api.example.test/v1")
CERTIFI = Path(__import__("certifi").where())


def setting(patch: pytest.MonkeyPatch, variables: str) -> None:
    """Set `NAME=VALUE | NAME=VALUE`; a value may have blanks."""
    for each in variables.split(" | "):
        patch.setenv(*each.split("=", 1))


PROXIES = {
    # environment: the proxy, its user and password ("" without)
    "HTTPS_PROXY=http://127.0.0.1:9": "http://127.0.0.1:9",
    "https_proxy=http://127.0.0.1:9/": "http://127.0.0.1:9",
    "HTTPS_PROXY=127.0.0.1:9": "http://127.0.0.1:9",  # curl
    "HTTPS_PROXY=proxy.corp": "http://proxy.corp",
    "ALL_PROXY=socks://127.0.0.1:7891/": "socks5://127.0.0.1:7891",  # GNOME, MoonshotAI/kimi-cli#996
    "ALL_PROXY=socks5://127.0.0.1:7891": "socks5://127.0.0.1:7891",  # Aider-AI/aider#3710
    "all_proxy=SOCKS5H://127.0.0.1:7891": "socks5h://127.0.0.1:7891",
    'HTTPS_PROXY="http://127.0.0.1:9"': "http://127.0.0.1:9",  # Docker's --env-file, HKUDS/nanobot#5425
    "HTTPS_PROXY='http://127.0.0.1:9'": "http://127.0.0.1:9",
    "HTTPS_PROXY= http://127.0.0.1:9 ": "http://127.0.0.1:9",
    "HTTPS_PROXY=http://[::1]:9": "http://[::1]:9",
    "HTTPS_PROXY=https://proxy.corp:8443": "https://proxy.corp:8443",
    "HTTPS_PROXY=http://user:p%40ss@127.0.0.1:9/": "http://127.0.0.1:9 user p@ss",
    "HTTPS_PROXY=http://user:pa ss@127.0.0.1:9/": "http://127.0.0.1:9 user pa ss",
    "HTTPS_PROXY=http://user:p@ss#1/2@127.0.0.1:9/": "http://127.0.0.1:9 user p@ss#1/2",
    "HTTPS_PROXY=user:pass@127.0.0.1:9": "http://127.0.0.1:9 user pass",
    "HTTPS_PROXY=http://DOMAIN\\user:pass@127.0.0.1:9": "http://127.0.0.1:9 DOMAIN\\user pass",
    "HTTPS_PROXY=http://us%20er:p%3Ass@127.0.0.1:9": "http://127.0.0.1:9 us er p:ss",
    "HTTPS_PROXY=http://127.0.0.1:09/path?x=1#y": "http://127.0.0.1:9",
    "HTTPS_PROXY=HTTP://127.0.0.1:9": "http://127.0.0.1:9",
    "HTTP_PROXY=http://127.0.0.1:9": None,  # for http alone
    "HTTPS_PROXY=": None,
    'HTTPS_PROXY=""': None,
    "https_proxy= | HTTPS_PROXY=http://127.0.0.1:9": None,  # curl, urllib: the small one is the person's
    "HTTPS_PROXY=http://127.0.0.1:9 | HTTP_PROXY=nosuch://x": "http://127.0.0.1:9",  # another scheme's fault
}


@pytest.mark.parametrize(("variables", "proxy"), PROXIES.items())
def test_a_proxy_is_read_in_every_form(
    monkeypatch: pytest.MonkeyPatch, variables: str, proxy: str | None
) -> None:
    setting(monkeypatch, variables)
    read = route_to(FAR).proxy
    expected = None if read is None else " ".join((str(read.url), *(read.auth or ())))
    assert expected == proxy
    assert route_to(httpx.URL("https://127.0.0.1:8000/v1")).proxy is None


FAULTY = (
    "ALL_PROXY=socks4://127.0.0.1:7891",
    "HTTPS_PROXY=ftp://127.0.0.1:9",
    "HTTPS_PROXY=http://127.0.0.1:99999/",
    "HTTPS_PROXY=http://127.0.0.1:0/",
    "HTTPS_PROXY=http://",
    "HTTPS_PROXY=http://[::1/",
    "HTTPS_PROXY=http://[::1]x:9/",
    "HTTPS_PROXY=http://proxy:port/",
    "HTTPS_PROXY=http://proxy.corp:8080;https=x",  # Windows' setting of several
    "HTTPS_PROXY=http://my proxy:8080",
    "HTTPS_PROXY=http://user:secret@",
    "HTTPS_PROXY=user:secret@host:x",
    "ALL_PROXY=user:secret://x@host:99999",
    "ALL_PROXY=gopher://user:secret@x@host:1",
    "HTTPS_PROXY=http//proxy:8080",
    "HTTPS_PROXY=http:\\\\proxy:8080",
    "HTTPS_PROXY=http:/proxy:8080",
    "HTTPS_PROXY=PROXY proxy:8080",  # a PAC file's answer
    "HTTPS_PROXY=pac+http://proxy/p.pac",  # GNOME
    "HTTPS_PROXY=http://a:1,http://b:2",
    "HTTPS_PROXY=\u201chttp://proxy:1\u201d",  # copied from a document
    "HTTPS_PROXY=http://proxy:8080;",
    "HTTPS_PROXY=$HTTP_PROXY",  # of a file whose variables nothing replaced
    "HTTPS_PROXY=http://user:secret@${PROXY_HOST}:8080",
    "HTTPS_PROXY=http://proxy\n:8080",
    "ALL_PROXY=socks4a://127.0.0.1:1080",
)


@pytest.mark.parametrize("variables", FAULTY)
def test_a_faulty_proxy_is_one_sentence_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, variables: str
) -> None:
    setting(monkeypatch, variables)
    with pytest.raises(PoolError, match=f"^{variables.partition('=')[0]} names no proxy") as raised:
        client_options(FAR)
    assert "secret" not in str(raised.value)
    well, sentence = environment_checks()["proxy"]
    assert (well, sentence) == (False, str(raised.value))
    for local in ("http://localhost:1/v1", "http://127.0.0.2:1", "http://[::1]:1", "http://0.0.0.0:8000"):
        assert client_options(httpx.URL(local))["proxy"] is None


DIRECTLY = {
    # NO_PROXY: the hosts that it names, and those that it does not
    "api.example.test": ("api.example.test www.api.example.test", "example.test xapi.example.test"),
    ".example.test": ("example.test api.example.test", "badexample.test"),
    "*.example.test,": ("api.example.test", "example.org"),
    ", ,a.test,,b.test": ("a.test b.test", "c.test"),
    "a.test b.test": ("a.test b.test", "c.test"),
    "<local>;a.test": ("server a.test", "b.test [fe80::1]"),  # Windows
    '"a.test,b.test"': ("a.test b.test", "c.test"),
    "*": ("a.test 10.0.0.1", ""),
    "localhost,127.0.0.1,[::1]": ("", "a.test"),  # encode/httpx#3574
    "fe80::/10,10.0.0.0/8": ("[fe80::1] 10.9.9.9", "[2001:db8::1] 11.0.0.1"),
    "192.168.*": ("192.168.7.7", "192.169.7.7"),
    "[2001:db8::1]:8443": ("[2001:db8::1]:8443", "[2001:db8::1]"),
    "2001:db8::1": ("[2001:db8::1]", "[2001:db8::2]"),
    "a.test:443 b.test:8443": ("a.test b.test:8443", "a.test:8443 b.test"),
    "https://a.test,http://b.test": ("a.test", "b.test"),  # httpx
    "A.Test.": ("a.test", "b.test"),
    "a.test|*.b.test": ("a.test x.b.test", "c.test"),  # Java's http.nonProxyHosts
    "http://b.test/,a.test/": ("a.test", "b.test c.test"),
    "a.test:*": ("a.test a.test:8443", "b.test"),
    "192.168.0.0/255.255.0.0": ("192.168.7.7", "192.169.0.1"),
    "::ffff:10.0.0.1,10.0.0.1/99": ("[::ffff:10.0.0.1]", "10.0.0.1"),
    "müller.test,host.docker.internal": ("müller.test host.docker.internal", "muller.test"),
    "[::1,[x]:99999999999999999999,%,:": ("", "a.test"),
}


@pytest.mark.parametrize(("exceptions", "hosts"), DIRECTLY.items())
def test_no_proxy_is_read_in_every_form(
    monkeypatch: pytest.MonkeyPatch, exceptions: str, hosts: tuple[str, str]
) -> None:
    setting(monkeypatch, f"HTTPS_PROXY=http://127.0.0.1:9 | NO_PROXY={exceptions}")
    for direct, names in zip((True, False), hosts, strict=True):
        for name in names.split():
            assert (route_to(httpx.URL(f"https://{name}/v1")).proxy is None) is direct, name


@pytest.mark.parametrize(
    ("variables", "fault"),
    [
        (
            "SSL_CERT_FILE=FOLDER/gone.pem",
            r"SSL_CERT_FILE \(.*\) cannot be used: No such file",
        ),  # kimi-cli#1959
        ("SSL_CERT_FILE=FOLDER", r"SSL_CERT_FILE \(.*\) cannot be used: Is a directory"),
        ("SSL_CERT_FILE=FOLDER/empty.pem", r"SSL_CERT_FILE \(.*\) cannot be used: it has no certificate"),
        ("SSL_CERT_FILE=FOLDER/text.pem", r"SSL_CERT_FILE \(.*\) cannot be used: it has no certificate"),
        ("SSL_CERT_DIR=FOLDER/gone", r"SSL_CERT_DIR \(.*\) cannot be used: it is no folder"),
        ("SSL_CERT_DIR=FOLDER", r"SSL_CERT_DIR \(.*\) cannot be used: it is no folder"),
        ("SSL_CERT_DIR=/a:/b", r"SSL_CERT_DIR \(.*\) cannot be used: it is no folder"),
        ("SSLKEYLOGFILE=FOLDER/gone/keys", r"SSLKEYLOGFILE \(.*\) cannot be used: No such file"),
        ("SSL_CERT_FILE=CERTIFI", ""),
        ('SSL_CERT_FILE="CERTIFI"', ""),
        ("SSL_CERT_FILE=CERTIFI | SSL_CERT_DIR=FOLDER/gone", ""),
        ("SSL_CERT_DIR=FOLDER/gone:FOLDER/hashed", ""),
        ("SSL_CERT_FILE= | SSL_CERT_DIR=", ""),
        ("REQUESTS_CA_BUNDLE=FOLDER/gone", ""),
    ],
)
def test_certificates_are_read_or_their_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variables: str, fault: str
) -> None:
    (tmp_path / "empty.pem").touch()
    (tmp_path / "text.pem").write_text("no certificate")
    (tmp_path / "hashed").mkdir()
    (tmp_path / "hashed/0a1b2c3d.0").touch()
    monkeypatch.delenv("SSL_CERT_DIR")
    setting(monkeypatch, variables.replace("FOLDER", str(tmp_path)).replace("CERTIFI", str(CERTIFI)))
    if fault:
        with pytest.raises(PoolError, match=fault):
            client_options(FAR)
    else:
        assert trusted() is trusted()
    assert environment_checks()["certificates"][0] is (not fault)
    assert client_options(httpx.URL("http://127.0.0.1:8000/v1"))["proxy"] is None


def test_the_checks_state_what_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment_checks()["proxy"] == (True, "http goes directly; https goes directly.")
    setting(monkeypatch, "HTTPS_PROXY=http://user:secret@proxy.corp:8080 | NO_PROXY=localhost,10.0.0.0/8")
    assert environment_checks()["proxy"] == (
        True,
        "http goes directly; https goes through the proxy proxy.corp:8080 of HTTPS_PROXY; NO_PROXY names "
        "localhost, 10.0.0.0/8.",
    )
