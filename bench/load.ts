/** A bounded load over keep-alive connections, so that the benchmark needs nothing installed. */

/** What to send, over and over. */
export interface Load {
  readonly port: number;
  readonly connections: number;
  readonly durationMs: number;
  /** Ends after so many requests, if that is sooner; there is no such limit unless set. */
  readonly mostRequests?: number;
  /** The whole request, as bytes on the wire; `turn` counts up. */
  request(turn: number): string;
  /** Every answer must begin with this status line's number. */
  readonly status: number;
  /** Called after each answer, with the time since its request was sent. */
  onAnswer?(tookMs: number): void;
}

/** Requests per second. Throws when an answer has another status. */
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

/** Reads one whole answer into `buffer`. Throws when it has another status. */
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
    // A response with status 204 has neither a length nor a body (RFC 9110, 8.6).
    if (status === 204) return;
    const length = /\r\ncontent-length: (\d+)/i.exec(head);
    if (length !== null) whole = end + 4 + Number(length[1]);
    else if (!/\r\ntransfer-encoding: chunked/i.test(head)) throw new Error("It has no length");
    else if (endsLastChunk(buffer.subarray(0, held))) return;
  }
}

/** Whether a chunked body ends here (RFC 9112, 7.1), without trailers. */
function endsLastChunk(bytes: Uint8Array): boolean {
  return decoder.decode(bytes.subarray(-7)) === "\r\n0\r\n\r\n";
}
