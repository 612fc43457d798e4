/** Services over tables with row level security, as roles that the tests create. */
import { type App, createApp } from "../../src/app/app.ts";
import { type CliService, decideCliRights } from "../../src/cli/cli_service.ts";
import { serveDatabase } from "../../src/cli/database/serve_database.ts";
import type { AppConfig } from "../../src/app/config.ts";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import type { Clock } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { boolean, integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { type EventStream, openEventStream } from "../support/event_stream.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { runScript } from "../support/scratch.ts";

export const docs = table("docs", {
  id: integer().primaryKey(),
  title: text(),
  visible: boolean(),
});

export const links = table("links", {
  id: integer().primaryKey(),
  docId: integer().references(() => docs.id).as("doc_id"),
  name: text(),
});

/** A role that may log in, on a database in which the tests' own role is a superuser. */
export interface World {
  readonly url: string;
  readonly role: string;
  readonly admin: Database;
  /** Runs a script as the superuser, as another program does. */
  run(script: string): Promise<void>;
}

export const tables = `CREATE TABLE docs (id integer PRIMARY KEY, title text, visible boolean);
  INSERT INTO docs VALUES (1, 'tea', true), (2, 'hidden tea', false);
  CREATE TABLE links (id integer PRIMARY KEY, doc_id integer REFERENCES docs, name text);
  INSERT INTO links VALUES (1, 1, 'a'), (2, 2, 'b');`;
export const secured = `ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
  CREATE POLICY seen ON docs USING (visible);`;

export function testWithRole(name: string, work: (world: World) => Promise<void>): void {
  testOnPostgres(name, async (url) => {
    const admin = await openDatabase(url);
    const role = `role_${crypto.randomUUID().replaceAll("-", "")}`;
    const own = new URL(url);
    own.username = role;
    const run = (script: string) =>
      runScript(admin.driver, script.replaceAll("ROLE_", role).replaceAll(/;\s*/g, ";\n"));
    try {
      await run(`CREATE ROLE ROLE_ LOGIN; GRANT ALL ON SCHEMA public TO ROLE_`);
      await work({ url: own.href, role, admin, run });
    } finally {
      await run("DROP OWNED BY ROLE_ CASCADE; DROP ROLE ROLE_");
      await admin.close();
    }
  });
}

export const owned = "ALTER TABLE docs OWNER TO ROLE_; ALTER TABLE links OWNER TO ROLE_;";

export interface Started extends AsyncDisposable {
  readonly app: App;
  readonly notices: readonly string[];
  get(path: string): Promise<{ readonly status: number; readonly body: string }>;
  subscribe(path: string): Promise<EventStream>;
}

export async function startApp(
  { url }: World,
  config: Partial<Omit<AppConfig, "db">> & { readonly db?: Database } = {},
  clock?: Clock,
): Promise<Started> {
  const notices: string[] = [];
  const runtime = {
    ...systemRuntime((one) => one.kind === "notice" && notices.push(one.message)),
    cron: undefined,
    ...clock === undefined ? {} : { clock },
  };
  const db = config.db ?? await openDatabase(url);
  const app = await createApp({
    secret: "a secret for the tests only",
    runtime,
    resources: [resource(docs, { id: docs.id, auth: { public: true } })],
    ...config,
    db,
  }).catch(async (error) => {
    await db.close();
    throw error;
  });
  const headers = { authorization: "Bearer t_token" };
  return {
    app,
    notices,
    async get(path) {
      const response = await app.fetch(new Request(`http://localhost/api${path}`, { headers }));
      return { status: response.status, body: await response.text() };
    },
    subscribe: (path) =>
      openEventStream(
        (signal) => app.fetch(new Request(`http://localhost/api${path}`, { headers, signal })),
        () => {},
      ),
    [Symbol.asyncDispose]: () => app.close(),
  };
}

export async function startCommand(
  world: World,
): Promise<Started & Pick<CliService, "streams" | "describe">> {
  const facts = { host: "127.0.0.1", public: false, writable: true };
  const { config, streams, describe } = await serveDatabase(world.url, {
    ...{ rights: decideCliRights(facts, "t_token"), runtime: systemRuntime(() => {}) },
    ...{ recording: { triggers: true, schema: null }, isSearched: true, schemas: null },
    ...{ kv: undefined, accountsIn: undefined },
  });
  const { runtime: _, ...given } = config;
  const started = await startApp(world, { ...given, adminUI: { authorize: () => true } });
  return { ...started, streams, describe };
}
