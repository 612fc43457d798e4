/**
 * Exports a large table of SQLite, compared with a handler that joins all rows: `deno run -A
 * bench/export_bench.ts [rows] [turns]`. Each line is a separate process, so its peak of memory
 * (VmHWM, Linux only) is that of one export. The last column is the longest response time of small
 * requests that were sent one by one during the export.
 */
import { median } from "./figures.ts";
import { fillNotes } from "./notes_database.ts";

const rows = Number(Deno.args[0] ?? 1_000_000);
const turns = Number(Deno.args[1] ?? 3);

interface Scenario {
  readonly name: string;
  readonly side: "ours" | "whole";
  readonly accept: string;
  /** The pause of the client between two reads of 64 KiB, in milliseconds. */
  readonly pauseMs: number;
}

interface Figures {
  readonly rowsPerSecond: number;
  readonly firstByteMs: number;
  readonly peakMb: number;
  readonly slowestOtherMs: number;
  readonly megabytes: number;
}

const scenarios: readonly Scenario[] = [
  { name: "csv", side: "ours", accept: "text/csv", pauseMs: 0 },
  { name: "csv, slow client", side: "ours", accept: "text/csv", pauseMs: 1 },
  { name: "ndjson", side: "ours", accept: "application/x-ndjson", pauseMs: 0 },
  { name: "all at once", side: "whole", accept: "text/csv", pauseMs: 0 },
];

const folder = await Deno.makeTempDir();
const path = `${folder}/notes.db`;
try {
  fillNotes(path, rows);
  console.log(`${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${rows} rows`);
  const measured = scenarios.map((scenario) => ({ scenario, figures: [] as Figures[] }));
  for (let turn = 0; turn < turns; turn++) {
    for (const { scenario, figures } of measured) figures.push(await measure(scenario));
  }
  const last = measured.at(-1)?.figures ?? [];
  for (const { scenario, figures } of measured) {
    const of = (name: keyof Figures, from = figures) => median(from.map((one) => one[name]));
    const ratio = of("rowsPerSecond") / of("rowsPerSecond", last);
    console.log(
      `${scenario.name.padEnd(17)} ${Math.round(of("rowsPerSecond"))} rows/s (${
        ratio.toFixed(2)
      } of all at once), ${Math.round(of("megabytes"))} MB, first byte ${
        of("firstByteMs").toFixed(1)
      } ms, peak ${Math.round(of("peakMb"))} MB, slowest other ${
        of("slowestOtherMs").toFixed(1)
      } ms`,
    );
    if (scenario.side === "ours") {
      const holds = Math.max(...figures.map(({ peakMb }) => peakMb)) < 200 &&
        of("firstByteMs") < 100;
      console.log(`${"".padEnd(17)} under 200 MB and 100 ms: ${holds ? "yes" : "NO"}`);
    }
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}

async function measure(scenario: Scenario): Promise<Figures> {
  const server = await start(scenario.side);
  try {
    // The first request of a process is slower, because it compiles the code that it runs.
    await other(server.port);
    const others = askingOthers(server.port);
    const { firstByteMs, tookMs, bytes } = await download(server.port, scenario);
    const slowestOtherMs = await others.stop();
    return {
      rowsPerSecond: rows / tookMs * 1_000,
      firstByteMs,
      peakMb: await peakMb(server.pid),
      slowestOtherMs,
      megabytes: bytes / 1e6,
    };
  } finally {
    await server.stop();
  }
}

async function download(port: number, { accept, pauseMs }: Scenario) {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const request =
    `GET /api/notes HTTP/1.1\r\nhost: bench\r\naccept: ${accept}\r\nconnection: close\r\n\r\n`;
  const startedAt = performance.now();
  await connection.write(new TextEncoder().encode(request));
  const buffer = new Uint8Array(64 * 1024);
  let bytes = 0;
  let firstByteMs = 0;
  for (let read = await connection.read(buffer); read !== null;) {
    if (bytes === 0) firstByteMs = performance.now() - startedAt;
    bytes += read;
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    read = await connection.read(buffer);
  }
  return { firstByteMs, tookMs: performance.now() - startedAt, bytes };
}

/** Requests one row after the other until it is stopped. Returns the longest response time. */
function askingOthers(port: number): { stop(): Promise<number> } {
  let stopped = false;
  async function ask(): Promise<number> {
    let slowestMs = 0;
    while (!stopped) {
      slowestMs = Math.max(slowestMs, await other(port));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return slowestMs;
  }
  const asking = ask();
  return {
    stop() {
      stopped = true;
      return asking;
    },
  };
}

async function other(port: number): Promise<number> {
  const startedAt = performance.now();
  const answer = await fetch(`http://127.0.0.1:${port}/api/notes/7`);
  await answer.text();
  if (!answer.ok) throw new Error(`Expected 200, got ${answer.status}`);
  return performance.now() - startedAt;
}

async function peakMb(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_000;
}

async function start(side: Scenario["side"]) {
  const server = new URL("export_server.ts", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", server, side, path],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await reader.read();
  return {
    pid: child.pid,
    port: Number(value),
    async stop() {
      child.kill();
      await child.status;
      await reader.cancel();
    },
  };
}
