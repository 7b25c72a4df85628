"""The Compose files and the image: who may do what, and that the versions agree."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from attention_lab.config import Limits

ROOT = Path(__file__).resolve().parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def services(file: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / file).read_text())["services"]
    return found


SERVICES = [
    (file, name)
    for file in ("compose.yaml", "deploy/replicas/compose.yaml")
    for name in services(file)
]


@pytest.mark.parametrize(("file", "name"), SERVICES)
def test_every_service_is_restricted(file: str, name: str) -> None:
    service = services(file)[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")
    assert service["mem_limit"]
    assert service["pids_limit"]
    assert service["logging"]["options"]["max-size"]


def test_only_nginx_is_open_to_outside_the_replicas() -> None:
    found = services("deploy/replicas/compose.yaml")
    assert [name for name, service in found.items() if "ports" in service] == ["nginx"]
    assert found["nginx"]["user"] != "0"


def test_the_replicas_are_those_that_nginx_knows() -> None:
    found = services("deploy/replicas/compose.yaml")
    text = (ROOT / "deploy" / "nginx" / "replicas.conf").read_text()
    apps = {name for name in found if name != "nginx"}
    assert set(re.findall(r"server (\w+):8501", text)) == apps
    for name in apps:
        last = found[name]["networks"]["inside"]["ipv4_address"].rpartition(".")[2]
        assert rf'"~\.{last}:8501$" {name};' in text
    secrets = {found[name]["environment"]["STREAMLIT_SERVER_COOKIE_SECRET"] for name in apps}
    assert len(secrets) == 1


def test_every_limit_is_passed_on_by_both() -> None:
    one = services("compose.yaml")["app"]["environment"]
    many = services("deploy/replicas/compose.yaml")["app1"]["environment"]
    assert set(one) == set(many) - {"STREAMLIT_SERVER_COOKIE_SECRET"}
    limits = {f"ATTENTION_LAB_{field.name.upper()}" for field in fields(Limits)}
    assert set(one) == limits | {"STREAMLIT_SERVER_ALLOWED_HOSTS"}


def test_versions_agree() -> None:
    assert f'image.version="{VERSION}"' in DOCKERFILE
    kustomization = yaml.safe_load((ROOT / "deploy" / "kustomization.yaml").read_text())
    assert kustomization["images"] == [{"name": "attention-lab", "newTag": VERSION}]
    pods = (ROOT / "deploy" / "kubernetes" / "deployment.yaml").read_text()
    nginx = services("deploy/replicas/compose.yaml")["nginx"]["image"]
    assert f"image: {nginx}\n" in pods


def test_every_base_is_pinned_and_the_same() -> None:
    bases = set(re.findall(r"^FROM (\S+:\S+)", DOCKERFILE, re.MULTILINE))
    (base,) = bases
    assert re.fullmatch(r"python:3\.11\.\d+-slim-\w+(@sha256:[0-9a-f]{64})?", base)


def test_the_image_holds_only_what_is_allowed_in() -> None:
    first, *rest = [
        line for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] != "#"
    ]
    assert first == "*"
    copied = {
        word
        for line in re.findall(r"^COPY (?!--)(.*?)(?<!\\)\n", DOCKERFILE, re.S | re.M)
        for word in line.replace("\\", " ").split()[:-1]
        if word != "."
    }
    allowed = tuple(line.removeprefix("!") for line in rest if line.startswith("!"))
    assert copied
    assert [path for path in copied if not path.startswith(allowed)] == []
