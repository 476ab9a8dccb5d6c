"""A QUIC client for `ackclock shell`: downloads from server.py beside it and says how long that took (docs/shell.md).

pip install aioquic

python client.py [BYTES]    # 5000000 without it
"""

import asyncio
import os
import ssl
import sys
import time

from aioquic.asyncio import connect
from aioquic.quic.configuration import QuicConfiguration

PORT = 4433
PROTOCOL = "ackclock-get"


async def main(address: str, size: int) -> int:
    """Download, and print a line."""
    configuration = QuicConfiguration(alpn_protocols=[PROTOCOL], verify_mode=ssl.CERT_NONE)
    begun = time.monotonic()
    async with connect(address, PORT, configuration=configuration) as connection:
        shaken = time.monotonic()
        reader, writer = await connection.create_stream()
        writer.write(str(size).encode())
        writer.write_eof()
        got = 0
        while part := await reader.read(1 << 20):
            got += len(part)
        took = time.monotonic() - shaken
    handshake = f"handshake {(shaken - begun) * 1e3:.1f} ms"
    print(f"QUIC: {handshake}, {got} bytes in {took:.2f} s, {got * 8 / took / 1e6:.1f} Mbit/s")
    return 0 if got == size else 1


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    sys.exit(asyncio.run(main(os.environ.get("ACKCLOCK_SERVER", "127.0.0.1"), wanted)))
