"""A QUIC server for `ackclock shell`: whoever asks for N bytes on a stream gets them (docs/shell.md).

pip install aioquic
"""

import asyncio
import datetime as dt
import os
import sys

from aioquic.asyncio import serve
from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PORT = 4433
PROTOCOL = "ackclock-get"
DAY = dt.timedelta(days=1)


def certified() -> QuicConfiguration:
    """A configuration with a certificate that the server signs itself, and that nobody checks."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server.ackclock")])
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - DAY, now + DAY)
    certificate = builder.sign(key, hashes.SHA256())
    return QuicConfiguration(is_client=False, alpn_protocols=[PROTOCOL], certificate=certificate, private_key=key)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send what a stream asks for."""
    writer.write(bytes(int(await reader.read())))
    writer.write_eof()


async def main(address: str) -> None:
    """Serve until ended."""
    tasks = set()

    def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(answer(reader, writer))
        tasks.add(task)  # it would be forgotten before it is done otherwise
        task.add_done_callback(tasks.discard)

    await serve(address, PORT, configuration=certified(), stream_handler=stream)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("ACKCLOCK_SERVER", "127.0.0.1")))
