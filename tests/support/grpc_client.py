"""A client that knows nothing of feedmill: everything it says it has learnt by reflection.

async with visiting(bound.port) as visitor:
    page = await visitor.ask("Feeds/List", limit=10)
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC
from typing import Any

import grpc
import msgspec
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor
from grpc_reflection.v1alpha import reflection_pb2
from tests.support.waiting import HANG_GUARD_SEC

REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
PACKAGE = "feedmill.v1"

Said = dict[str, Any]


class Visitor:
    """Calls methods by their names, with plain values in and out."""

    def __init__(self, channel: Any, token: str | None) -> None:
        self._channel = channel
        self._pool = descriptor_pool.DescriptorPool()
        self.services: list[str] = []
        self.metadata: tuple[tuple[str, str | bytes], ...] = ()
        if token is not None:
            self.metadata = (("authorization", f"Bearer {token}"),)

    async def look_around(self) -> None:
        """Learn the services and their messages from the server."""
        listed = await self._reflect(list_services="")
        self.services = [one.name for one in listed.list_services_response.service]
        files: dict[str, Any] = {}
        for name in self.services:
            answer = await self._reflect(file_containing_symbol=name)
            for data in answer.file_descriptor_response.file_descriptor_proto:
                file = descriptor_pb2.FileDescriptorProto.FromString(data)
                files[file.name] = file
        for file in _in_order(files):
            self._pool.Add(file)

    async def ask(self, method: str, **fields: Any) -> Said:
        """The answer of a method with one answer."""
        described = self.method(method)
        call = self._channel.unary_unary(
            path_of(described),
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=message_factory.GetMessageClass(described.output_type).FromString,
        )
        request = self.request(method, **fields)
        return told(await call(request, metadata=self.metadata, timeout=HANG_GUARD_SEC))

    def stream(self, method: str, **fields: Any) -> Any:
        """A call of a method with many answers; `read` it, or iterate and `told` each."""
        described = self.method(method)
        call = self._channel.unary_stream(
            path_of(described),
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=message_factory.GetMessageClass(described.output_type).FromString,
        )
        request = self.request(method, **fields)
        return call(request, metadata=self.metadata, timeout=HANG_GUARD_SEC)

    async def send(self, method: str, data: bytes) -> bytes:
        """The raw answer to raw bytes."""
        call = self._channel.unary_unary(path_of(self.method(method)))
        answer: bytes = await call(data, metadata=self.metadata, timeout=HANG_GUARD_SEC)
        return answer

    def request(self, method: str, **fields: Any) -> Any:
        """The message that the method takes, from values as JSON has them."""
        kind = message_factory.GetMessageClass(self.method(method).input_type)
        return json_format.ParseDict(fields, kind(), descriptor_pool=self._pool)

    def method(self, name: str) -> Any:
        """A method by `Service/Method`, or by its whole path."""
        service, _, short = name.rpartition("/")
        full = service if "." in service else f"{PACKAGE}.{service}"
        return self._pool.FindServiceByName(full).methods_by_name[short]

    async def _reflect(self, **question: str) -> Any:
        call = self._channel.stream_stream(
            REFLECTION,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )(metadata=self.metadata, timeout=HANG_GUARD_SEC)
        await call.write(reflection_pb2.ServerReflectionRequest(**question))
        await call.done_writing()
        answers = [answer async for answer in call]
        return answers[0]


@asynccontextmanager
async def visiting(
    port: int, *, token: str | None = None, options: tuple[tuple[str, int], ...] = ()
) -> AsyncIterator[Visitor]:
    """A visitor who has looked around already."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        visitor = Visitor(channel, token)
        await visitor.look_around()
        yield visitor


def path_of(described: Any) -> str:
    """Where a method is called."""
    return f"/{described.containing_service.full_name}/{described.name}"


def told(message: Any) -> Said:
    """The message as REST would write it: absent is None, moments are text, JSON is read."""
    return dict(_fields(message))


def reason_of(problem: grpc.aio.AioRpcError) -> str | None:
    """The stable word in the trailing metadata."""
    return dict(problem.trailing_metadata()).get("feedmill-reason")


def _fields(message: Any) -> Iterator[tuple[str, Any]]:
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.name.endswith("_json"):
            yield field.name.removesuffix("_json"), msgspec.json.decode(value)
        elif field.is_repeated and _is_map(field):
            yield (
                field.name,
                {
                    key: told(one) if hasattr(one, "DESCRIPTOR") else one
                    for key, one in value.items()
                },
            )
        elif field.is_repeated:
            yield field.name, [_value(field, one) for one in value]
        elif field.has_presence and not message.HasField(field.name):
            yield field.name, None
        else:
            yield field.name, _value(field, value)


def _value(field: Any, value: Any) -> Any:
    if field.type != FieldDescriptor.TYPE_MESSAGE:
        return value
    if field.message_type.full_name == "google.protobuf.Timestamp":
        moment = msgspec.json.encode(value.ToDatetime(tzinfo=UTC))
        return msgspec.json.decode(moment)
    return told(value)


def _is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _in_order(files: dict[str, Any]) -> list[Any]:
    """Files after those that they import."""
    done: dict[str, Any] = {}

    def add(name: str) -> None:
        if name not in done:
            for wanted in files[name].dependency:
                add(wanted)
            done[name] = files[name]

    for name in files:
        add(name)
    return list(done.values())
