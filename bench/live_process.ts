import { cpuSecondsOfProcess } from "./cpu_seconds.ts";

/** A server of `live_bench.ts` in a separate process. */
export interface LiveServer extends AsyncDisposable {
  readonly port: number;
  /** Returns the resident memory of the process in bytes. */
  residentBytes(): Promise<number>;
  /** Returns the processor time since the start of the process, in seconds. */
  cpuSeconds(): number;
}

/** Starts one of the compared servers over a database. */
export async function startLiveServer(
  side: "ours" | "bare",
  database: string,
): Promise<LiveServer> {
  const script = new URL("live_server.ts", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", script, side, database],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await reader.read();
  const port = Number(value);
  if (value === undefined) throw new Error("The server ended before it listened");
  return {
    port,
    async residentBytes() {
      const status = await Deno.readTextFile(`/proc/${child.pid}/status`);
      const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(status) ?? [];
      return Number(kilobytes) * 1024;
    },
    cpuSeconds: () => cpuSecondsOfProcess(child.pid) ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.status;
      await reader.cancel();
    },
  };
}
