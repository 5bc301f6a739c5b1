"""A proxy on loopback that keeps what it was asked for, and a certificate of one's own."""

import asyncio
import contextlib
import datetime
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from loopback import BOUND, Handler, Loopback


@dataclass(slots=True)
class Proxy:
    """lines: the request lines, as they came. headers: those of each. answer: sent in place of
    passing on, if not empty. to: the port on loopback that stands for every host."""

    url: str = ""
    to: int = 0
    answer: bytes = b""
    lines: list[str] = field(default_factory=list[str])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            line, *rest = head.rstrip("\r\n").split("\r\n")
            self.lines.append(line)
            self.headers.append({k.lower(): v for k, _, v in (h.partition(": ") for h in rest)})
            if self.answer:
                writer.write(self.answer)
                await writer.drain()
                return
            there, back = await asyncio.open_connection("127.0.0.1", self.to)
            if line.startswith("CONNECT "):
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                method, url, version = line.split(" ")
                path = "/" + url.split("/", 3)[3]
                back.write("\r\n".join([f"{method} {path} {version}", *rest, "", ""]).encode())
            await asyncio.gather(_pipe(reader, back), _pipe(there, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    with contextlib.suppress(OSError, NotImplementedError, RuntimeError):
        writer.close()


@asynccontextmanager
async def proxy(to: str = "") -> AsyncIterator[Proxy]:
    """to: the URL of the server on loopback that answers in the name of every host."""
    here = Proxy(to=int(to.rpartition(":")[2]) if to else 0)
    server = await asyncio.start_server(here.serve, "127.0.0.1", 0)
    here.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        async with asyncio.timeout(BOUND):
            yield here
    finally:
        server.close()


@asynccontextmanager
async def secure(handler: Handler, folder: Path, host: str) -> AsyncIterator[tuple[Loopback, Path]]:
    """A server that speaks TLS in the name of `host`; and the file that makes it trusted."""
    certificate = make_certificate(folder, host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, folder / "key.pem")
    here = Loopback(handler)
    server = await asyncio.start_server(here.serve, "127.0.0.1", 0, ssl=context)
    here.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        async with asyncio.timeout(BOUND):
            yield here, certificate
    finally:
        server.close()


def make_certificate(folder: Path, host: str) -> Path:
    """A certificate signed by itself, with its key beside it as key.pem."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return file
