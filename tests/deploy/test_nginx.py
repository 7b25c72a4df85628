"""nginx's files: their grammar, the scripts that the policy lets run, what is logged and closed."""

import base64
import hashlib
import re
from pathlib import Path

import crossplane
import pytest
import streamlit

from attention_lab.ui import look

ROOT = Path(__file__).resolve().parents[2]
NGINX = ROOT / "deploy" / "nginx"
APP = (NGINX / "app.conf").read_text()


@pytest.mark.parametrize("name", ["replicas.conf", "sidecar.conf"])
def test_the_grammar_is_nginx_own(name: str) -> None:
    """Blocks, and every directive in its place with its arguments."""
    parsed = crossplane.parse(str(NGINX / name))  # strict mode takes a map's values for directives
    assert parsed["status"] == "ok", parsed["errors"]
    assert {Path(file["file"]).name for file in parsed["config"]} == {name, "http.conf", "app.conf"}


@pytest.mark.parametrize("name", ["replicas.conf", "sidecar.conf"])
def test_requests_are_in_no_log(name: str) -> None:
    text = (NGINX / name).read_text() + (NGINX / "http.conf").read_text() + APP
    assert re.findall(r"error_log (.*);", text) == ["/dev/stderr emerg"]
    (logged,) = re.findall(r"log_format \w+ (.*?);", text, re.DOTALL)
    words = set(re.findall(r"\$(\w+)", logged))
    assert "uri" in words
    assert not words & {"request", "request_uri", "args", "query_string", "http_referer"}
    assert set(re.findall(r"access_log (.*);", text)) == {"/dev/stdout no_text", "off"}


def test_the_policy_names_the_scripts_that_are_not_files() -> None:
    """If this fails, put the new hash into deploy/nginx/app.conf."""
    index = Path(streamlit.__file__).parent / "static" / "index.html"
    scripts = re.findall(r"<script>(.*?)</script>", index.read_text("utf-8"), re.DOTALL)
    scripts.append(look.SCRIPT)
    expected = {base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts}
    assert set(re.findall(r"'sha256-(\S+)'", APP)) == expected


def test_the_policy_allows_nothing_from_elsewhere() -> None:
    (policy,) = re.findall(r'Content-Security-Policy "(.*?)"', APP)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'self'"
    assert "unsafe" not in rules["script-src"]
    assert not re.search(r"https?:|wss?:|\*", policy)


def test_headers_are_set_once_so_that_every_location_has_them() -> None:
    before, _, locations = APP.partition("location / {")
    assert before.count("add_header") == 8
    assert "add_header" not in locations  # one there would drop all of these


def test_uploads_are_closed_as_long_as_no_page_takes_one() -> None:
    sources = [*ROOT.glob("pages/*.py"), *ROOT.glob("attention_lab/ui/*.py"), ROOT / "app.py"]
    takes = any("file_uploader(" in path.read_text("utf-8") for path in sources)
    assert takes == ("location /_stcore/upload_file/" in APP)
