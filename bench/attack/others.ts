/**
 * Other clients of the attacked service, in a separate process: `others.ts PORT SECONDS [work]`.
 * Every ten milliseconds they read `/healthz` on a new connection, as probes of platforms do, and a
 * row by its key on an open connection. With `work`, they also read a row that requires a proof of
 * work, five times per second. Prints `ready`, and finally the figures as JSON.
 */
import { readAnswer } from "../load.ts";
import { solve } from "../../src/client/pow/solve.ts";

/** The waits of clients for one kind of request. */
export interface Waits {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly failures: number;
  /** The reason of the first failure. */
  readonly reason: string | null;
}

/** The waits of clients for all kinds of requests. */
export interface OthersFigures {
  readonly healthz: Waits;
  readonly row: Waits;
  /** Requests with a solved challenge. A status other than 200 is a failure. */
  readonly work: Waits | null;
}

const everyMs = 10;
const timeoutMs = 10_000;

if (import.meta.main) {
  const [port, seconds, work] = Deno.args;
  const until = performance.now() + Number(seconds) * 1_000;
  console.log("ready");
  const [healthz, row, paid] = await Promise.all([
    watch(Number(port), until, { path: "/healthz", isKept: false }),
    watch(Number(port), until, { path: "/api/notes/7", isKept: true }),
    work === undefined ? null : watchWork(Number(port), until),
  ]);
  const figures: OthersFigures = { healthz, row, work: paid };
  console.log(JSON.stringify(figures));
  Deno.exit(0);
}

interface Watched {
  readonly path: string;
  /** True if the connection stays open. */
  readonly isKept: boolean;
}

async function watch(port: number, until: number, { path, isKept }: Watched): Promise<Waits> {
  const ending = isKept ? "" : "connection: close\r\n";
  const request = new TextEncoder().encode(`GET ${path} HTTP/1.1\r\nhost: bench\r\n${ending}\r\n`);
  const buffer = new Uint8Array(64 * 1024);
  let connection: Deno.TcpConn | null = null;
  return await repeat(until, everyMs, async () => {
    let isWhole = false;
    const limit = setTimeout(() => connection?.close(), timeoutMs);
    try {
      connection ??= await Deno.connect({ hostname: "127.0.0.1", port });
      connection.setNoDelay(true);
      await connection.write(request);
      await readAnswer(connection, buffer, 200);
      isWhole = true;
    } finally {
      clearTimeout(limit);
      if (!isWhole || !isKept) connection = closed(connection);
    }
  });
}

/** Closes a connection. Returns null. */
function closed(connection: Deno.TcpConn | null): null {
  try {
    connection?.close();
  } catch (error) {
    // The timeout has closed the connection.
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
  return null;
}

async function watchWork(port: number, until: number): Promise<Waits> {
  const url = `http://127.0.0.1:${port}/api/gated/7`;
  return await repeat(until, 200, async () => {
    const signal = AbortSignal.timeout(timeoutMs);
    const asked = await fetch(url, { signal });
    await asked.body?.cancel();
    const token = asked.headers.get("service-pow-challenge") ?? "";
    const difficulty = Number(asked.headers.get("service-pow-difficulty"));
    const headers = {
      "service-pow-challenge": token,
      "service-pow-nonce": await solve({ token, difficulty }),
    };
    const answer = await fetch(url, { headers, signal });
    await answer.body?.cancel();
    if (answer.status !== 200) throw new Error(`Expected 200, got ${answer.status}`);
  });
}

/**
 * Calls `ask` every `intervalMs`. If a call takes longer, the calls that should have begun before
 * its end count with its remaining time. Otherwise a long wait would be only one sample.
 */
async function repeat(
  until: number,
  intervalMs: number,
  ask: () => Promise<void>,
): Promise<Waits> {
  const waits: number[] = [];
  let failures = 0;
  let reason: string | null = null;
  while (performance.now() < until) {
    const startedAt = performance.now();
    try {
      await ask();
    } catch (error) {
      failures++;
      reason ??= String(error).slice(0, 200);
    }
    const took = performance.now() - startedAt;
    for (let wait = took; wait > 0; wait -= intervalMs) waits.push(wait);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, intervalMs - took)));
  }
  waits.sort((a, b) => a - b);
  const quantile = (part: number) => waits[Math.floor(waits.length * part)] ?? 0;
  return { p50: quantile(0.5), p99: quantile(0.99), max: waits.at(-1) ?? 0, failures, reason };
}
