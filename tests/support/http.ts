import type { AppConfig } from "../../src/app/config.ts";
import { type App, createApp, type RequestInfo } from "../../src/app/app.ts";
import { tableInfoOf, type TableLike } from "../../src/schema/table_like.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { type Engine, engineOfEachDialect, engines, everyEngine } from "./engines.ts";
import { type EventStream, openEventStream } from "./event_stream.ts";
import { testUnless } from "./skip.ts";
import type { Database } from "../../src/db/database.ts";

/** An answer with its JSON read. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
  readonly body: any;
}

/** An app under test, called in process. */
export interface Service {
  readonly db: Database;
  readonly app: App;
  /** Everything that the app observed. */
  readonly observations: readonly Observation[];
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** `body` is sent as JSON, a string as it is. */
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** Opens a live stream. A refusal throws. */
  subscribe(
    path: string,
    headers?: Record<string, string>,
    info?: RequestInfo,
  ): Promise<EventStream>;
}

/**
 * What values of hidden columns begin with, in every test that has some: no answer, header or
 * observation of any of them may hold it.
 */
export const hiddenMark = "xyzzy-";

/** Throws where a hidden value stands in a text. */
export function requireHidden(text: string, where: string): void {
  if (text.includes(hiddenMark)) throw new Error(`A hidden value stands in ${where}: ${text}`);
}

/** The header by which the tests say who calls. */
export const userHeader = "x-user";

/** Runs `work` against an app over a fresh database with these tables. */
export async function withService(
  engine: Engine,
  tables: readonly TableLike<unknown, unknown>[],
  config: (db: Database) => Omit<AppConfig, "db">,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  const db = await engine.open();
  let app: App | null = null;
  try {
    await db.createTables(tables);
    const observations: Observation[] = [];
    app = await createApp({
      db,
      secret: "a secret for the tests only",
      auth: {
        middleware: async (context, next) => {
          const id = context.req.header(userHeader);
          if (id !== undefined) context.set("user", { id });
          await next();
        },
      },
      // Without the cron of Deno, which keeps waiting where a minute begins during a test.
      runtime: {
        ...systemRuntime((observation) => observations.push(observation)),
        cron: undefined,
      },
      ...config(db),
    });
    const { fetch } = app;
    const call = async (request: Request): Promise<Answer> => {
      const response = await fetch(request);
      const text = await response.text();
      requireHidden(text, "an answer");
      requireHidden(JSON.stringify([...response.headers]), "a header");
      const type = response.headers.get("content-type") ?? "";
      const json = /[/+]json\b/.test(type) && text !== "";
      return {
        status: response.status,
        headers: response.headers,
        body: json ? JSON.parse(text) : text,
      };
    };
    await work({
      db,
      app,
      observations,
      subscribe: async (path, headers = {}, info) =>
        await openEventStream(
          (signal) => fetch(new Request(`http://test${path}`, { headers, signal }), info),
          requireHidden,
        ),
      get: (path, headers = {}) => call(new Request(`http://test${path}`, { headers })),
      send: (method, path, body, headers = {}) =>
        call(
          new Request(`http://test${path}`, {
            method,
            headers: {
              ...(body === undefined ? {} : { "content-type": "application/json" }),
              ...headers,
            },
            body: body === undefined
              ? null
              : typeof body === "string"
              ? body
              : JSON.stringify(body),
          }),
        ),
    });
    for (const observation of observations) {
      requireHidden(Deno.inspect(observation, { depth: 9 }), "an observation");
    }
  } finally {
    await app?.close();
    await db.close();
    // On a busy machine, the scheduler of requests may still rest for one timer.
    await new Promise((resolve) => setTimeout(resolve));
  }
}

/** One test for each engine that most tests run over. */
export function testOnEngines(
  name: string,
  work: (engine: Engine) => Promise<void>,
  on: readonly Engine[] = engines,
): void {
  testOn(on, name, work);
}

/** One test for each engine: the example of its family that PGlite runs by default, too. */
export function testOnEveryEngine(name: string, work: (engine: Engine) => Promise<void>): void {
  testOn(everyEngine, name, work);
}

/** One test for each dialect: long ones, of what lies above the drivers. */
export function testOnDialects(name: string, work: (engine: Engine) => Promise<void>): void {
  testOn(engineOfEachDialect, name, work);
}

function testOn(
  engines: readonly Engine[],
  name: string,
  work: (engine: Engine) => Promise<void>,
): void {
  for (const engine of engines) {
    testUnless(engine.ignore ?? null, `${name} (${engine.name})`, () => work(engine));
  }
}

/** Writes rows past the service, so that a test's data does not depend on what it tests. */
export async function insertRows(
  db: Database,
  table: TableLike<unknown, unknown>,
  rows: readonly Record<string, unknown>[],
): Promise<void> {
  const info = tableInfoOf(table);
  const { dialect } = db.driver;
  await db.driver.transaction(async (connection) => {
    for (const row of rows) {
      const columns = info.columns.filter((column) => Object.hasOwn(row, column.name));
      const names = columns.map((column) => `"${column.dbName}"`).join(", ");
      const places = columns.map((_column, index) => dialect.placeholder(index + 1)).join(", ");
      await connection.query({
        text: `INSERT INTO "${info.name}" (${names}) VALUES (${places})`,
        values: columns.map((column) => dialect.encode(row[column.name], column)),
      });
    }
  });
}
