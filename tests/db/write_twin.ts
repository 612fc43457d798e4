/** A service that is given groups of writes. */
import { type App, createApp } from "../../src/app/app.ts";
import type { Database } from "../../src/db/database.ts";
import type { Driver } from "../../src/db/driver.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { all } from "../../src/filter/builders.ts";
import { rsql } from "../../src/filter/filter_text.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { userHeader } from "../support/http.ts";
import { runScript } from "../support/scratch.ts";
import {
  groupTableNames,
  groupTables,
  partOf,
  type SingleWrite,
  type WriteGroup,
} from "./write_groups.ts";

/** What a group of writes has done. */
export interface GroupResult {
  /** For each part, its answers in the order of the group, its events and its rows, as text. */
  readonly parts: readonly string[];
  readonly statuses: readonly number[];
  /** The number of writes that shared their transaction with another one. */
  readonly shared: number;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** What a database holds: rows by their tables, and changes. */
interface Stored {
  readonly rows: Readonly<Record<typeof groupTableNames[number], readonly StoredRow[]>>;
  readonly changes: readonly {
    readonly table: string;
    readonly op: string;
    readonly before: StoredRow | null;
    readonly after: StoredRow | null;
    readonly xid: string;
  }[];
}

type StoredRow = Readonly<Record<string, unknown>> & { readonly id: number };

/** A service over a database that is removed at the end. */
export class Twin implements AsyncDisposable {
  readonly #app: App;
  readonly #db: Database;
  readonly #drop: () => Promise<void>;

  private constructor(app: App, db: Database, drop: () => Promise<void>) {
    this.#app = app;
    this.#db = db;
    this.#drop = drop;
  }

  /** Opens a service over a new database. `spoil` replaces its driver. */
  static async open(url: string, spoil = (driver: Driver) => driver): Promise<Twin> {
    const scratch = await createScratchDatabase(url);
    const db = await openDatabase(spoil(await openPostgres(scratch.url)));
    await runScript(db.driver, `${groupTables};\n${resetFunction}`);
    const { tables } = await db.introspect();
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      runtime: { ...systemRuntime(() => {}), cron: undefined },
      changes: { mode: "triggers" },
      auth: {
        middleware: async (context, next) => {
          const id = context.req.header(userHeader);
          if (id !== undefined) context.set("user", { id });
          await next();
        },
      },
      resources: tables.map((table) => {
        if (table.name !== "items") return resource(table, { id: "id", auth: open });
        const own = ({ id }: { readonly id: string }) => rsql`owner==${id}`;
        return resource(table, {
          id: "id",
          auth: { public: true, create: own, update: own, delete: own },
          etag: { versionField: "version" },
        });
      }),
    });
    return new Twin(app, db, scratch.drop);
  }

  /**
   * Replaces all rows by the rows of a group, and sends the writes of the group: all at once, or one
   * by one in an order for each part.
   */
  async run(
    { rows, parts }: WriteGroup,
    orders: readonly (readonly number[])[] | null,
  ): Promise<GroupResult> {
    await this.#query("SELECT reset_rows($1::text::json)", JSON.stringify(rows));
    const answers: Answer[][] = parts.map(() => []);
    const send = async (part: number, position: number) => {
      const write = parts[part]?.[position];
      const to = answers[part];
      if (write !== undefined && to !== undefined) to[position] = await this.#send(write);
    };
    if (orders === null) {
      await Promise.all(
        parts.flatMap((writes, part) => writes.map((_, position) => send(part, position))),
      );
    } else {
      for (const [part, order] of orders.entries()) {
        for (const position of order) await send(part, position);
      }
    }
    return resultOf(answers, await this.#stored());
  }

  async #send({ method, path, user, body, ifMatch }: SingleWrite): Promise<Answer> {
    const response = await this.#app.fetch(
      new Request(`http://test/api/${path}`, {
        method,
        headers: {
          [userHeader]: user,
          ...(body !== undefined && { "content-type": "application/json" }),
          ...(ifMatch !== undefined && { "if-match": ifMatch }),
        },
        body: body === undefined ? null : JSON.stringify(body),
      }),
    );
    const { status, headers } = response;
    const text = [status, headers.get("etag"), headers.get("location"), await response.text()];
    return { status, text: text.join(" ") };
  }

  async #stored(): Promise<Stored> {
    return JSON.parse(await this.#query(storedRows));
  }

  /** Returns the number of transactions that were rolled back so far. */
  async rolledBack(): Promise<number> {
    return Number(await this.#query(rollbacks));
  }

  async #query(text: string, ...values: readonly string[]): Promise<string> {
    const { rows: [[value] = []] } = await this.#db.driver.query({ text, values });
    return String(value);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#app.close();
    await this.#db.close();
    await this.#drop();
  }
}

const open = { public: true, create: () => all(), update: () => all(), delete: () => all() };

function resultOf(answers: readonly (readonly Answer[])[], stored: Stored): GroupResult {
  const lines = answers.map((some) => some.map(({ text }) => text));
  const writesOf = new Map<string, Set<number>>();
  // Changes of different rows have no order within a part.
  const changes = stored.changes.map(({ xid, ...change }) => ({ xid, change, ...keyOf(change) }))
    .toSorted((one, other) => one.name.localeCompare(other.name) || one.id - other.id);
  for (const { change, id, xid } of changes) {
    lines[partOf(id)]?.push(JSON.stringify(change));
    writesOf.set(xid, (writesOf.get(xid) ?? new Set()).add(partOf(id)));
  }
  for (const name of groupTableNames) {
    for (const row of stored.rows[name]) lines[partOf(row.id)]?.push(JSON.stringify(row));
  }
  const shared = [...writesOf.values()].filter(({ size }) => size > 1);
  return {
    parts: lines.map((some) => some.join("\n")),
    statuses: answers.flat().map(({ status }) => status),
    shared: shared.reduce((sum, { size }) => sum + size, 0),
  };
}

function keyOf(
  { table, before, after }: Omit<Stored["changes"][number], "xid">,
): { readonly name: string; readonly id: number } {
  return { name: table, id: (after ?? before)?.id ?? -1 };
}

/** Neither the triggers of the tables nor foreign keys take part. The log is empty at the end. */
const resetFunction = `
CREATE FUNCTION reset_rows(given json) RETURNS void LANGUAGE plpgsql
SET session_replication_role = replica AS $$ BEGIN
  ${groupTableNames.map((name) => `DELETE FROM ${name}; --`).join("\n  ")}
  ${
  groupTableNames.map((name) =>
    `INSERT INTO ${name} SELECT * FROM json_populate_recordset(NULL::${name}, given->'${name}'); --`
  ).join("\n  ")
}
  DELETE FROM _service_changes; --
END $$`;

const storedRows = `SELECT json_build_object('rows', json_build_object(${
  groupTableNames.map((name) =>
    `'${name}', (SELECT coalesce(json_agg(t ORDER BY id), '[]') FROM ${name} t)`
  ).join(", ")
}), 'changes', (SELECT coalesce(json_agg(json_build_object('table', "table", 'op', op,
  'before', before, 'after', after, 'xid', xid::text) ORDER BY seq), '[]')
  FROM _service_changes))::text`;

const rollbacks = `SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()`;
