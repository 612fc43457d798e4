import { all, createApp, type Database, resource, type ResourceOptions } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import type { ColumnInfo, TableInfo } from "../../src/schema/table_info.ts";
import { identifier, join, rawSql, sql, tableName, toStatement } from "../../src/sql/fragment.ts";

/** What is swept, and what may change by itself. */
export interface SweepOptions {
  /** Columns that triggers set at every write. */
  readonly stamped: ReadonlySet<string>;
  /** How many rows of each table are written. */
  readonly rows: number;
  /** How changes are recorded while they are. */
  readonly mode: "triggers" | "service";
}

/** What a sweep of writes found. */
export interface Sweep {
  /** How many rows of each table were written. */
  readonly written: ReadonlyMap<string, number>;
  /** Each a sentence. */
  readonly faults: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Writes to every table of a database by HTTP what it has read by HTTP, and compares what is stored
 * by plain SQL: PUT and PATCH of a row as it was read change nothing, and a row that is deleted and
 * created again, or created under another key, is the same.
 */
export async function sweepWrites(db: Database, options: SweepOptions): Promise<Sweep> {
  const { tables } = await db.introspect();
  const rights = { create: () => all(), update: () => all(), delete: () => all() };
  const errors: string[] = [];
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    changes: { mode: options.mode },
    runtime: systemRuntime((observation) => {
      if ("error" in observation) errors.push(String(Deno.inspect(observation.error)));
    }),
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
  try {
    const written = new Map<string, number>();
    const faults: string[] = [];
    const sweeps: TableSweep[] = [];
    const swept = { db, app, options, errors, sweeps };
    for (const [index, table] of tables.entries()) {
      if (table.readOnly) continue;
      sweeps.push(new TableSweep(table, app.resources[index]?.url ?? "", swept));
    }
    for (const sweep of sweeps) written.set(sweep.name, await sweep.run());
    for (const sweep of sweeps) faults.push(...sweep.faults);
    return { written, faults };
  } finally {
    await app.close();
  }
}

interface Swept {
  readonly db: Database;
  readonly app: { fetch(request: Request): Response | Promise<Response> };
  readonly options: SweepOptions;
  /** Of all tables. */
  readonly sweeps: readonly TableSweep[];
  /** Of answers with 500. */
  readonly errors: string[];
}

class TableSweep {
  readonly faults: string[] = [];
  readonly #table: TableInfo;
  readonly #url: string;
  readonly #swept: Swept;

  constructor(table: TableInfo, url: string, swept: Swept) {
    this.#table = table;
    this.#url = url;
    this.#swept = swept;
  }

  /** Gives how many rows were written. */
  async run(): Promise<number> {
    const { body } = await this.#send("GET", `?limit=${this.#swept.options.rows}`, null, 200);
    const items: readonly Json[] = Array.isArray(body.items) ? body.items : [];
    for (const item of items) {
      const before = await this.#stored(item);
      await this.#send("PUT", this.#path(item), item, 200);
      await this.#unchanged(item, before, "PUT");
      for (const column of this.#table.columns) {
        if (column.primaryKey || column.generated) continue;
        const patch = { [column.name]: item[column.name] };
        await this.#send("PATCH", this.#path(item), patch, 200);
        await this.#unchanged(item, before, `PATCH of ${column.name}`);
      }
    }
    for (const item of items) await this.#createAgain(item);
    return items.length;
  }

  /** A row that others refer to is created under another key. */
  async #createAgain(item: Json): Promise<void> {
    const before = await this.#stored(item);
    const { status } = await this.#send("DELETE", this.#path(item), null, 204, 409);
    if (status === 204) {
      await this.#send("POST", "", item, 201);
      return await this.#unchanged(item, before, "DELETE and POST");
    }
    if (status !== 409) return;
    const created = await this.#createCopy(item);
    if (created === null) return;
    const after = await this.#stored(created);
    for (const [name, value] of Object.entries(before)) {
      const isFresh = created[name] !== item[name] || this.#swept.options.stamped.has(name);
      if (!isFresh && after[name] !== value) this.#report("POST", name, value, after[name]);
    }
    await this.#send("DELETE", this.#path(created), null, 204);
  }

