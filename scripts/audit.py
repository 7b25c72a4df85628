"""Ask the package index for known vulnerabilities of everything in `requirements.lock`.

Ends with 1 if there is one. Where the index keeps no such database, or does not answer within three
minutes, it says SKIPPED and ends with 0: a skip is not a pass.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

LOCK = Path(__file__).resolve().parent.parent / "requirements.lock"
SECONDS = 180


def public(lock: str) -> str:
    """The lock with the public version of PyTorch, under which the database knows it."""
    return lock.replace("+cpu", "")


def verdict(report: str) -> tuple[str, int]:
    """What pip-audit's JSON comes to: a line to print, and the exit code."""
    found = json.loads(report)["dependencies"]
    known = [package for package in found if "skip_reason" not in package]
    bad = [
        f"{package['name']} {package['version']}: {', '.join(hole['id'] for hole in holes)}"
        for package in known
        if (holes := package["vulns"])
    ]
    if bad:
        return f"FAILED: known vulnerabilities: {'; '.join(bad)}", 1
    if not known:
        return f"SKIPPED: audit: the index has no such database ({len(found)} packages unasked)", 0
    unknown = len(found) - len(known)
    more = f"; SKIPPED: {unknown} packages it does not know" if unknown else ""
    return f"audit: no known vulnerability in {len(known)} packages{more}", 0


def main() -> int:
    """Run pip-audit on the lock file and print one line."""
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder, "requirements.txt")
        lock.write_text(public(LOCK.read_text()))
        command = [sys.executable, "-m", "pip_audit", "-r", str(lock), "--require-hashes"]
        command += ["--disable-pip", "--format", "json", "--progress-spinner", "off"]
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            print("SKIPPED: audit: the database does not answer in time")
            return 0
    if not run.stdout.startswith("{"):
        print("SKIPPED: audit: the database does not answer")
        print(run.stderr.strip()[-500:], file=sys.stderr)
        return 0
    line, code = verdict(run.stdout)
    print(line)
    return code


if __name__ == "__main__":
    sys.exit(main())
