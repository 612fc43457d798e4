import { all, createApp, type Database, resource, type ResourceOptions } from "../../mod.ts";
import { WriteCheck, type WriteContext } from "../../dev/check_database/writes/write_check.ts";
import type { RawRows } from "../../dev/check_database/writes/stored_rows.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

/** How the writes of a sweep are recorded, and how many rows of each table are written. */
export interface SweepOptions {
  readonly rows: number;
  readonly mode: "triggers" | "service";
}

/** What a sweep of writes found. */
export interface Sweep {
  /** How many rows of each table were written. */
  readonly written: ReadonlyMap<string, number>;
  /** How many copies of rows were created. */
  readonly copies: number;
  /** Each a sentence. */
  readonly faults: readonly string[];
}

/** Writes to every table of a database by HTTP what it has read by HTTP, within this process. */
export async function sweepWrites(db: Database, options: SweepOptions): Promise<Sweep> {
  const { tables } = await db.introspect();
  const rights = { create: () => all(), update: () => all(), delete: () => all() };
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    changes: { mode: options.mode },
    runtime: systemRuntime(() => {}),
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: tables.map((table) => {
      const ofTable: ResourceOptions<Record<string, unknown>> = {
        id: table.primaryKey.map(({ name }) => name),
        auth: table.readOnly ? { public: true } : { public: true, ...rights },
      };
      return resource(table, ofTable);
    }),
  });
  const checks: WriteCheck[] = [];
  const context: WriteContext = {
    ...{ raw: rawRows(db), maxRows: options.rows, checks },
    async send(method, path, body) {
      const answer = await app.fetch(
        new Request(`http://test${path}`, {
          method,
          headers: body === null ? {} : { "content-type": "application/json" },
          body: body === null ? null : JSON.stringify(body),
        }),
      );
      const text = await answer.text();
      return { status: answer.status, body: text === "" ? {} : JSON.parse(text) };
    },
  };
  try {
    for (const [index, table] of tables.entries()) {
      if (table.readOnly) continue;
      checks.push(new WriteCheck(table, app.resources[index]?.url ?? "", context));
    }
    const written = new Map<string, number>();
    const faults: string[] = [];
    let copies = 0;
    for (const check of checks) {
      const done = await check.run();
      written.set(check.name, done.rows);
      copies += done.copies;
      faults.push(...done.differences);
    }
    return { written, copies, faults };
  } finally {
    await app.close();
  }
}

function rawRows({ driver, dialect }: Database): RawRows {
  let connection: Pick<typeof driver, "query"> = driver;
  return {
    engine: dialect.engine === "sqlite" ? "sqlite" : "postgres",
    run: async (text, values) => (await connection.query({ text, values })).rows,
    async trial(work) {
      const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof work>>>();
      const undo = new Error("A trial is undone");
      try {
        await driver.transaction(async (inside) => {
          connection = inside;
          resolve(await work());
          throw undo;
        });
      } catch (error) {
        if (error !== undo) throw error;
      } finally {
        connection = driver;
      }
      return await promise;
    },
  };
}
