import { writeJson } from "../../../src/schema/exact_json.ts";
import type { ColumnInfo, TableInfo } from "../../../src/schema/table_info.ts";
import { freshValue } from "./fresh_value.ts";
import { type Item, type RawRows, type RowKey, StoredRows } from "./stored_rows.ts";

/** The response to a request. */
export interface Reply {
  readonly status: number;
  readonly body: Item;
  readonly etag?: string | null;
}

/** The service whose writes are compared with plain SQL. */
export interface WriteContext {
  readonly raw: RawRows;
  /** Sends a request to a path, without or with a body. */
  send(method: string, path: string, body: Item | null): Promise<Reply>;
  /** The maximum number of rows of each table that are written. */
  readonly maxRows: number;
  /** The checks of all tables. */
  readonly checks: readonly WriteCheck[];
}

/** The results of the writes to one table. */
export interface Written {
  /** The number of rows that were written back. */
  readonly rows: number;
  /** The number of copies that were created and deleted. */
  readonly copies: number;
  /** The writes that a rule of the database refuses, each with a reason. */
  readonly refused: readonly string[];
  readonly differences: readonly string[];
}

interface Copy {
  /** The new row, or null if the database refuses it. */
  readonly created: Item | null;
  /** The names of the fields with a new value. */
  readonly fresh: ReadonlySet<string>;
}

/**
 * Writes to a table by HTTP what was read by HTTP, and compares the stored rows by plain SQL. PUT and
 * PATCH of a row as it was read change nothing, and a copy of a row under another key is the same row.
 */
export class WriteCheck {
  readonly #table: TableInfo;
  readonly #url: string;
  readonly #context: WriteContext;
  readonly #stored: StoredRows;
  /** The columns that triggers set at every write. */
  readonly #stamped = new Set<string>();
  readonly #refused: string[] = [];
  readonly #differences: string[] = [];

  constructor(table: TableInfo, url: string, context: WriteContext) {
    this.#table = table;
    this.#url = url;
    this.#context = context;
    this.#stored = new StoredRows(table, context.raw);
  }

  get name(): string {
    return this.#table.name;
  }

