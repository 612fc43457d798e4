import type { Database } from "../../../mod.ts";
import { startChild } from "../../serve/child_process.ts";
import { openBrowserApp, withPage } from "./browser_service.ts";

/** A service that has a page, in this process. */
export interface Site extends AsyncDisposable {
  readonly origin: string;
  readonly db: Database;
  /** Live streams: how many are open, and how many have been opened. */
  readonly streams: { open: number; opened: number };
  /** The requests so far, as `POST /api/notes 201`. */
  readonly requests: readonly string[];
}

/** Starts a service with its page over a database in memory. */
export async function startSite(): Promise<Site> {
  const { app, db } = await openBrowserApp("sqlite::memory:");
  const streams = { open: 0, opened: 0 };
  const requests: string[] = [];
  const answer = withPage(app);
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request, info) => {
      const { pathname } = new URL(request.url);
      const response = await answer(request, info);
      requests.push(`${request.method} ${pathname} ${response.status}`);
      if (pathname === "/__service/live" && request.method === "POST" && response.ok) {
        streams.open++;
        streams.opened++;
        const ended = () => streams.open--;
        info.completed.then(ended, ended);
      }
      return response;
    },
  );
  return {
    ...{ origin: `http://127.0.0.1:${server.addr.port}`, db, streams, requests },
    async [Symbol.asyncDispose]() {
      app.drain();
      await server.shutdown();
      await app.close();
      await db.close();
    },
  };
}

/** A service that has a page, in a process of its own. */
export interface MortalSite extends AsyncDisposable {
  readonly origin: string;
  /** Ends with SIGKILL. */
  kill(): Promise<void>;
  /** Starts again on the same port. */
  start(): Promise<void>;
}

const script = new URL("browser_process.ts", import.meta.url).pathname;

/** Starts a service with its page over the database at a URL. */
export async function startMortalSite(url: string): Promise<MortalSite> {
  const start = (port: string) => startChild(["--no-check", script, url, port]);
  let child = start("0");
  const [, port = ""] = await child.printed(/port (\d+)/);
  return {
    origin: `http://127.0.0.1:${port}`,
    async kill() {
      child.signal("SIGKILL");
      await child.ended();
    },
    async start() {
      child = start(port);
      await child.printed(/port/);
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

/** Creates a note as another client does. */
export async function createNote(origin: string, title: string): Promise<void> {
  const response = await fetch(`${origin}/api/notes`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ title }),
  });
  if (response.status !== 201) throw new Error(await response.text());
  await response.body?.cancel();
}