  /** A row with new values where no other row may have the same; null where that is refused. */
  async #createCopy(item: Json): Promise<Json | null> {
    const fresh = new Map<string, unknown>();
    for (const column of this.#table.columns) {
      if (!column.primaryKey && !column.unique) continue;
      const target = column.primaryKey
        ? undefined
        : this.#swept.sweeps.find(({ name }) => name === column.references?.table);
      fresh.set(
        column.name,
        target === undefined
          ? freshValue(column, item)
          : await target.keyOfCopy(String(item[column.name])),
      );
    }
    const copy: Json = { ...item, ...Object.fromEntries(fresh) };
    const first = await this.#send("POST", "", copy, 201, 409);
    if (first.status === 201) return first.body;
    // A unique index of several columns: the refusal names them.
    const column = takenColumns(first.body).map((name) => this.#table.byName.get(name))
      .find((found) => found !== undefined && found.references === null);
    const again = column === undefined ? copy : {
      ...copy,
      [column.name]: freshValue(column, item),
    };
    const { status, body } = await this.#send("POST", "", again, 201);
    return status === 201 ? body : null;
  }

  /** The key of a copy of a row, to refer to. */
  async keyOfCopy(key: string): Promise<unknown> {
    const { body } = await this.#send("GET", `/${encodeURIComponent(key)}`, null, 200);
    const copy = await this.#createCopy(body);
    return copy?.[this.#table.primaryKey[0]?.name ?? ""];
  }

  get name(): string {
    return this.#table.name;
  }

  #path(item: Json): string {
    const key = this.#table.primaryKey.map(({ name }) => encodeURIComponent(String(item[name])));
    return `/${key.join(",")}`;
  }

  async #unchanged(item: Json, before: Json, after: string): Promise<void> {
    const now = await this.#stored(item);
    for (const [name, value] of Object.entries(before)) {
      if (this.#swept.options.stamped.has(name) || now[name] === value) continue;
      this.#report(after, name, value, now[name]);
    }
  }

  #report(after: string, name: string, before: unknown, now: unknown): void {
    this.faults.push(`${this.#url}: ${after} changed ${name} from ${before} to ${now}`);
  }

  /** What plain SQL shows of a row, by column: its type and its bytes. */
  async #stored(item: Json): Promise<Json> {
    const { db } = this.#swept;
    const isSqlite = db.dialect.engine === "sqlite";
    const columns = this.#table.columns;
    const cells = columns.map(({ dbName }) => {
      const name = identifier(dbName);
      return isSqlite
        ? sql`typeof(${name}) || ' ' || quote(${name})`
        : sql`coalesce(${name}::text, 'NULL')`;
    });
    const terms = this.#table.primaryKey.map(({ dbName, name }) =>
      isSqlite
        ? sql`CAST(${identifier(dbName)} AS TEXT) = ${String(item[name])}`
        : sql`${identifier(dbName)}::text = ${String(item[name])}`
    );
    const query = sql`SELECT ${join(cells, ", ")} FROM ${tableName(this.#table)} WHERE ${
      join(terms, " AND ")
    } ${rawSql("LIMIT 1")}`;
    const { rows: [row] } = await db.driver.query(toStatement(query, db.dialect.placeholder));
    return Object.fromEntries(columns.map(({ name }, index) => [name, row?.[index] ?? "no row"]));
  }

  async #send(
    method: string,
    path: string,
    body: Json | null,
    ...expected: readonly number[]
  ): Promise<{ readonly status: number; readonly body: Json }> {
    const { app, errors } = this.#swept;
    errors.length = 0;
    const answer = await app.fetch(
      new Request(`http://test${this.#url}${path}`, {
        method,
        headers: body === null ? {} : { "content-type": "application/json" },
        body: body === null ? null : JSON.stringify(body),
      }),
    );
    const text = await answer.text();
    if (!expected.includes(answer.status)) {
      const sent = body === null ? "" : ` ${JSON.stringify(body)}`;
      this.faults.push(
        `${method} ${this.#url}${path}${sent} is ${answer.status} ${text} ${errors.join()}`,
      );
    }
    return { status: answer.status, body: text === "" ? {} : JSON.parse(text) };
  }
}

/** The fields that a 409 names. */
function takenColumns(problem: Json): readonly string[] {
  const details: { readonly errors?: readonly { readonly path: string }[] } = Object(
    problem.details,
  );
  return (details.errors ?? []).map(({ path }) => path);
}

function freshValue(column: ColumnInfo, item: Json): unknown {
  const value = item[column.name];
  if (value === null || column.generated) return value;
  switch (column.kind) {
    case "integer":
      return 31_000 + Number(value) % 1_000;
    case "bigint":
      return String(31_000n + BigInt(String(value)) % 1_000n);
    case "decimal":
      return String(31_000 + Number(value));
    case "timestamp":
      return `2031${String(value).slice(4)}`;
    case "uuid":
      return crypto.randomUUID();
    default:
      return `${String(value).slice(0, 8)}-${crypto.randomUUID().slice(0, 8)}`;
  }
}
