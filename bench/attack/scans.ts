/**
 * The clients of `scan_bench.ts`: `scans.ts PORT wait|leave`. Sends all reads at once and prints,
 * as JSON, when each read ended. With `leave`, the clients disconnect after half a second.
 */

/** How a read ended. */
export interface Scan {
  readonly name: string;
  readonly status: string;
  readonly ms: number;
}

const patterns = Array.from({ length: 20 }, (_, at) => `label=ilike="%g_${at}1%${at}x"`).join();

const reads: readonly (readonly [name: string, path: string])[] = [
  ["aggregate", "/aggregate?groupBy=n&count=true&avg=id&max=label"],
  ...Array.from(
    { length: 12 },
    (_, at) => ["count", `/count?filter=label=contains=${at}x`] as const,
  ),
  ["filter", `?filter=${encodeURIComponent(patterns)}`],
];

const leaveAfterMs = 500;
const giveUpAfterMs = 60_000;

if (import.meta.main) {
  const [port, clients] = Deno.args;
  const signal = AbortSignal.timeout(clients === "leave" ? leaveAfterMs : giveUpAfterMs);
  const scans = await Promise.all(
    reads.map(([name, path]) => scan(name, `http://127.0.0.1:${port}/api/readings${path}`, signal)),
  );
  console.log(JSON.stringify(scans));
  Deno.exit(0);
}

async function scan(name: string, url: string, signal: AbortSignal): Promise<Scan> {
  const startedAt = performance.now();
  let status = "left";
  try {
    const answer = await fetch(url, { signal });
    await answer.arrayBuffer();
    status = String(answer.status);
  } catch {
    // The signal or a service that has ended causes this error. Only its time and kind matter.
    status = signal.aborted ? "left" : "failed";
  }
  return { name, status, ms: performance.now() - startedAt };
}
