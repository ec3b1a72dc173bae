"""The deployment files as values: documents, commands, variables, secrets."""

import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.interfaces.cli.main import cli

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = (DEPLOY / "compose.yaml", DEPLOY / "compose.cluster.yaml")
MANIFESTS = tuple(sorted((DEPLOY / "kubernetes").glob("*.yaml")))
UNITS = tuple(sorted((DEPLOY / "systemd").glob("*.service")))


def documents(path: Path) -> list[Any]:
    """Every document of a YAML file, aliases followed."""
    pieces = re.split(r"^---$", path.read_text("utf-8"), flags=re.MULTILINE)
    return [msgspec.yaml.decode(piece) for piece in pieces]


def manifests() -> Iterator[tuple[Path, Any]]:
    """Every Kubernetes object with its file."""
    for path in MANIFESTS:
        yield from ((path, document) for document in documents(path))


def pods() -> dict[str, Any]:
    """The pod of each Deployment and Job, by the name of that."""
    return {
        document["metadata"]["name"]: document["spec"]["template"]["spec"]
        for _, document in manifests()
        if document["kind"] in ("Deployment", "Job")
    }


def services(path: Path) -> dict[str, Any]:
    """The services of a compose file, `<<` followed as compose follows it."""
    return {name: _merged(service) for name, service in documents(path)[0]["services"].items()}


def unit(path: Path) -> dict[str, list[str]]:
    """What a systemd unit says, by its key; a key may come several times."""
    said: dict[str, list[str]] = {}
    for line in path.read_text("utf-8").splitlines():
        if line and line[0] not in "#[":
            key, _, value = line.partition("=")
            said.setdefault(key, []).append(value)
    return said


def instruction(word: str) -> list[str]:
    """What the last stage of the Dockerfile says after a word."""
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    stage = re.split(r"^FROM ", text, flags=re.MULTILINE)[-1]
    lines = [line.strip() for line in stage.splitlines()]
    return [line.removeprefix(f"{word} ").strip() for line in lines if line.startswith(f"{word} ")]


def image_variables() -> dict[str, str]:
    """What every container finds in its environment."""
    pairs = [pair.partition("=") for line in instruction("ENV") for pair in shlex.split(line)]
    return {name: value for name, _, value in pairs}


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every feedmill command that a file runs, with where it stands."""
    yield "Dockerfile CMD", msgspec.json.decode(instruction("CMD")[0], type=list[str])
    check = instruction("HEALTHCHECK")[0].partition("CMD ")[2]
    yield "Dockerfile HEALTHCHECK", msgspec.json.decode(check, type=list[str])[1:]
    for path in COMPOSE:
        for name, service in services(path).items():
            if "build" in service:
                yield f"{path.name} {name}", service["command"]
                test = service.get("healthcheck", {}).get("test", ["CMD", "feedmill", "run"])
                yield f"{path.name} {name} healthcheck", test[2:]
    for name, pod in pods().items():
        yield f"kubernetes {name}", pod["containers"][0]["args"]
    for path in UNITS:
        yield path.name, shlex.split(unit(path)["ExecStart"][0])[1:]


def parses(arguments: list[str]) -> click.Command:
    """The command that these arguments lead to; click says what is wrong with them otherwise."""
    name, *rest = arguments
    context = click.Context(cli)
    command = cli.get_command(context, name)
    if command is None:
        message = f"there is no command {name!r}"
        raise click.UsageError(message)
    command.make_context(name, list(rest), parent=context, resilient_parsing=False)
    return command


def variables(secrets: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The environment of everything that runs feedmill; its secrets are those in a folder."""
    image = image_variables()
    yield "Dockerfile", image
    for path in COMPOSE:
        for name, service in services(path).items():
            if "build" in service:
                given = {**image, **_merged(service["environment"])}
                yield f"{path.name} {name}", _here(given, secrets)
    shared = next(d["data"] for _, d in manifests() if d["kind"] == "ConfigMap")
    for name, pod in pods().items():
        own = {one["name"]: one["value"] for one in pod["containers"][0].get("env", ())}
        yield f"kubernetes {name}", _here({**image, **shared, **own}, secrets)
    for path in UNITS:
        pairs = [pair.partition("=") for line in unit(path)["Environment"] for pair in line.split()]
        given = {key: value.replace("%i", "9471") for key, _, value in pairs}
        yield path.name, _here(given, secrets)


def make_secrets(folder: Path) -> Path:
    """The secrets that the script makes, in a folder."""
    subprocess.run([DEPLOY / "make-secrets.sh", folder], check=True, timeout=HANG_GUARD_SEC)
    return folder


def _here(given: Mapping[str, str], secrets: Path) -> dict[str, str]:
    """The same with each secret's file where it is on this machine."""
    return {
        name: str(secrets / Path(value).name) if name.endswith("_FILE") else value
        for name, value in given.items()
    }


def _merged(mapping: Mapping[str, Any]) -> dict[str, Any]:
    below = mapping.get("<<", {})
    return {**below, **{key: value for key, value in mapping.items() if key != "<<"}}
