import type { App, RequestInfo } from "../../app/app.ts";
import { Problem } from "../../problem/problem.ts";
import { parseRequestTarget } from "../../resource/http/request_target.ts";
import { sleep } from "../../runtime/runtime.ts";
import type { OpenService } from "../run_service.ts";

export interface ReplaceableApp {
  readonly app: App;
  /** Makes `next` the current app. The previous app closes when its requests have ended. */
  replaceBy(next: OpenService): void;
}

interface Generation {
  readonly app: App;
  answering: number;
}

export interface SchemaChecks {
  readonly ended: () => Promise<void>;
  readonly version: () => string | null;
  readonly current: () => Promise<unknown>;
}

/** Creates an app that checks for changed tables after failures, and before describing tables. */
export function reopeningApp(first: App, checks: SchemaChecks): ReplaceableApp {
  let current: Generation = { app: first, answering: 0 };
  let isDraining = false;
  let isClosing = false;
  const ending = new Set<Promise<void>>();

  async function answer(request: Request, info?: RequestInfo): Promise<Response> {
    const generation = current;
    generation.answering++;
    try {
      return await generation.app.fetch(request, info);
    } finally {
      // A request is in progress until the client has received the response, perhaps much later.
      const sent = Promise.resolve(info?.completed).catch(() => {});
      void sent.then(() => generation.answering--);
    }
  }

  async function fetch(request: Request, info?: RequestInfo): Promise<Response> {
    if (describesTables.test(parseRequestTarget(request.url).path)) await checks.current();
    const [asked, version] = [current, checks.version()];
    const response = await answer(request, info);
    if (response.status >= 500) await checks.ended();
    else if (isUnknown(response, request, asked.app)) await checks.current();
    else return response;
    // If the tables changed and then changed back, no new app opened, but the version differs.
    const isOther = response.status >= 500 && checks.version() !== version;
    if (current === asked && !isOther) return response;
    if (!reads.has(request.method)) {
      return unmade.has(response.status) ? await changedTables(response) : response;
    }
    await response.body?.cancel();
    return await answer(request, info);
  }

  async function end(generation: Generation): Promise<void> {
    // Ends the live streams one by one. Their clients reconnect to the next app.
    generation.app.drain();
    for (let waitedMs = 0; waitedMs < maxWaitMs; waitedMs += askMs) {
      if (generation.answering === 0 || isClosing) break;
      await sleep(askMs);
    }
    await generation.app.close();
  }

  return {
    app: {
      ...first,
      fetch,
      announceStop() {
        isDraining = true;
        current.app.announceStop();
      },
      drain() {
        isDraining = true;
        current.app.drain();
      },
      warmUp: () => current.app.warmUp(),
      schema: () => current.app.schema(),
      openapi: () => current.app.openapi(),
      async close() {
        isClosing = true;
        await Promise.all([current.app.close(), ...ending]);
      },
    },
    replaceBy({ app }) {
      const before = current;
      current = { app, answering: 0 };
      if (isDraining) app.announceStop();
      app.warmUp();
      const ended = end(before).catch(() => {}).finally(() => ending.delete(ended));
      ending.add(ended);
    },
  };
}

/** Returns true if a change of the tables can be the reason for the 404 or 405. */
function isUnknown({ status }: Response, { url }: Request, { resources }: App): boolean {
  if (status === 405) return true;
  if (status !== 404) return false;
  const { path } = parseRequestTarget(url);
  return !resources.some((one) => path === one.url || path.startsWith(`${one.url}/`));
}

const describesTables = /\/(?:api\/?|__service\/(?:schema|mcp|openapi\.\w+))$/;

/** The statuses after which a write has certainly changed nothing. */
const unmade: ReadonlySet<number> = new Set([404, 405, 500]);

const reads: ReadonlySet<string> = new Set(["GET", "HEAD"]);

async function changedTables({ headers: given, body }: Response): Promise<Response> {
  await body?.cancel();
  const detail =
    "The tables of the database were changed by another program, and nothing was written";
  const problem = new Problem("schema-changed", detail);
  const headers = new Headers(given);
  headers.delete("content-length");
  headers.set("retry-after", "1");
  return new Response(JSON.stringify(problem.toBody()), { status: problem.status, headers });
}

/** How long to wait for the last responses, such as a large export, in milliseconds. */
const maxWaitMs = 600_000;
const askMs = 50;
