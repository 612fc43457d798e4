import type { App } from "../../../src/app/app.ts";
import { type Child, startChild } from "../../serve/child_process.ts";
import { openModelApp } from "./model_service.ts";
import type { Database } from "../../../src/db/database.ts";

/** A service that ends and begins again while its clients continue. */
export interface ModelServer extends AsyncDisposable {
  /** Rejects with a TypeError while there is no service. */
  fetch(request: Request): Promise<Response>;
  /** Ends at once, whatever is under way, and begins again over the same database. */
  restart(): Promise<void>;
}

/** A service in this process: closed and opened again. */
export async function startHere(url: string): Promise<ModelServer> {
  let current: { db: Database; app: App } | null = await openModelApp(url);

  async function stop(): Promise<void> {
    const stopped = current;
    current = null;
    await stopped?.app.close();
    await stopped?.db.close();
  }

  return {
    async fetch(request) {
      if (current === null) throw new TypeError("no service");
      return await current.app.fetch(request);
    },
    async restart() {
      await stop();
      current = await openModelApp(url);
    },
    [Symbol.asyncDispose]: stop,
  };
}

const script = new URL("model_process.ts", import.meta.url).pathname;

/** A service in a process of its own: killed with SIGKILL, and started again on the same port. */
export async function startProcess(url: string): Promise<ModelServer> {
  let port = "0";
  let child: Child;
  async function start(): Promise<void> {
    child = startChild([script, url, port], { maxLifeMs: 600_000 });
    port = (await child.printed(/port (\d+)/))[1] ?? "0";
  }
  await start();
  return {
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      return fetch(`http://127.0.0.1:${port}${pathname}${search}`, request);
    },
    async restart() {
      child.signal("SIGKILL");
      await child.ended();
      await start();
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
