import { fillNotes } from "./notes_database.ts";

/** A server of a benchmark in a process of its own, over a database of its own. */
export interface BenchServer extends AsyncDisposable {
  readonly port: number;
  /** The processor time that it has used, in seconds; null where the system does not report it. */
  cpuSeconds(): number | null;
}

/** Starts a side of `http_server.ts`. */
export async function startServer(side: string): Promise<BenchServer> {
  const folder = await Deno.makeTempDir();
  fillNotes(`${folder}/notes.db`);
  const script = new URL("http_server.ts", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", script, side, `${folder}/notes.db`],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  await child.stdout.cancel().catch(() => undefined);
  return {
    port: Number(value),
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
      await Deno.remove(folder, { recursive: true });
    },
  };
}

const ticksPerSecond = 100;
