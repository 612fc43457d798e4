import {
  type CompilePlan,
  createCompiler,
  type PlannedStatement,
} from "../../../compile/compile.ts";
import { compileFilter } from "../../../compile/where.ts";
import { keyId, keyOf } from "../../../plan/key.ts";
import type { DeletePlan, InsertPlan, Plan, UpdatePlan } from "../../../plan/plan.ts";
import { boundedMap } from "../../../runtime/bounded_map.ts";
import { type ColumnInfo, refersTo, type TableInfo } from "../../../schema/table_info.ts";
import {
  join,
  quoteIdentifier,
  rawSql,
  sql,
  type SqlValue,
  type Statement,
  tableName,
  toStatement,
} from "../../../sql/fragment.ts";
import { postgresImageSql, postgresLiteral } from "../sql/change_log_schema.ts";
import type { Connection, Driver, QueryResult } from "../../../db/driver.ts";
import { createRowReader, type RowReader } from "../../../db/rows.ts";
import type { PostgresLogTable } from "./set_up_postgres_log.ts";
import { parseJson } from "../../../schema/exact_json.ts";

type WritePlan = InsertPlan | UpdatePlan | DeletePlan;

export type RecordedWrite =
  | { readonly kind: "planned"; readonly plan: WritePlan; readonly logTable: PostgresLogTable }
  | {
    readonly kind: "unplanned";
    readonly statement: Statement;
    readonly logTables: readonly PostgresLogTable[];
  };

const maxPerStatement = 1_000;

const maxKnownTexts = 500;

