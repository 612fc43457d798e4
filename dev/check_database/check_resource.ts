import type { FieldSchema } from "../../src/openapi/fields.ts";
import type { ResourceSchema } from "../../src/openapi/service_schema.ts";
import { quoteName } from "../../src/filter/syntax/quoted_name.ts";
import { isIncomparable } from "./oracle.ts";
import type { Cell, Condition, Oracle, OracleTable } from "./oracle.ts";
import { parse, print } from "./json.ts";
import { exportedRows } from "./exported_rows.ts";
import { comparisons, isPlain, literal, pathOfKey } from "./filter_literals.ts";
import { findVarying, pairRows } from "./keyless_rows.ts";
import { isSameValue } from "./same_value.ts";
import type { Served } from "./served.ts";

/** The service and the database to compare, and the limits of the comparison. */
export interface CheckContext {
  readonly served: Served;
  readonly oracle: Oracle;
  /** The maximum number of compared rows of a table. */
  readonly maxRows: number;
}

/** The result of the comparison of one resource. */
export interface Checked {
  readonly rows: number;
  /** The differences, each with the path of its request. */
  readonly differences: readonly string[];
  /** Filters and orders that the service refuses for the type of their field. */
  readonly refused: number;
  /** True if all pages were read. False if the rows of an export were compared instead. */
  readonly isWalked: boolean;
  /** Columns of a view whose values differ in each statement, so they cannot be compared. */
  readonly varying: readonly string[];
}

interface Page {
  readonly items: readonly Row[];
  readonly nextCursor: string | null;
}

type Row = Readonly<Record<string, unknown>>;

/** Compares all responses of a resource to reads with plain SQL. */
export async function checkResource(
  resource: ResourceSchema,
  context: CheckContext,
): Promise<Checked> {
  const table = context.served.tables.get(resource.path);
  if (table === undefined) throw new Error(`${resource.path} has no table`);
  return await new ResourceCheck(resource, table, context).run();
}

class ResourceCheck {
  readonly #resource: ResourceSchema;
  readonly #table: OracleTable;
  readonly #context: CheckContext;
  readonly #differences: string[] = [];
  #refused = 0;
  #hasKeys: boolean;
  /** Columns of a view for which SQL itself returns different values each time. */
  #varying: ReadonlySet<string> = new Set();

  constructor(resource: ResourceSchema, table: OracleTable, context: CheckContext) {
    this.#resource = resource;
    this.#table = table;
    this.#context = context;
    this.#hasKeys = resource.primaryKey.length > 0;
  }

