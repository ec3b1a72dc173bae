"""The Kubernetes manifests: checked against the API's own schemas, and against each other.

KEDA's objects are no part of that API, so a schema of the fields that we use stands here.
"""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest
from tests.support.deploy_files import DEPLOY, MANIFESTS, documents, manifests, pods
from tests.support.servers import binaries as wheels
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.adapters.store.postgres.migrate import migrate
from feedmill.adapters.store.postgres.pool import Database
from feedmill.config import RunConfig, StoreConfig

FOLDER = DEPLOY / "kubernetes"
KUSTOMIZATION = FOLDER / "kustomization.yaml"
KEDA = FOLDER / "keda.yaml"
CORE = [path for path in MANIFESTS if path not in (KUSTOMIZATION, KEDA)]


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    pass


class _Meta(_Strict):
    name: str
    namespace: str
    labels: dict[str, str]


class _SecretRef(_Strict):
    parameter: str
    name: str
    key: str


class _Refs(_Strict):
    secretTargetRef: list[_SecretRef]  # noqa: N815 - KEDA's spelling, here and below


class _Authentication(_Strict, tag_field="kind", tag="TriggerAuthentication"):
    apiVersion: str  # noqa: N815
    metadata: _Meta
    spec: _Refs


class _Target(_Strict):
    name: str


class _Query(_Strict):
    query: str
    targetQueryValue: str  # noqa: N815 - a string, as KEDA wants it


class _Trigger(_Strict):
    type: str
    metricType: str  # noqa: N815
    metadata: _Query
    authenticationRef: _Target  # noqa: N815


class _Scaling(_Strict):
    scaleTargetRef: _Target  # noqa: N815
    minReplicaCount: int  # noqa: N815
    maxReplicaCount: int  # noqa: N815
    pollingInterval: int  # noqa: N815
    cooldownPeriod: int  # noqa: N815
    advanced: dict[str, dict[str, Any]]
    triggers: list[_Trigger]


class _ScaledObject(_Strict, tag_field="kind", tag="ScaledObject"):
    apiVersion: str  # noqa: N815
    metadata: _Meta
    spec: _Scaling


def _keda() -> tuple[_Authentication, _ScaledObject]:
    authentication, scaled = documents(KEDA)
    return (
        msgspec.convert(authentication, _Authentication),
        msgspec.convert(scaled, _ScaledObject),
    )