/** Logs each write in its transaction: the changed rows, or the tables if the SQL has no plan. */
export class WriteRecorder {
  readonly #tables: readonly PostgresLogTable[];
  readonly #exclude: ReadonlySet<ColumnInfo>;
  readonly #reader: RowReader;
  readonly #compile: CompilePlan;
  /** The recorded tables to which SQL without a plan writes, by the SQL. */
  readonly #known = boundedMap<string, readonly PostgresLogTable[]>(maxKnownTexts, {
    maxBytes: 1024 * 1024,
    bytesOf: (text) => 2 * text.length,
  });

  constructor(
    driver: Driver,
    tables: readonly PostgresLogTable[],
    exclude: ReadonlySet<ColumnInfo>,
  ) {
    this.#tables = tables;
    this.#exclude = exclude;
    this.#reader = createRowReader(driver.dialect, () => {});
    this.#compile = createCompiler(driver.dialect);
  }

  async writesOf(statement: Statement, connection: Connection): Promise<RecordedWrite | null> {
    // The cast is safe: only the compiler adds the property `plan` to a statement.
    const plan = "plan" in statement ? (statement as PlannedStatement).plan : null;
    if (plan !== null) {
      if (!isWrite(plan)) return null;
      // A write to a view changes the view's table. Triggers of a view can change any table.
      if (plan.table.view?.isTriggered === true) return this.#touching(statement, this.#tables);
      if (plan.table.view !== null) {
        return this.#touching(statement, await this.#targetsOf(statement, connection));
      }
      const logTable = this.#logTable(plan.table);
      return logTable === undefined ? null : { kind: "planned", plan, logTable };
    }
    if (!mayWrite.test(statement.text)) return null;
    return this.#touching(statement, await this.#targetsOf(statement, connection));
  }

  #touching(statement: Statement, logTables: readonly PostgresLogTable[]): RecordedWrite | null {
    return logTables.length === 0 ? null : { kind: "unplanned", statement, logTables };
  }

  async run(write: RecordedWrite, connection: Connection): Promise<QueryResult> {
    if (write.kind === "unplanned") {
      const result = await connection.query(write.statement);
      await this.#touch(write.logTables, connection);
      return result;
    }
    const { plan, logTable } = write;
    if (plan.kind === "update") return await this.#update(plan, logTable, connection);
    const result = await this.#insertOrDelete(plan, logTable, connection);
    if (plan.kind === "delete") await this.#touch(this.#cascadesOf(plan.table), connection);
    return result;
  }

  async #insertOrDelete(
    plan: InsertPlan | DeletePlan,
    { name, texts }: PostgresLogTable,
    connection: Connection,
  ): Promise<QueryResult> {
    const { returning } = plan;
    const { text, values } = this.#compile({ ...plan, returning: [] });
    const image = this.#image("w", plan.table, texts);
    const images = plan.kind === "insert" ? `NULL, ${image}` : `${image}, NULL`;
    const { rows } = await connection.query({
      text: `WITH w AS (${text} RETURNING *), recorded AS (
          INSERT INTO "_service_changes" ("table", op, before, after)
          SELECT ${postgresLiteral(name)}, '${plan.kind}', ${images} FROM w
        ) SELECT ${this.#selectList(returning)} FROM w`,
      values,
    });
    return { rows: returning.length === 0 ? [] : rows, changed: rows.length };
  }

  async #update(
    plan: UpdatePlan,
    { name, texts }: PostgresLogTable,
    connection: Connection,
  ): Promise<QueryResult> {
    const { table, returning } = plan;
    const keyLength = table.primaryKey.length;
    const before = await this.#lockedImages(plan, texts, connection);
    const { text, values } = this.#compile({ ...plan, returning: [] });
    const { rows } = await connection.query({
      text: `WITH w AS (${text} RETURNING *) SELECT ${this.#image("w", table, texts)}, ${
        this.#selectList([...table.primaryKey, ...returning])
      } FROM w`,
      values,
    });
    const changes = rows.map(([after = null, ...cells]): RowUpdate => ({
      before: before.get(this.#keyId(cells.slice(0, keyLength), table)) ?? null,
      after,
    }));
    for (let start = 0; start < changes.length; start += maxPerStatement) {
      await recordUpdates(name, changes.slice(start, start + maxPerStatement), connection);
    }
    return {
      rows: returning.length === 0 ? [] : rows.map((row) => row.slice(1 + keyLength)),
      changed: rows.length,
    };
  }

  async #lockedImages(
    { table, where }: UpdatePlan,
    texts: ReadonlySet<string>,
    connection: Connection,
  ): Promise<ReadonlyMap<string, SqlValue>> {
    const { dialect } = this.#reader;
    const image = rawSql(this.#image(quoteIdentifier(table.name), table, texts));
    const columns = [image, ...table.primaryKey.map((column) => dialect.selected(column))];
    const select = sql`SELECT ${join(columns, ", ")} FROM ${tableName(table)} WHERE ${
      compileFilter(where, dialect)
    }${dialect.rowLock}`;
    const { rows } = await connection.query(toStatement(select, dialect.placeholder));
    return new Map(rows.map(([image = null, ...cells]) => [this.#keyId(cells, table), image]));
  }

  async #touch(tables: readonly PostgresLogTable[], connection: Connection): Promise<void> {
    if (tables.length === 0) return;
    const records = tables.map(({ name }) => `(${postgresLiteral(name)}, 'touch')`);
    await connection.query({
      text: `INSERT INTO "_service_changes" ("table", op) VALUES ${records.join(", ")}`,
      values: [],
    });
  }

  async #targetsOf(
    statement: Statement,
    connection: Connection,
  ): Promise<readonly PostgresLogTable[]> {
    const { text } = statement;
    if (!isPlannable.test(text)) return this.#tables;
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const targets = await readTargetTables(statement, connection);
    const recorded = targets === null
      ? this.#tables
      : this.#tables.filter(({ name }) => targets.has(name));
    this.#known.set(text, recorded);
    return recorded;
  }

  /** Returns the tables that a delete may change by cascading. Unknown actions count as CASCADE. */
  #cascadesOf(deleted: TableInfo): readonly PostgresLogTable[] {
    const reached = new Set([deleted]);
    const found = new Set<PostgresLogTable>();
    for (const table of reached) {
      for (const one of this.#tables.filter((one) => mayCascade(table, one.table))) {
        found.add(one);
        reached.add(one.table);
      }
    }
    return [...found];
  }

  #logTable({ schema, name }: TableInfo): PostgresLogTable | undefined {
    return this.#tables.find(({ table }) => table.schema === schema && table.name === name);
  }

  #image(row: string, table: TableInfo, texts: ReadonlySet<string>): string {
    return postgresImageSql(
      row,
      table.columns.filter((column) => !this.#exclude.has(column)),
      texts,
    );
  }

  #selectList(columns: readonly ColumnInfo[]): string {
    const { dialect } = this.#reader;
    const texts = columns.map((column) => dialect.selected(column).texts.join(""));
    return texts.length === 0 ? "1" : texts.join(", ");
  }

  #keyId(cells: readonly SqlValue[], table: TableInfo): string {
    const [row = {}] = this.#reader.toRows([cells], table.primaryKey);
    return keyId(keyOf(row, table), table);
  }
}

