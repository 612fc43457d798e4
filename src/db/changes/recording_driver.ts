import { type Compile, createCompiler, type PlannedStatement } from "../../compile/compile.ts";
import { type Key, keyId, keyOf } from "../../plan/key.ts";
import type { DeletePlan, InsertPlan, Plan, UpdatePlan } from "../../plan/plan.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import { quoteIdentifier, type Statement } from "../../sql/fragment.ts";
import { postgresImage, postgresLiteral } from "../../sql/postgres/change_log_schema.ts";
import type { Connection, Driver, QueryResult } from "../driver.ts";
import type { PostgresLogTable } from "./set_up_postgres_log.ts";
import { createRowReader, type RowReader } from "../rows.ts";

type WritePlan = InsertPlan | UpdatePlan | DeletePlan;

/**
 * A Postgres driver whose own writes record themselves, where no trigger may be installed. What a
 * plan says is recorded row by row. Of any other statement that names a recorded table and may
 * write to it the log says that something was changed there and nobody knows what.
 */
export function recordingDriver(
  driver: Driver,
  tables: readonly PostgresLogTable[],
  exclude: ReadonlySet<ColumnInfo>,
): Driver {
  const recorder = new Recorder(driver, tables, exclude);
  return {
    dialect: driver.dialect,
    label: driver.label,
    isShared: driver.isShared,
    signals: driver.signals,
    query: (statement) =>
      recorder.isOf(statement)
        ? driver.transaction((connection) => recorder.run(statement, connection))
        : driver.query(statement),
    transaction: (work) =>
      driver.transaction((connection) =>
        work({
          query: (statement) =>
            recorder.isOf(statement)
              ? recorder.run(statement, connection)
              : connection.query(statement),
        })
      ),
    onCommit: (listener) => driver.onCommit(listener),
    close: () => driver.close(),
  };
}

/** The most changes of a statement: each binds two values. */
const maxPerStatement = 1_000;

class Recorder {
  readonly #tables: readonly PostgresLogTable[];
  readonly #exclude: ReadonlySet<ColumnInfo>;
  readonly #reader: RowReader;
  readonly #compile: Compile;

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

  /** Whether a statement may change what is recorded. */
  isOf(statement: Statement): boolean {
    const plan = planOf(statement);
    return plan === null
      ? this.#namedBy(statement.text).length > 0
      : isWrite(plan) && this.#nameOf(plan.table) !== undefined;
  }

  async run(statement: Statement, connection: Connection): Promise<QueryResult> {
    const plan = planOf(statement);
    if (plan === null || !isWrite(plan)) {
      const result = await connection.query(statement);
      await this.#touch(this.#namedBy(statement.text), connection);
      return result;
    }
    if (plan.kind === "update") return await this.#update(plan, connection);
    const result = await this.#insertOrDelete(plan, connection);
    if (plan.kind === "delete") await this.#touch(this.#cascadesOf(plan.table), connection);
    return result;
  }

