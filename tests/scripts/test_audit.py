"""What the audit says of the reports that pip-audit writes."""

import json

import pytest

from scripts import audit

GOOD = {"name": "good", "version": "1.0", "vulns": []}
BAD = {"name": "bad", "version": "1.1", "vulns": [{"id": "CVE-1"}, {"id": "CVE-2"}]}
UNKNOWN = {"name": "new", "version": "0.1", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("found", "line", "code"),
    [
        ([GOOD], "audit: no known vulnerability in 1 packages", 0),
        ([GOOD, BAD, UNKNOWN], "FAILED: known vulnerabilities: bad 1.1: CVE-1, CVE-2", 1),
        ([UNKNOWN], "SKIPPED: audit: the index has no such database (1 packages unasked)", 0),
        (
            [GOOD, UNKNOWN],
            "audit: no known vulnerability in 1 packages; SKIPPED: 1 packages it does not know",
            0,
        ),
    ],
)
def test_verdict(found: list[dict[str, object]], line: str, code: int) -> None:
    assert audit.verdict(json.dumps({"dependencies": found})) == (line, code)


def test_torch_is_asked_for_under_its_public_version() -> None:
    assert "\ntorch==2" in audit.public(audit.LOCK.read_text())
    assert "+cpu" not in audit.public(audit.LOCK.read_text())
