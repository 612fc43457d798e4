/** Services of several workers for tests: the real command line, with its processes. */
import { sleep } from "../../../src/runtime/runtime.ts";
import { assertEquals } from "@std/assert";
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
  /** The processes that serve, in the order in which they have started. */
  running(): readonly number[];
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
      running: () =>
        [...child.stderr().matchAll(started)].map(([, pid]) => Number(pid)).filter(isRunning),
      [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
    };
  } catch (error) {
    await child[Symbol.asyncDispose]();
    throw error;
  }
}

const started = /"worker_started","worker":\d+,"pid":(\d+)/g;

/** A client that sends every request on a connection of its own. */
export interface FreshClient extends Disposable {
  /** To one of the workers, whichever has the connection. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** To this worker. */
  fetchFrom(pid: string, path: string, init?: RequestInit): Promise<Response>;
}

/** Makes such a client. */
export function freshClient(url: string): FreshClient {
  const clients: Deno.HttpClient[] = [];

  function connect(): Deno.HttpClient {
    const client = Deno.createHttpClient({ poolMaxIdlePerHost: 1 });
    clients.push(client);
    return client;
  }

  return {
    fetch: (path, init) => fetch(url + path, { ...init, client: connect() }),
    async fetchFrom(pid, path, init) {
      while (true) {
        const client = connect();
        const asked = await fetch(`${url}/api/notes/count`, { client });
        await asked.body?.cancel();
        if (workerOf(asked) !== pid) continue;
        // The second request takes the connection of the first.
        const response = await fetch(url + path, { ...init, client });
        assertEquals(workerOf(response), pid);
        return response;
      }
    },
    [Symbol.dispose]() {
      for (const client of clients) client.close();
    },
  };
}

/** How often a note was not found, by the text of the metrics. */
export function missingNotes(metrics: string): number {
  const series = /^resource_api_requests_total\{(?=.*"\/api\/notes\/:id")(?=.*"404").*\} (\d+)$/m;
  return Number(series.exec(metrics)?.[1]);
}

/** The process that has answered. */
export function workerOf({ headers }: Response): string {
  return headers.get("x-worker") ?? "";
}

/** Resolves once none of these processes is there. */
export async function untilEnded(pids: readonly number[]): Promise<void> {
  while (pids.some(isRunning)) await sleep(20);
}

/** Whether a process is there. */
function isRunning(pid: number): boolean {
  try {
    // The state of a process that has ended, and that its parent has not asked for, is Z.
    return !/\) [ZX] /.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
  } catch (error) {
    // A process that ends between the opening of the file and the read is an ESRCH.
    const isGone = error instanceof Deno.errors.NotFound ||
      String(error).includes("No such process");
    if (isGone) return false;
    throw error;
  }
}