function mayCascade(from: TableInfo, { own, foreignKeys }: TableInfo): boolean {
  return foreignKeys.some((key) => {
    const fails = key.onDelete === null || key.onDelete === "restrict";
    return refersTo(key, from) && !(own && fails);
  });
}

interface RowUpdate {
  /** The row image before the update, or null if the row did not match when images were read. */
  readonly before: SqlValue;
  readonly after: SqlValue;
}

async function recordUpdates(
  name: string,
  changes: readonly RowUpdate[],
  connection: Connection,
): Promise<void> {
  const records = changes.map(({ before }, index) => {
    const op = before === null ? "touch" : "update";
    return `(${postgresLiteral(name)}, '${op}', $${2 * index + 1}::json, $${2 * index + 2}::json)`;
  });
  await connection.query({
    text: `INSERT INTO "_service_changes" ("table", op, before, after)
      VALUES ${records.join(", ")}`,
    values: changes.flatMap(({ before, after }) =>
      before === null ? [null, null] : [before, after]
    ),
  });
}

/** Matches statements that can write: WITH can contain a write. */
const mayWrite = beginsWith("insert|update|delete|merge|truncate|with|copy");

/** Matches writes that EXPLAIN accepts. TRUNCATE and COPY count as writes to all tables. */
const isPlannable = beginsWith("insert|update|delete|merge|with");

function beginsWith(words: string): RegExp {
  return new RegExp(String.raw`^(?:\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*(?:${words})\b`, "i");
}

function isWrite(plan: Plan): plan is WritePlan {
  return plan.kind === "insert" || plan.kind === "update" || plan.kind === "delete";
}

/** Reads the plan of EXPLAIN, which lacks tables that only triggers or functions write to. */
export async function readTargetTables(
  { text, values }: Statement,
  connection: Connection,
): Promise<ReadonlySet<string> | null> {
  const { rows } = await connection.query({
    text: `EXPLAIN (VERBOSE, FORMAT JSON) ${text}`,
    values,
  });
  const plans = parseJson(String(rows[0]?.[0]));
  if (!Array.isArray(plans)) return null;
  const targets = new Set<string>();
  collectTargets(plans, targets);
  return targets;
}

function collectTargets(node: unknown, targets: Set<string>): void {
  if (typeof node !== "object" || node === null) return;
  const { "Node Type": type, "Schema": schema, "Relation Name": name }: {
    readonly "Node Type"?: unknown;
    readonly "Schema"?: unknown;
    readonly "Relation Name"?: unknown;
  } = node;
  if (type === "ModifyTable" && typeof schema === "string" && typeof name === "string") {
    targets.add(`${quoteIdentifier(schema)}.${quoteIdentifier(name)}`);
  }
  for (const member of Object.values(node)) collectTargets(member, targets);
}
