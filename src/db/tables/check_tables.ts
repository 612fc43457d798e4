import { rowsWithFunctions } from "../../compile/where.ts";
import { programName } from "../../runtime/program_name.ts";
import type { Observer } from "../../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import { join, sql, type Statement, tableName, toStatement } from "../../sql/fragment.ts";
import { DatabaseError, reasonOf } from "../database_error.ts";
import type { Driver } from "../driver.ts";
import type { NamedDifference } from "./find_drift.ts";

export interface TableOfDriver {
  readonly table: TableInfo;
  readonly driver: Driver;
}

/** Throws a plain Error for missing tables and columns. Skips unreachable databases. */
export async function checkTables(
  served: readonly TableOfDriver[],
  observe: Observer,
): Promise<void> {
  const byDriver = Map.groupBy(served, ({ driver }) => driver);
  await Promise.all(
    [...byDriver].map(([driver, tables]) =>
      checkDatabase(driver, new Set(tables.map(({ table }) => table)), observe)
    ),
  );
}

async function checkDatabase(
  driver: Driver,
  tables: ReadonlySet<TableInfo>,
  observe: Observer,
): Promise<void> {
  const notLookedAt = (error: DatabaseError, what = "the tables") =>
    observe({
      kind: "notice",
      message: `${what} of ${driver.label} could not be looked at: ${reasonOf(error)}`,
    });
  const incomplete: IncompleteTable[] = [];
  for (const table of tables) {
    requireEngine(table, driver);
    try {
      await driver.query(selectNothing(table, table.columns, driver));
    } catch (cause) {
      if (!(cause instanceof DatabaseError)) throw cause;
      if (cause.kind === "unavailable") return notLookedAt(cause);
      // A view can fail although the database responds, for example if it refers to itself.
      if (isMissing(cause)) incomplete.push({ table, cause });
      else notLookedAt(cause, JSON.stringify(table.label));
    }
  }
  const compared = [...tables].filter((table) => table.own && driver.created?.has(table) !== true);
  if (compared.length > 0) {
    try {
      await checkDeclared(compared, driver, observe);
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      notLookedAt(error);
    }
  }
  if (incomplete.length > 0) throw await missingParts(incomplete, driver);
}

interface IncompleteTable {
  readonly table: TableInfo;
  readonly cause: DatabaseError;
}

async function missingParts(
  incomplete: readonly IncompleteTable[],
  driver: Driver,
): Promise<Error> {
  const texts: string[] = [];
  const cased: string[] = [];
  for (const { table, cause } of incomplete) {
    const { label } = table;
    if (!await tableExists({ table, driver }, [])) {
      texts.push(`${label} is missing`);
      continue;
    }
    const missing: string[] = [];
    for (const column of table.columns) {
      if (await tableExists({ table, driver }, [column])) continue;
      missing.push(column.dbName);
      // With the option `casing: "snake_case"`, Drizzle converts names in this way.
      const words = column.dbName.match(/[\da-z]+|[A-Z]+(?![a-z])|[A-Z][\da-z]+/g) ?? [];
      const dbName = words.join("_").toLowerCase();
      const isCased = await tableExists({ table, driver }, [{ ...column, dbName }]);
      if (isCased) cased.push(`${label}.${dbName} exists`);
    }
    // If another program has just added the missing column, the message contains the query's error.
    if (missing.length === 0) texts.push(reasonOf(cause));
    texts.push(...missing.map((name) => `${label}.${name} is missing`));
  }
  const named = incomplete.map(({ table }) => JSON.stringify(table.label)).join(", ");
  // A declared table that the service does not create is declared with Drizzle.
  const remedy = !incomplete.some(({ table }) => table.declared && !table.own)
    ? ""
    : cased.length > 0
    ? `, but ${listed(cased)}: with drizzle(client, { casing }), pass this Drizzle database as ` +
      "`db`, or call nameColumns(tables, toSnakeCase)"
    : ": run the migrations of Drizzle, by drizzle-kit";
  const message = `Cannot serve ${named}: ${listed(texts)}${remedy}`;
  return new Error(message, { cause: incomplete[0]?.cause });
}

