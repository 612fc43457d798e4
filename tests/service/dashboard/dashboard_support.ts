import {
  type AppConfig,
  createApp,
  type Database,
  eq,
  integer,
  openDatabase,
  resource,
  table,
  text,
} from "../../../mod.ts";

import type { Answer } from "../../support/http.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";

/** Each user reads and changes own notes; the hash is hidden. */
export const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  owner: text(),
  hash: text(),
  version: integer().notNull().default(1),
});

/** What a test has of a service with a dashboard. */
export interface Dashboard {
  readonly db: Database;
  /** Sends a request below `/__service/ui`, as from this machine unless said otherwise. */
  send(method: string, path: string, options?: SendOptions): Promise<Response>;
  /** As a program of the operator: `send` with JSON, its answer read. */
  ask(method: string, path: string, options?: SendOptions): Promise<Answer>;
}

/** What is sent beside the path. */
export interface SendOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly address?: string;
  /** In place of `/__service/ui`. */
  readonly below?: string;
}

/** Runs `work` over a service with a dashboard and notes of ada and bob. */
export async function withDashboard(
  work: (dashboard: Dashboard) => Promise<void>,
  config: Partial<AppConfig> = {},
): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  await db.sql`INSERT INTO notes (id, title, owner, hash) VALUES
    (1, 'of ada', 'ada', 'h1'), (2, 'of bob', 'bob', 'h2')`;
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    adminUI: true,
    runtime: systemRuntime(() => {}),
    auth: {
      middleware: async (context, next) => {
        const id = context.req.header("x-user");
        if (id !== undefined) context.set("user", { id });
        await next();
      },
    },
    resources: [resource(notes, {
      id: notes.id,
      etag: { versionField: notes.version },
      fields: {
        readable: [notes.id, notes.title, notes.owner, notes.version],
        writable: [notes.title],
      },
      auth: {
        read: (user) => eq(notes.owner, user.id),
        update: (user) => eq(notes.owner, user.id),
        subscribe: (user) => eq(notes.owner, user.id),
      },
    })],
    ...config,
  });
  async function send(method: string, path: string, options: SendOptions = {}): Promise<Response> {
    const { body, headers = {}, address = "127.0.0.1", below = "/__service/ui" } = options;
    const request = new Request(`http://localhost${below}${path}`, {
      method,
      headers: body === undefined ? headers : { "content-type": "application/json", ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return await app.fetch(request, { remoteAddr: { transport: "tcp", hostname: address } });
  }
  try {
    await work({
      ...{ db, send },
      async ask(method, path, options) {
        const response = await send(method, path, options);
        const { status, headers } = response;
        const given = await response.text();
        return { status, headers, body: given === "" ? null : JSON.parse(given) };
      },
    });
  } finally {
    await app.close();
    await db.close();
  }
}