  async run(): Promise<Checked> {
    const { fields, path, primaryKey } = this.#resource;
    const cells = await this.#select([], this.#context.maxRows);
    // The order of rows with NULL in their key is undefined.
    this.#hasKeys &&= cells.every((row) =>
      fields.every(({ name }, at) => !primaryKey.includes(name) || row[at] !== null)
    );
    const key = this.#hasKeys ? primaryKey : null;
    await this.#whereSqlCompares(async () => {
      this.#varying = await findVarying(this.#resource, this.#table, key, this.#context);
    });
    const walked = await this.#walk(cells);
    const { exported, wrong } = await exportedRows(path, this.#context, cells.length);
    for (const difference of wrong) this.#differ(path, difference);
    if (walked !== null) this.#sameLines(walked, exported);
    const rows = walked ?? exported;
    const stored = this.#hasKeys ? cells : this.#pair(rows, cells);
    await this.#whereSqlCompares(() => this.#count());
    for (const [index, field] of fields.entries()) {
      await this.#whereSqlCompares(() => this.#order(field));
      await this.#whereSqlCompares(() =>
        this.#filter(field, stored.map((row) => row?.[index] ?? null), rows)
      );
    }
    await this.#rowsByKey(rows);
    for (const relation of this.#resource.relations) await this.#include(relation.name, rows);
    return {
      ...{ rows: rows.length, differences: this.#differences, refused: this.#refused },
      ...{ isWalked: walked !== null, varying: [...this.#varying] },
    };
  }

  /** Some Postgres types have no order or no equality, so SQL cannot verify the service. */
  async #whereSqlCompares(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isIncomparable(error)) throw error;
      this.#refused++;
    }
  }

  /** Reads and compares all rows. Returns null if the service refuses a further page. */
  async #walk(cells: readonly (readonly Cell[])[]): Promise<readonly Row[] | null> {
    const rows: Row[] = [];
    let cursor = "";
    do {
      const path = this.#path({ limit: "100", ...(cursor === "" ? {} : { cursor }) });
      const { status, text } = await this.#context.served.get(path);
      // A list in the order of varying values cannot continue, and the error says so.
      if (status === 400 && cursor !== "" && text.includes("--key")) return null;
      if (status !== 200) {
        this.#differ(path, `is ${status} ${text.slice(0, 200)}`);
        return rows;
      }
      // The cast is safe: the comparison detects any other shape of a page.
      const page = parse(text) as Page;
      rows.push(...page.items);
      cursor = page.nextCursor ?? "";
    } while (cursor !== "" && rows.length < this.#context.maxRows);
    const walked = rows.slice(0, this.#context.maxRows);
    if (walked.length !== cells.length) {
      this.#differ(this.#path({}), `a walk gives ${walked.length} rows, SQL ${cells.length}`);
    }
    if (this.#hasKeys) {
      for (const [index, row] of walked.entries()) this.#compare(row, cells[index] ?? []);
    }
    return walked;
  }

  /** Without a key, SQL has no comparable order. Therefore the rows are paired by their values. */
  #pair(rows: readonly Row[], cells: readonly (readonly Cell[])[]) {
    if (cells.length === this.#context.maxRows) return cells.map(() => null);
    const pairs = pairRows(rows, cells, { ...this.#resource, varying: this.#varying });
    for (const [index, pair] of pairs.entries()) {
      if (pair !== null) continue;
      this.#differ(this.#path({}), `SQL has no row ${print(rows[index]).slice(0, 200)}`);
    }
    return pairs;
  }

  #compare(row: Row, cells: readonly Cell[]): void {
    for (const [index, { name, type }] of this.#resource.fields.entries()) {
      const isSame = isSameValue(row[name] ?? null, cells[index] ?? null, type) !== false;
      if (isSame || this.#varying.has(name)) continue;
      const [sent, stored] = [print(row[name]), String(cells[index])];
      this.#differ(pathOfKey(this.#resource, row), `${name} is ${sent}, SQL has ${stored}`);
    }
  }

  async #count(): Promise<void> {
    const path = `${this.#resource.path}/count`;
    const { text } = await this.#context.served.get(path);
    const stored = await this.#context.oracle.count(this.#table, []);
    if (JSON.parse(text).count !== stored) this.#differ(path, `counts ${text}, SQL ${stored}`);
  }

  #sameLines(walked: readonly Row[], exported: readonly Row[]): void {
    const rows = walked.map((row) => this.#written(row));
    const lines = exported.map((row) => this.#written(row));
    // Varying values change the order.
    if (this.#varying.size > 0) rows.sort(), lines.sort();
    const wrong = rows.findIndex((row, index) => row !== lines[index]);
    if (wrong >= 0) this.#differ(this.#resource.path, `NDJSON differs at line ${wrong}`);
  }

  #written(row: Row): string {
    return print(Object.fromEntries(
      Object.entries(row).filter(([name]) => !this.#varying.has(name)),
    ));
  }

  /** Compares the keys of the first page in both directions. */
  async #order({ name }: FieldSchema): Promise<void> {
    const { primaryKey } = this.#resource;
    if (!this.#hasKeys || this.#varying.has(name)) return;
    for (const descending of [false, true]) {
      const orderBy = `${descending ? "-" : ""}${quoteName(name)}`;
      const path = this.#path({ orderBy, limit: "60" });
      const page = await this.#read(path);
      if (page === null) continue;
      const order = [
        { column: name, descending },
        ...primaryKey.filter((key) => key !== name).map((column) => ({
          column,
          descending: false,
        })),
      ];
      this.#sameKeys(path, page.items, await this.#select([], 60, order));
    }
  }

  /** Compares filters by values that the table contains. */
  async #filter(
    { name }: FieldSchema,
    cells: readonly Cell[],
    rows: readonly Row[],
  ): Promise<void> {
    if (this.#varying.has(name)) return;
    const page = await this.#read(this.#path({ limit: "100", select: quoteName(name) }));
    const items = this.#hasKeys ? page?.items ?? [] : rows;
    const known = cells.map((cell, index) => ({ cell, value: items[index]?.[name] }))
      .filter(({ cell, value }) => cell !== null && isPlain(value));
    const samples = [known[0], known[known.length >> 1], known.at(-1)].filter((one) =>
      one !== undefined
    );
    await this.#filterBy(`${quoteName(name)}=isnull=true`, [
      { column: name, operator: "IS NULL", values: [] },
    ]);
    if (samples.length === 0) return;
    for (const { cell, value } of samples) {
      for (const [symbol, operator] of comparisons) {
        const filter = `${quoteName(name)}${symbol}${literal(value)}`;
        await this.#filterBy(filter, [{ column: name, operator, values: [cell] }]);
      }
    }
    const list = samples.map(({ value }) => literal(value)).join(",");
    const values = samples.map(({ cell }) => cell);
    await this.#filterBy(`${quoteName(name)}=in=(${list})`, [
      { column: name, operator: "IN", values },
    ]);
  }

  async #filterBy(filter: string, where: readonly Condition[]): Promise<void> {
    const path = this.#path({ filter, limit: "60" });
    const page = await this.#read(path);
    if (page === null) return;
    const { oracle, served } = this.#context;
    const stored = await oracle.count(this.#table, where);
    const counted = `${this.#resource.path}/count?${new URLSearchParams({ filter })}`;
    const { text } = await served.get(counted);
    if (JSON.parse(text).count !== stored) this.#differ(counted, `counts ${text}, SQL ${stored}`);
    if (!this.#hasKeys) return;
    this.#sameKeys(path, page.items, await this.#select(where, 60));
  }

  async #rowsByKey(rows: readonly Row[]): Promise<void> {
    if (!this.#hasKeys) return;
    const step = Math.max(1, Math.floor(rows.length / 20));
    for (let index = 0; index < rows.length; index += step) {
      const row = rows[index] ?? {};
      const path = pathOfKey(this.#resource, row);
      const { status, text } = await this.#context.served.get(path);
      // The cast is safe: the comparison detects any other shape of a row.
      if (status !== 200 || this.#written(parse(text) as Row) !== this.#written(row)) {
        this.#differ(path, `is ${status} ${text.slice(0, 200)}`);
      }
    }
  }

  /** Compares the related rows of some rows with the counts of SQL. */
  async #include(name: string, rows: readonly Row[]): Promise<void> {
    const relation = this.#resource.relations.find((one) => one.name === name);
    const table = this.#context.served.tables.get(relation?.path ?? "");
    if (relation?.on === undefined || table === undefined) return;
    const own = [relation.on.field].flat();
    const others = [relation.on.references].flat();
    const path = this.#path({ include: quoteName(name), limit: "20" });
    const page = await this.#read(path);
    for (const [index, row] of (page?.items ?? []).entries()) {
      const related = [row[name] ?? []].flat();
      const values = own.map((field) => rows[index]?.[field] ?? null);
      if (!values.every((value) => typeof value === "string" || typeof value === "number")) {
        continue;
      }
      const where = others.map((column, place): Condition => ({
        ...{ column, operator: "=" as const },
        values: [values[place] as string | number],
      }));
      const stored = await this.#context.oracle.count(table, where);
      // The number of included rows has a separate limit.
      if (related.length === stored || related.length === mostRelated && stored > mostRelated) {
        continue;
      }
      this.#differ(path, `row ${index} has ${related.length} of ${name}, SQL ${stored}`);
    }
  }

  #sameKeys(path: string, items: readonly Row[], cells: readonly (readonly Cell[])[]): void {
    const { fields, primaryKey } = this.#resource;
    const places = primaryKey.map((key) => fields.findIndex(({ name }) => name === key));
    const isSame = items.length === cells.length &&
      items.every((row, index) =>
        places.every((place) => {
          const { name = "", type = "" } = fields[place] ?? {};
          return isSameValue(row[name], cells[index]?.[place] ?? null, type) !== false;
        })
      );
    if (!isSame) this.#differ(path, `gives ${items.length} rows, SQL ${cells.length}, or others`);
  }

  async #select(where: readonly Condition[], limit: number, order = this.#keyOrder()) {
    const columns = this.#resource.fields.map(({ name }) => name);
    return await this.#context.oracle.select({ table: this.#table, columns, where, order, limit });
  }

  #keyOrder(): readonly { readonly column: string; readonly descending: boolean }[] {
    return this.#resource.primaryKey.map((column) => ({ column, descending: false }));
  }

  /** Returns null if the service refuses the request, which is correct for some types. */
  async #read(path: string): Promise<Page | null> {
    const { status, text } = await this.#context.served.get(path);
    // The cast is safe: the comparison detects any other shape of a page.
    if (status === 200) return parse(text) as Page;
    if (status === 400) this.#refused++;
    else this.#differ(path, `is ${status} ${text.slice(0, 200)}`);
    return null;
  }

  #path(query: Readonly<Record<string, string>>): string {
    return `${this.#resource.path}?${new URLSearchParams(query)}`;
  }

  #differ(path: string, difference: string): void {
    this.#differences.push(`${path}\n    ${difference}`);
  }
}

/** The maximum number of related rows that an include returns for a row. */
const mostRelated = 100;
