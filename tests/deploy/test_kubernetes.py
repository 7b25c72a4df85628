"""The Kubernetes manifests: valid to the letter of the API's schemas, and restricted."""

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
FILES = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
OBJECTS: list[dict[str, Any]] = [
    found for path in FILES for found in yaml.safe_load_all(path.read_text())
]
KINDS = {found["kind"]: found for found in OBJECTS}
POD = KINDS["Deployment"]["spec"]["template"]["spec"]


@pytest.mark.parametrize("version", ["1.30", "1.37"])
@pytest.mark.parametrize("found", OBJECTS, ids=lambda found: str(found["kind"]))
def test_the_schema_accepts_it_strictly(found: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(found, version, strict=True)


def test_the_check_sees_a_misplaced_field() -> None:
    wrong = {**KINDS["Service"], "spec": {**KINDS["Service"]["spec"], "readOnly": True}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, "1.37", strict=True)


def test_every_file_is_in_the_kustomization() -> None:
    listed = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())
    assert {DEPLOY / name for name in listed["resources"]} == set(FILES)
    sources = [line.partition("=")[2] for line in listed["configMapGenerator"][0]["files"]]
    assert all((DEPLOY / source).is_file() for source in sources)


@pytest.mark.parametrize("container", POD["containers"], ids=lambda found: str(found["name"]))
def test_pods_meet_the_restricted_standard(container: dict[str, Any]) -> None:
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert POD["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert POD["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert set(container["resources"]) == {"requests", "limits"}


def test_probes() -> None:
    app, nginx = POD["containers"]
    for probe in (app["startupProbe"], app["livenessProbe"]):
        assert "/_stcore/health" in probe["exec"]["command"][-1]
    assert nginx["readinessProbe"]["httpGet"]["path"] == "/_stcore/health"


def test_everything_points_at_the_same_pods() -> None:
    labels = KINDS["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert KINDS["Service"]["spec"]["selector"] == labels
    assert KINDS["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    assert KINDS["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    target = KINDS["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert target == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "attention-lab"}
    (rule,) = KINDS["Ingress"]["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert path["backend"]["service"]["name"] == KINDS["Service"]["metadata"]["name"]
    assert "replicas" not in KINDS["Deployment"]["spec"]


def test_nothing_leaves_a_pod() -> None:
    policy = KINDS["NetworkPolicy"]["spec"]
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    assert policy["egress"] == []