  async run(): Promise<Written> {
    const rows = await this.#rows();
    for (const [item, key] of rows) await this.#writeBack(item, key);
    let copies = 0;
    for (const [item] of rows) copies += Number(await this.#copy(item));
    return {
      ...{ rows: rows.length, copies, refused: this.#refused },
      differences: this.#differences,
    };
  }

  /** Returns the first rows with their keys in SQL. */
  async #rows(): Promise<readonly (readonly [Item, RowKey])[]> {
    const path = `${this.#url}?limit=${this.#context.maxRows}`;
    const { body } = await this.#send("GET", path, null, [200]);
    const items: readonly Item[] = Array.isArray(body["items"]) ? body["items"] : [];
    const keys = await this.#stored.firstKeys(items.length);
    return items.flatMap((item, index) => {
      const key = keys[index];
      return key === undefined || key.includes(null) ? [] : [[item, key] as const];
    });
  }

  async #writeBack(item: Item, key: RowKey): Promise<void> {
    const before = await this.#stored.read(key);
    const trial = await this.#stored.tryUpdate(key, before);
    if (trial.refused !== null) this.#refused.push(`${this.#url}: ${trial.refused}`);
    for (const name of trial.stamped) this.#stamped.add(name);
    const expected = trial.refused === null ? [200] : [];
    const path = this.#path(item);
    const isUnchanged = async (after: string) => {
      const now = await this.#stored.read(key);
      for (const [name, value] of Object.entries(before)) {
        if (this.#stamped.has(name) || now[name] === value) continue;
        this.#report(after, name, value, now[name]);
      }
    };
    await this.#send("PUT", path, item, expected);
    await isUnchanged("PUT");
    for (const { name, primaryKey, generated } of this.#table.columns) {
      if (primaryKey || generated) continue;
      await this.#send("PATCH", path, { [name]: item[name] }, expected);
      await isUnchanged(`PATCH of ${name}`);
    }
  }

  /** Creates, reads and deletes a copy of a row. Returns false if the database refuses the copy. */
  async #copy(item: Item): Promise<boolean> {
    const { created, fresh } = await this.#createCopy(item);
    if (created === null) return false;
    const path = this.#path(created);
    const read = await this.#send("GET", path, null, [200]);
    for (const { name, generated } of this.#table.columns) {
      if (generated || this.#stamped.has(name)) continue;
      const [old, sent, now] = [item, created, read.body].map((row) =>
        writeJson(row[name] ?? null)
      );
      if (now === sent && (now === old || fresh.has(name))) continue;
      this.#report("POST", name, sent, now);
    }
    const reply = await this.#send("DELETE", path, null, [204, 403, 409, 422]);
    if (reply.status !== 204) this.#refused.push(`${this.#url}: DELETE is ${reasonOf(reply)}`);
    return true;
  }

  /** A row with new values where no other row may have the same; null where that is refused. */
  async #createCopy(item: Item): Promise<Copy> {
    const fresh = new Map<string, unknown>();
    for (const column of this.#table.columns) {
      if (!column.primaryKey && !column.unique) continue;
      const target = column.primaryKey
        ? undefined
        : this.#context.checks.find(({ name }) => name === column.references?.table);
      fresh.set(
        column.name,
        target === undefined
          ? freshValue(column, item[column.name])
          : await target.keyOfCopy(String(item[column.name])),
      );
    }
    const own = this.#table.columns.filter(({ generated }) => !generated).map(({ name }) => name);
    const copy: Item = Object.fromEntries(
      own.map((name) => [name, fresh.has(name) ? fresh.get(name) : item[name]]),
    );
    const first = await this.#create(copy);
    if (first.status === 201) return { created: first.body, fresh: new Set(fresh.keys()) };
    // A unique index of several columns: the refusal names them.
    const taken = takenColumns(first.body).map((name) => this.#table.byName.get(name))
      .find((found) => found !== undefined && found.references === null);
    const again = taken === undefined ? null : await this.#create({
      ...copy,
      [taken.name]: freshValue(taken, copy[taken.name]),
    });
    const changed = new Set([...fresh.keys(), ...(taken === undefined ? [] : [taken.name])]);
    if (again?.status === 201) return { created: again.body, fresh: changed };
    this.#refused.push(`${this.#url}: POST is ${reasonOf(again ?? first)}`);
    return { created: null, fresh: changed };
  }

  async #create(copy: Item): Promise<Reply> {
    return await this.#send("POST", this.#url, copy, [201, 400, 403, 409, 422]);
  }

  /** The key of a copy of a row, to refer to. */
  async keyOfCopy(key: string): Promise<unknown> {
    const path = `${this.#url}/,${encodeURIComponent(key)}`;
    const { status, body } = await this.#send("GET", path, null, [200, 404]);
    if (status !== 200) return null;
    const { created } = await this.#createCopy(body);
    return created?.[this.#table.primaryKey[0]?.name ?? ""] ?? null;
  }

  #path(item: Item): string {
    return `${this.#url}/${pathKey(item, this.#table.primaryKey)}`;
  }

  #report(after: string, name: string, before: unknown, now: unknown): void {
    this.#differences.push(`${this.#url}: ${after} changed ${name} from ${before} to ${now}`);
  }

  /** Sends a request. Without `expected`, all statuses below 500 are expected. */
  async #send(
    method: string,
    path: string,
    body: Item | null,
    expected: readonly number[],
  ): Promise<Reply> {
    const reply = await this.#context.send(method, path, body);
    const isExpected = expected.length === 0 ? reply.status < 500 : expected.includes(reply.status);
    if (!isExpected) {
      const sent = body === null ? "" : ` ${writeJson(body).slice(0, 300)}`;
      const shown = writeJson(reply.body).slice(0, 400);
      this.#differences.push(`${method} ${path}${sent} is ${reply.status} ${shown}`);
    }
    return reply;
  }
}

/** Returns the path segment of a row. A comma may precede the key of one column. */
export function pathKey(item: Item, key: readonly ColumnInfo[]): string {
  const parts = key.map(({ name, databaseType }) => {
    const value = item[name];
    const isString = databaseType?.shape.kind === "any" && typeof value === "string" &&
      !/^x'[0-9a-f]*'$/.test(value);
    return encodeURIComponent(isString ? `"${value}"` : String(value));
  });
  return parts.length === 1 ? `,${parts}` : parts.join(",");
}

/** The fields that a 409 names. */
function takenColumns(problem: Item): readonly string[] {
  return errorsOf(problem).map(({ path }) => path);
}

function errorsOf(problem: Item): readonly { readonly path: string; readonly message: string }[] {
  return Object(problem["details"]).errors ?? [];
}

function reasonOf({ status, body }: Reply): string {
  const [first] = errorsOf(body);
  const reason = first === undefined ? body["detail"] : `${first.path} ${first.message}`;
  return `${status}: ${reason}`;
}
