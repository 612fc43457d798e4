import { endOnSignal } from "../attack/processes.ts";
import type { PreparedPeer } from "./peer.ts";

/** A server of a peer that accepts connections. */
export interface PeerServer extends AsyncDisposable {
  readonly pid: number;
  /** The time from the start of the process to its first accepted connection, in milliseconds. */
  readonly startMs: number;
}

/** Starts a server. Throws its output if the server ends or does not listen within a minute. */
export async function startPeer(
  { command: [program, ...args], env = {}, cwd }: Omit<PreparedPeer, "version" | "requests">,
  port: number,
): Promise<PeerServer> {
  const startedAt = performance.now();
  const child = new Deno.Command(program, {
    args,
    env,
    ...(cwd === undefined ? {} : { cwd }),
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  endOnSignal(child);
  let hasEnded = false;
  const output = child.output().finally(() => hasEnded = true);
  const stop = async (): Promise<string> => {
    if (!hasEnded) child.kill("SIGKILL");
    const { stdout, stderr } = await output;
    return new TextDecoder().decode(stderr) + new TextDecoder().decode(stdout);
  };
  while (!await isListening(port)) {
    if (hasEnded || performance.now() - startedAt > 60_000) {
      const state = hasEnded ? "ended at its start" : "does not listen";
      throw new Error(`${program} ${state}: ${await stop()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return {
    pid: child.pid,
    startMs: performance.now() - startedAt,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

async function isListening(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionRefused) return false;
    throw error;
  }
}

/** Returns a free port of 127.0.0.1. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Sends JSON to a server. Throws if the status is no success. */
export async function sendJson(
  method: "POST" | "PATCH",
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const response = await fetch(url, {
    method,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url}: ${await response.text()}`);
  return await response.json();
}