async function checkDeclared(
  tables: readonly TableInfo[],
  driver: Driver,
  observe: Observer,
): Promise<void> {
  const { findDrift } = await import("./find_drift.ts");
  const { faults, notices } = await findDrift(driver, tables);
  if (faults.length > 0) {
    const named = [...new Set(faults.map(({ table }) => JSON.stringify(table)))].join(", ");
    throw new Error(`Cannot serve ${named}: ${mendedBy(faults)}`);
  }
  if (notices.length === 0) return;
  const message = `${driver.label} differs from the declared tables: ${mendedBy(notices)}`;
  observe({ kind: "notice", message });
}

/** The maximum number of differences in a message. A wrong table could differ in every column. */
const maxNamed = 50;

function mendedBy(differences: readonly NamedDifference[]): string {
  const named = [...new Set(differences.map(({ table }) => table))].join(", ");
  const texts = listed(differences.map(({ text }) => text));
  return `${texts}: run \`${programName()} migrate\`, or call db.migrate([${named}])`;
}

function listed(texts: readonly string[]): string {
  const more = texts.length - maxNamed;
  return [...texts.slice(0, maxNamed), ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

/** Throws for a Drizzle table of another engine. Its types would fail at the first request. */
function requireEngine({ name, engine }: TableInfo, { dialect, label }: Driver): void {
  if (engine === null || engine === dialect.engine) return;
  throw new Error(
    `Cannot serve "${name}" from ${label}: Drizzle declares it for ${engine}, and this is ${dialect.engine}`,
  );
}

/** Returns true if the database has a table with these columns. Default: all declared columns. */
export async function tableExists(
  { table, driver }: TableOfDriver,
  columns: readonly ColumnInfo[] = table.columns,
): Promise<boolean> {
  try {
    await driver.query(selectNothing(table, columns, driver));
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && isMissing(error)) return false;
    throw error;
  }
}

/** Returns true if each described column exists, with a type comparable to the described type. */
export async function isAsDescribed({ table, driver }: TableOfDriver): Promise<boolean> {
  const { dialect } = driver;
  // A JSON column is only selected, because Postgres cannot compare the type json.
  const compared = [...table.byName.values()].map((column) =>
    column.kind === "json"
      ? dialect.selected(column)
      : sql`coalesce(${dialect.operand(column)}, ${dialect.bound(null, column)})`
  );
  const rows = rowsWithFunctions(table, table.functionColumns);
  // If `rows` calls a function that returns single values, the table alias also names its column.
  const from = tableName({ schema: null, name: table.name, rows });
  const none = sql`SELECT ${join([sql`1`, ...compared], ", ")} FROM ${from} WHERE 1=0`;
  try {
    await driver.query(toStatement(none, dialect.placeholder));
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && namesOtherTables(error)) return false;
    throw error;
  }
}

function selectNothing(
  table: TableInfo,
  columns: readonly ColumnInfo[],
  { dialect }: Driver,
): Statement {
  const selected = columns.length === 0
    ? sql`1`
    : join(columns.map((column) => dialect.selected(column)), ", ");
  const select = sql`SELECT ${selected} FROM ${tableName(table)} WHERE 1=0`;
  return toStatement(select, dialect.placeholder);
}

function isMissing(error: DatabaseError): boolean {
  return hasCode(error, missingCodes);
}

/** Returns true if the error means that a table or column is missing or has another type. */
function namesOtherTables(error: DatabaseError): boolean {
  return isMissing(error) || hasCode(error, typeCodes);
}

function hasCode({ kind, cause }: DatabaseError, codes: ReadonlySet<string>): boolean {
  if (kind !== "other" || !(cause instanceof Error)) return false;
  // node:sqlite has the same `code` for all errors, and distinguishes them by `errcode`.
  if ("errcode" in cause) return cause.errcode === sqliteError;
  return "code" in cause && typeof cause.code === "string" && codes.has(cause.code);
}

/** SQLite's general error code, which is its only code for a missing table or column. */
const sqliteError = 1;

const missingCodes: ReadonlySet<string> = new Set([
  "SQLITE_ERROR",
  "42P01", // undefined_table
  "42703", // undefined_column
  "3F000", // invalid_schema_name
]);

const typeCodes: ReadonlySet<string> = new Set([
  "42704", // undefined_object: a type or a collation
  "42804", // datatype_mismatch
  "42846", // cannot_coerce
  "42883", // undefined_function: an operator for these types
  "42P18", // indeterminate_datatype
  "42P21", // collation_mismatch
  "42P22", // indeterminate_collation
]);