def _kind(kind: str) -> dict[str, Any]:
    return {d["metadata"]["name"]: d for _, d in manifests() if d["kind"] == kind}


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.name)
def test_the_api_takes_it(path: Path) -> None:
    program = wheels.script("kubernetes-validate", "kubernetes-validate")

    done = subprocess.run(
        [program, "--strict", path], capture_output=True, text=True, timeout=HANG_GUARD_SEC
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count(" passed ") == len(documents(path))


def test_the_kustomization_takes_in_every_file_but_the_example() -> None:
    listed = documents(KUSTOMIZATION)[0]["resources"]

    there = {path.name for path in MANIFESTS} - {"kustomization.yaml", "secret.example.yaml"}
    assert sorted(listed) == sorted(there)


def test_everything_lives_in_the_one_namespace() -> None:
    named = {
        document["metadata"].get("namespace", document["metadata"]["name"])
        for path, document in manifests()
        if path != KUSTOMIZATION
    }

    assert named == {"feedmill"}


@pytest.mark.parametrize("name", ["feedmill-worker", "feedmill-api", "feedmill-relay"])
def test_selectors_choose_the_pods_that_they_mean(name: str) -> None:
    deployment = _kind("Deployment")[name]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    others = [
        *(_kind("Service").get(name, {}).get("spec", {}).get("selector", {}),),
        _kind("PodDisruptionBudget")
        .get(name, {})
        .get("spec", {})
        .get("selector", {})
        .get("matchLabels", {}),
    ]

    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert all(chosen in ({}, labels) for chosen in others)
    assert labels["app.kubernetes.io/component"] == name.removeprefix("feedmill-")


@pytest.mark.parametrize("name", pods())
def test_every_pod_is_fenced_in(name: str) -> None:
    pod = pods()[name]
    container = pod["containers"][0]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"]["memory"]


@pytest.mark.parametrize("name", pods())
def test_no_pod_is_given_variables_that_only_look_like_settings(name: str) -> None:
    # A service called feedmill-api would become FEEDMILL_API_PORT, and an unknown setting is fatal.
    assert pods()[name]["enableServiceLinks"] is False


@pytest.mark.parametrize("name", pods())
def test_every_secret_that_a_pod_reads_is_in_the_example(name: str) -> None:
    pod = pods()[name]
    (mount,) = (m for m in pod["containers"][0]["volumeMounts"] if m["name"] == "secrets")
    (volume,) = (v for v in pod["volumes"] if v["name"] == "secrets")
    secret = documents(FOLDER / "secret.example.yaml")[0]
    settings = documents(FOLDER / "configmap.yaml")[0]["data"]
    files = [Path(value) for key, value in settings.items() if key.endswith("_FILE")]

    assert volume["secret"]["secretName"] == secret["metadata"]["name"]
    assert {str(file.parent) for file in files} == {mount["mountPath"]}
    assert {file.name for file in files} == set(secret["stringData"])


@pytest.mark.parametrize("name", ["feedmill-worker", "feedmill-api", "feedmill-relay"])
def test_a_pod_has_longer_to_start_and_to_end_than_the_mill_needs(name: str) -> None:
    pod = pods()[name]
    container = pod["containers"][0]
    startup = container["startupProbe"]
    pause = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)

    patience = startup["periodSeconds"] * startup["failureThreshold"]
    assert patience > StoreConfig().migrate_wait_sec
    assert pod["terminationGracePeriodSeconds"] > pause + RunConfig().drain_sec + 5


def test_keda_is_told_of_objects_that_exist() -> None:
    authentication, scaled = _keda()
    reference = authentication.spec.secretTargetRef[0]
    trigger = scaled.spec.triggers[0]

    assert scaled.apiVersion == authentication.apiVersion == "keda.sh/v1alpha1"
    assert scaled.spec.scaleTargetRef.name in _kind("Deployment")
    assert "replicas" not in _kind("Deployment")["feedmill-worker"]["spec"]
    assert trigger.type == "postgresql"
    assert trigger.authenticationRef.name == authentication.metadata.name
    assert reference.parameter == "connection"
    assert reference.key in _kind("Secret")[reference.name]["stringData"]


def test_one_worker_is_wanted_for_as_many_lanes_as_it_works_at_once() -> None:
    trigger = _keda()[1].spec.triggers[0]

    assert trigger.metricType == "AverageValue"
    assert int(trigger.metadata.targetQueryValue) == RunConfig().concurrency


def test_the_query_counts_lanes_that_are_due_or_worked_and_no_others(postgres_dsn: str) -> None:
    query = _keda()[1].spec.triggers[0].metadata.query
    hour = 3_600_000_000

    async def story() -> object:
        database = await Database.open(postgres_dsn, connections=1, timeout_sec=30)
        await migrate(database)
        await database.close()
        connection = await asyncpg.connect(postgres_dsn)
        try:
            await connection.executemany(
                "INSERT INTO lanes (shard, host, lane_key, claim_at, owner, gap_ms)"
                " VALUES (0, $1, $1, feedmill_now() + $2, $3, 1000)",
                [
                    ("due.example", -hour, None),
                    ("later.example", hour, None),
                    ("worked.example", hour, "worker-1"),
                    ("abandoned.example", -hour, "worker-2"),
                ],
            )
            return await connection.fetchval(query)
        finally:
            await connection.close()

    assert asyncio.run(story()) == 3
