/** A bounded load over keep-alive connections, so that the benchmark needs nothing installed. */

/** A request to send repeatedly. */
export interface Load {
  readonly port: number;
  readonly connections: number;
  readonly durationMs: number;
  /** The maximum number of requests. Default: no limit. */
  readonly mostRequests?: number;
  /** Returns the whole request as it is sent. `turn` counts the requests. */
  request(turn: number): string;
  /** The status that every response must have. */
  readonly status: number;
  /** Called after each response with the time since its request was sent. */
  onAnswer?(tookMs: number): void;
}

/** Returns the requests per second. Throws if a response has another status. */
export async function measure(load: Load): Promise<number> {
  const endsAt = performance.now() + load.durationMs;
  const mostRequests = load.mostRequests ?? Infinity;
  let turn = 0;
  let answers = 0;
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: load.connections }, async () => {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: load.port });
    connection.setNoDelay(true);
    const encoder = new TextEncoder();
    const buffer = new Uint8Array(64 * 1024);
    while (performance.now() < endsAt && turn < mostRequests) {
      const sentAt = performance.now();
      await connection.write(encoder.encode(load.request(turn++)));
      await readAnswer(connection, buffer, load.status);
      load.onAnswer?.(performance.now() - sentAt);
      answers++;
    }
  }));
  return answers / (performance.now() - startedAt) * 1_000;
}

const decoder = new TextDecoder("latin1");

/** Reads one whole response into `buffer`. Throws if the response has another status. */
export async function readAnswer(
  connection: Deno.TcpConn,
  buffer: Uint8Array,
  status: number,
): Promise<void> {
  let held = 0;
  let whole = Infinity;
  while (held < whole) {
    const read = await connection.read(buffer.subarray(held));
    if (read === null) throw new Error("The server closed the connection");
    held += read;
    if (whole !== Infinity) continue;
    const head = decoder.decode(buffer.subarray(0, Math.min(held, 1_024)));
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) continue;
    if (!head.startsWith(`HTTP/1.1 ${status} `)) {
      throw new Error(`Expected ${status}, got ${decoder.decode(buffer.subarray(0, held))}`);
    }
    // A 204 has neither a length nor a body (RFC 9110, 8.6).
    if (status === 204) return;
    const length = /\r\ncontent-length: (\d+)/i.exec(head);
    if (length !== null) whole = end + 4 + Number(length[1]);
    else if (!/\r\ntransfer-encoding: chunked/i.test(head)) throw new Error("It has no length");
    else if (endsLastChunk(buffer.subarray(0, held))) return;
  }
}

/** Returns true if a chunked body without trailers ends here (RFC 9112, 7.1). */
function endsLastChunk(bytes: Uint8Array): boolean {
  return decoder.decode(bytes.subarray(-7)) === "\r\n0\r\n\r\n";
}
