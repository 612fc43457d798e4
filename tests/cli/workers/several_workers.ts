/** Services of several workers for tests: the real command line, with its processes. */
import { assert } from "@std/assert";
import { type Child, startChild } from "../../serve/child_process.ts";

/** The command line of this repository. */
export const program = new URL("../../../cli.ts", import.meta.url).pathname;

/** A configuration whose database and store are named by the environment. */
export const notesConfig = new URL("notes_config.ts", import.meta.url).pathname;

/** A running service of several workers. */
export interface SeveralWorkers extends AsyncDisposable {
  readonly child: Child;
  readonly url: string;
  readonly port: number;
  /** The processes that serve, those that have been replaced before them. */
  pids(): readonly number[];
}

/** Starts two workers of a configuration on a free port. */
export async function startWorkers(
  config: string,
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<SeveralWorkers> {
  const child = startChild(
    [program, "--config", config, "--port", "0", "--workers", "2", ...args],
    {
      env,
      maxLifeMs: 60_000,
    },
  );
  try {
    const [, url = ""] = await child.printed(/(http:\/\/[^/]+)\/healthz/);
    return {
      child,
      url,
      port: Number(new URL(url).port),
      pids: () => [...child.stderr().matchAll(started)].map(([, pid]) => Number(pid)),
      [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
    };
  } catch (error) {
    await child[Symbol.asyncDispose]();
    throw error;
  }
}

const started = /"worker_started","worker":\d+,"pid":(\d+)/g;

/** One client with one connection, which one of the workers has. */
export interface WorkerClient extends Disposable {
  readonly pid: string;
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** A client of each of the two workers. */
export async function clientOfEach(url: string): Promise<readonly [WorkerClient, WorkerClient]> {
  const first = await clientOf(url);
  // The kernel chooses at random.
  for (let tries = 0; tries < 100; tries++) {
    const second = await clientOf(url);
    if (second.pid !== first.pid) return [first, second];
    second[Symbol.dispose]();
  }
  throw new Error("All connections are of one worker");
}

async function clientOf(url: string): Promise<WorkerClient> {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 1 });
  const response = await fetch(`${url}/api/notes/count`, { client });
  await response.body?.cancel();
  const pid = response.headers.get("x-worker") ?? "";
  return {
    pid,
    async fetch(path, init) {
      const response = await fetch(url + path, { ...init, client });
      assert(
        response.headers.get("x-worker") === pid,
        "the connection is still that of its worker",
      );
      return response;
    },
    [Symbol.dispose]: () => client.close(),
  };
}

/** Whether a process is there. */
export function isRunning(pid: number): boolean {
  try {
    // The state of a process that has ended, and that its parent has not asked for, is Z.
    return !/\) [ZX] /.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