  /** The rows come out of the statement itself, so that one is enough. */
  async #insertOrDelete(
    plan: InsertPlan | DeletePlan,
    connection: Connection,
  ): Promise<QueryResult> {
    const returning = plan.kind === "insert" ? plan.returning : [];
    const bare = plan.kind === "insert" ? { ...plan, returning: [] } : plan;
    const { text, values } = this.#compile(bare);
    const image = this.#image("w", plan.table);
    const images = plan.kind === "insert" ? `NULL, ${image}` : `${image}, NULL`;
    const { rows } = await connection.query({
      text: `WITH w AS (${text} RETURNING *), recorded AS (
          INSERT INTO "_service_changes" ("table", op, before, after)
          SELECT ${
        postgresLiteral(this.#nameOf(plan.table) ?? "")
      }, '${plan.kind}', ${images} FROM w
        ) SELECT ${this.#selected(returning)} FROM w`,
      values,
    });
    return { rows: returning.length === 0 ? [] : rows, changed: rows.length };
  }

  /** What the rows were has to be looked at first, and they are locked from then on. */
  async #update(plan: UpdatePlan, connection: Connection): Promise<QueryResult> {
    const { table, where, returning } = plan;
    const key = table.primaryKey;
    const read = this.#compile({
      ...{ kind: "read", table, columns: key, where, order: [], after: null, limit: null },
      lock: true,
    });
    const looked = await connection.query({
      text: `SELECT ${this.#image(quoteIdentifier(table.name), table)}, ${
        read.text.slice("SELECT ".length)
      }`,
      values: read.values,
    });
    const before = new Map(
      looked.rows.map(([image, ...cells]) => [this.#keyId(cells, table), image]),
    );
    const { text, values } = this.#compile({ ...plan, returning: [] });
    const columns = [...key, ...returning];
    const { rows } = await connection.query({
      text: `WITH w AS (${text} RETURNING *)
        SELECT ${this.#image("w", table)}, ${this.#selected(columns)} FROM w`,
      values,
    });
    const changes = rows.map(([image = null, ...cells]) => ({
      before: before.get(this.#keyId(cells.slice(0, key.length), table)) ?? null,
      after: image,
    }));
    for (let start = 0; start < changes.length; start += maxPerStatement) {
      const some = changes.slice(start, start + maxPerStatement);
      const name = postgresLiteral(this.#nameOf(table) ?? "");
      // A row that came to match between the two statements was not looked at.
      const records = some.map(({ before }, index) =>
        `(${name}, ${before === null ? "'touch'" : "'update'"}, $${2 * index + 1}::json, $${
          2 * index + 2
        }::json)`
      );
      await connection.query({
        text: `INSERT INTO "_service_changes" ("table", op, before, after)
          VALUES ${records.join(", ")}`,
        values: some.flatMap(({ before, after }) =>
          before === null ? [null, null] : [before, after]
        ),
      });
    }
    return {
      rows: returning.length === 0 ? [] : rows.map((row) => row.slice(1 + key.length)),
      changed: rows.length,
    };
  }

  async #touch(tables: readonly PostgresLogTable[], connection: Connection): Promise<void> {
    if (tables.length === 0) return;
    const records = tables.map(({ name }) => `(${postgresLiteral(name)}, 'touch')`);
    await connection.query({
      text: `INSERT INTO "_service_changes" ("table", op) VALUES ${records.join(", ")}`,
      values: [],
    });
  }

  #namedBy(text: string): readonly PostgresLogTable[] {
    if (!mayWrite.test(text)) return [];
    const lower = text.toLowerCase();
    return this.#tables.filter(({ table }) => lower.includes(table.name.toLowerCase()));
  }

  /** What a delete may take along: our own tables have no cascades, of others it is not known. */
  #cascadesOf(table: TableInfo): readonly PostgresLogTable[] {
    return this.#tables.filter(({ table: other }) =>
      !other.own && other.foreignKeys.some((key) => key.table === table.name)
    );
  }

  #nameOf({ schema, name }: TableInfo): string | undefined {
    return this.#tables.find(({ table }) => table.schema === schema && table.name === name)?.name;
  }

  #image(row: string, table: TableInfo): string {
    return postgresImage(row, table.columns.filter((column) => !this.#exclude.has(column)));
  }

  #selected(columns: readonly ColumnInfo[]): string {
    const { dialect } = this.#reader;
    const texts = columns.map((column) => dialect.selected(column).texts.join(""));
    return texts.length === 0 ? "1" : texts.join(", ");
  }

  #keyId(cells: QueryResult["rows"][number], table: TableInfo): string {
    const [row = {}]: readonly Row[] = this.#reader.toRows([cells], table.primaryKey);
    const key: Key = keyOf(row, table);
    return keyId(key, table);
  }
}

/** WITH may hide a write, and so may a function, of which nothing is known. */
const mayWrite = /^\s*(?:insert|update|delete|merge|truncate|with|copy)\b/i;

function planOf(statement: Statement): Plan | null {
  // A statement has a plan when a compiler made it.
  return "plan" in statement ? (statement as PlannedStatement).plan : null;
}

function isWrite(plan: Plan): plan is WritePlan {
  return plan.kind === "insert" || plan.kind === "update" || plan.kind === "delete";
}
