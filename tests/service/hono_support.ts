import type { Hono } from "@hono/hono";
import { createApp } from "../../src/app/app.ts";
import type { App } from "../../src/app/app.ts";
import type { AppConfig } from "../../src/app/config.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { all } from "../../src/filter/builders.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { procedure } from "../../src/resource/model/procedure.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { text, timestamp } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import type { AppEnv, Middleware } from "../../src/service/middleware.ts";

/** The table of the tests of Hono routes: with every route that a resource can have. */
export const notes = table("notes", {
  id: text().primaryKey(),
  title: text(),
  deletedAt: timestamp(),
});

/** Takes anything, as a schema of a procedure. */
const anything = {
  "~standard": {
    version: 1 as const,
    vendor: "test",
    validate: (value: unknown) => ({ value }),
  },
};

/** Sets the user that the header `x-user` names. */
export const byHeader: Middleware = async (context, next) => {
  const id = context.req.header("x-user");
  if (id !== undefined) context.set("user", { id });
  await next();
};

/** An app over a fresh database, and what it observed. */
export interface HonoService {
  readonly app: App;
  readonly hono: Hono<AppEnv>;
  readonly observations: readonly Observation[];
}

/** Runs `work` with an app that serves the notes: `one`, `count` and `a/b`. */
export async function withNotes(
  config: Partial<AppConfig>,
  work: (service: HonoService) => Promise<void>,
): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const observations: Observation[] = [];
  for (const id of ["one", "count", "a/b"]) {
    await db.driver.query({
      text: `INSERT INTO notes (id, title) VALUES (?, ?)`,
      values: [id, id],
    });
  }
  const everyone = { public: true, create: () => all(), update: () => all(), delete: () => all() };
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    auth: { middleware: byHeader },
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { ...everyone, subscribe: () => all() },
        softDelete: { field: notes.deletedAt },
        capabilities: { enableExport: true },
        procedures: {
          echo: procedure({
            input: anything,
            output: anything,
            public: true,
            handler: (_context, input) => input,
          }),
        },
      }),
    ],
    runtime: systemRuntime((observation) => observations.push(observation)),
    ...config,
  }).catch(async (error) => {
    await db.close();
    throw error;
  });
  try {
    await work({ app, hono: app.hono, observations });
  } finally {
    await app.close();
  }
}

/** The status and the JSON of an answer, or its text. */
export async function read(response: Response): Promise<readonly [status: number, body: unknown]> {
  const text = await response.text();
  const type = response.headers.get("content-type") ?? "";
  return [response.status, type.includes("json") && text !== "" ? JSON.parse(text) : text];
}

/** A request with a JSON body. */
export function post(path: string, body: string, headers: Record<string, string> = {}): Request {
  return new Request(`http://test${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-user": "ada", ...headers },
    body,
  });
}
