import { endOnSignal } from "./attack/processes.ts";
import { cpuSecondsOfProcess, cpuSecondsOfTree } from "./cpu_seconds.ts";
import { fillNotes } from "./notes_database.ts";

/** A server of a benchmark in a separate process. */
export interface BenchServer extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  /** The path of the server's database. */
  readonly path: string;
  /** Returns the processor time so far, in seconds, or null if the system does not report it. */
  cpuSeconds(): number | null;
}

/**
 * Starts a server of `http_server.ts` over a new database or that of another server. `flags` are
 * options of `deno run`.
 */
export async function startServer(
  side: string,
  existingPath?: string,
  flags: readonly string[] = [],
): Promise<BenchServer> {
  const folder = existingPath === undefined ? await Deno.makeTempDir() : null;
  const path = existingPath ?? `${folder}/notes.db`;
  if (folder !== null) fillNotes(path);
  const script = new URL("http_server.ts", import.meta.url).pathname;
  const started = await start([...flags, script, side, path], /^\d+/);
  return {
    port: Number(started.printed),
    pid: started.pid,
    path,
    cpuSeconds: () => cpuSecondsOfProcess(started.pid),
    async [Symbol.asyncDispose]() {
      await started.stop();
      if (folder !== null) await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Starts another server script of this folder, which prints its port. */
export async function startScript(
  name: string,
  args: readonly string[],
): Promise<{ readonly port: number } & AsyncDisposable> {
  const started = await start([new URL(name, import.meta.url).pathname, ...args], /^\d+/);
  return { port: Number(started.printed), [Symbol.asyncDispose]: () => started.stop() };
}

/** Starts several workers of the command line over a separate database. */
export async function startWorkers(count: number): Promise<BenchServer> {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/notes.db`;
  fillNotes(path);
  const program = new URL("../cli.ts", import.meta.url).pathname;
  const config = new URL("workers_config.ts", import.meta.url).pathname;
  const started = await start(
    [program, "-c", config, "-p", "0", "--workers", `${count}`],
    /(?<=:)\d+(?=\/healthz)/,
    { NOTES_PATH: path },
  );
  return {
    port: Number(started.printed),
    pid: started.pid,
    path,
    cpuSeconds: () => cpuSecondsOfTree(started.pid),
    async [Symbol.asyncDispose]() {
      await started.stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

interface Started {
  readonly pid: number;
  readonly printed: string;
  stop(): Promise<void>;
}

/** Starts a program, and waits until it prints the expected text. */
async function start(
  args: readonly string[],
  wanted: RegExp,
  env: Record<string, string> = {},
): Promise<Started> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", ...args],
    env,
    stdout: "piped",
  }).spawn();
  endOnSignal(child);
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let printed = wanted.exec(text);
  while (printed === null) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`It ended without printing ${wanted}: ${text}`);
    text += value;
    printed = wanted.exec(text);
  }
  reader.releaseLock();
  await child.stdout.cancel().catch(() => undefined);
  return {
    pid: child.pid,
    printed: printed[0],
    async stop() {
      child.kill("SIGINT");
      await child.status;
    },
  };
}

/**
 * The processor time of the running backends of a Postgres database on this machine, in seconds. A
 * backend that has ended no longer counts.
 */
export function cpuSecondsOfPostgres(database: string): number {
  let seconds = 0;
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const title = Deno.readTextFileSync(`/proc/${name}/cmdline`);
      const isOfDatabase = title.startsWith("postgres: ") && title.includes(` ${database} `);
      if (isOfDatabase) seconds += cpuSecondsOfProcess(Number(name)) ?? 0;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return seconds;
}

/** Returns the processor time of several servers, or NaN if the system does not report it. */
export function cpuSecondsOf(servers: readonly BenchServer[]): number {
  return servers.reduce((sum, server) => sum + (server.cpuSeconds() ?? NaN), 0);
}
