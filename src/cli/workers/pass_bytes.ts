/**
 * Copies the bytes of two connections to each other until both directions have ended. Each
 * direction is read only as fast as it is written. When one direction ends, the other direction
 * stays open. The function closes neither connection. Rejects if one of the connections breaks.
 */
export async function passBytes(left: Deno.TcpConn, right: Deno.TcpConn): Promise<void> {
  for (const connection of [left, right]) connection.setNoDelay(true);
  await Promise.all([copy(left, right), copy(right, left)]);
}

async function copy(from: Deno.TcpConn, to: Deno.TcpConn): Promise<void> {
  const chunk = new Uint8Array(chunkBytes);
  for (let size = await from.read(chunk); size !== null; size = await from.read(chunk)) {
    for (let written = 0; written < size;) {
      written += await to.write(chunk.subarray(written, size));
    }
  }
  await to.closeWrite();
}

/** The size of a copy buffer in bytes. Each connection has two buffers. */
const chunkBytes = 16 * 1024;
