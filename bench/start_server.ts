import { endOnSignal } from "./attack/processes.ts";
import { fillNotes } from "./notes_database.ts";

/** A server of a benchmark in a process of its own. */
export interface BenchServer extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  /** That of its database. */
  readonly path: string;
  /** The processor time that it has used, in seconds; null where the system does not report it. */
  cpuSeconds(): number | null;
}

/** Starts a side of `http_server.ts`, over a database of its own or that of another server. */
export async function startServer(side: string, existingPath?: string): Promise<BenchServer> {
  const folder = existingPath === undefined ? await Deno.makeTempDir() : null;
  const path = existingPath ?? `${folder}/notes.db`;
  if (folder !== null) fillNotes(path);
  const script = new URL("http_server.ts", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", script, side, path],
    stdout: "piped",
  }).spawn();
  endOnSignal(child);
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  await child.stdout.cancel().catch(() => undefined);
  return {
    port: Number(value),
    pid: child.pid,
    path,
    cpuSeconds() {
      try {
        const [, fields = ""] = Deno.readTextFileSync(`/proc/${child.pid}/stat`).split(") ");
        const [user, system] = fields.split(" ").slice(11, 13).map(Number);
        return ((user ?? 0) + (system ?? 0)) / ticksPerSecond;
      } catch (error) {
        if (error instanceof Deno.errors.NotFound) return null;
        throw error;
      }
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.status;
      if (folder !== null) await Deno.remove(folder, { recursive: true });
    },
  };
}

/** The processor time of several servers; NaN where the system does not report it. */
export function cpuSecondsOf(servers: readonly BenchServer[]): number {
  return servers.reduce((sum, server) => sum + (server.cpuSeconds() ?? NaN), 0);
}

const ticksPerSecond = 100;
