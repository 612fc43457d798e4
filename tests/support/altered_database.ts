import { DatabaseSync } from "node:sqlite";
import { openReopening, withSharedSecrets } from "../../src/cli/reopen/reopening_service.ts";
import { prepareService } from "../../src/cli/prepare_service.ts";
import { openService } from "../../src/cli/run_service.ts";
import { parseServeArguments } from "../../src/cli/serve_arguments.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { createScratchDatabase } from "./engines.ts";
import { type EventStream, openEventStream } from "./event_stream.ts";
import { scratchFolder } from "./scratch.ts";
import { testPostgres } from "./skip.ts";

/** A database, and another program that changes it. */
export interface Altered extends AsyncDisposable {
  readonly place: string;
  run(...statements: readonly string[]): Promise<void>;
}

const server = testPostgres();

/** The members of a response that tests read: of rows, groups or a problem. */
export interface Answer {
  readonly items?: readonly Readonly<Record<string, unknown>>[];
  readonly groups?: unknown;
  readonly code?: string;
  readonly detail?: string;
  readonly [column: string]: unknown;
}

/** The command line over a database, in this process. */
export interface Served extends AsyncDisposable {
  ask(method: string, path: string, body?: unknown): Promise<readonly [status: number, Answer]>;
  send(path: string, init?: RequestInit): Promise<Response>;
  follow(path: string, resumeFrom?: string): Promise<EventStream>;
  /** The kinds of what was observed. */
  readonly observed: string[];
  /** Resolves once the tables are served as they are. */
  reopened(): Promise<void>;
}

const token = "a-token-of-the-tests";

/** Serves a database as the command line does with options. */
export async function serveAltered(
  place: string,
  ...options: readonly string[]
): Promise<Served> {
  const command = parseServeArguments([place, ...options]);
  if (command.kind !== "serve") throw new Error(JSON.stringify(command));
  const observed: string[] = [];
  let waiting: (() => void)[] = [];
  const system = systemRuntime((observation) => {
    observed.push(observation.kind);
    if (observation.kind !== "tables_changed") return;
    for (const resolve of waiting) resolve();
    waiting = [];
  });
  const { clock } = system;
  // A request waits two seconds for the new tables: here as long as a slow machine needs.
  const after = (ms: number, work: () => void) => clock.after(ms === 2_000 ? 60_000 : ms, work);
  const runtime = command.watchSchema ? system : { ...system, clock: { ...clock, after } };
  const open = async (runtime: Runtime, isFirst: boolean) => {
    const service = await prepareService(command, { runtime, token, isReread: !isFirst });
    const shared = { secret: "a secret of the tests", endsWith: null };
    return await openService({
      ...service,
      config: withSharedSecrets(service.config, shared, runtime),
    });
  };
  const { app } = await openReopening({
    open,
    watches: command.watchSchema,
    takesSignals: true,
    runtime,
  });
  // There is no listener, and timers of the service keep no process alive.
  const alive = setInterval(() => {}, 1_000);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const send = (path: string, init: RequestInit = {}) =>
    app.fetch(
      new Request(`http://localhost/${path}`, {
        ...init,
        headers: { ...headers, ...init.headers },
      }),
    );
  return {
    observed,
    send,
    async ask(method, path, body) {
      const init = { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
      const response = await send(`api/${path}`, init);
      const text = await response.text();
      return [response.status, text === "" ? null : JSON.parse(text)];
    },
    follow: (path, resumeFrom) =>
      openEventStream(
        (signal) => {
          const token = resumeFrom === undefined ? {} : { "last-event-id": resumeFrom };
          return send(`api/${path}`, { headers: token, signal });
        },
        () => {},
      ),
    reopened: () => new Promise((resolve) => waiting.push(resolve)),
    async [Symbol.asyncDispose]() {
      await app.close();
      clearInterval(alive);
    },
  };
}

async function sqliteFile(scheme: string): Promise<Altered> {
  const folder = await scratchFolder();
  const db = new DatabaseSync(`${folder.path}/shop.db`);
  return {
    place: `${scheme}:${folder.path}/shop.db`,
    run: async (...statements) => await Promise.resolve(db.exec(statements.join(";"))),
    async [Symbol.asyncDispose]() {
      db.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function postgresDatabase(): Promise<Altered> {
  if ("missing" in server) throw new Error(server.missing);
  const scratch = await createScratchDatabase(server.url);
  const db = await openDatabase(scratch.url);
  return {
    place: scratch.url,
    run: async (...statements) => {
      for (const text of statements) await db.query({ text, values: [] });
    },
    async [Symbol.asyncDispose]() {
      await db.close();
      await scratch.drop();
    },
  };
}

/** The engines, each with a database that another program alters. */
export const alteredDatabases = [
  { name: "better-sqlite3", open: () => sqliteFile("sqlite"), missing: null },
  { name: "node:sqlite", open: () => sqliteFile("node-sqlite"), missing: null },
  {
    name: "postgres",
    open: postgresDatabase,
    missing: "missing" in server ? server.missing : null,
  },
];
