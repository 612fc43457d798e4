import { kindProperties } from "../../../schema/kinds/kind_properties.ts";
import { bytesToBase64, bytesToHex, hexToBytes } from "../../../protocol/byte_text.ts";
import { decodeBase64 } from "../../../schema/kinds/bytes_kind.ts";
import { isBlobLiteral, looksLikeNumber } from "../../../schema/kinds/any_kind.ts";
import {
  numberOrBigint,
  significantDigits,
  withScale,
} from "../../../schema/kinds/number_kinds.ts";
import { writeJson } from "../../../schema/exact_json.ts";
import { isInstant } from "../../../schema/instant.ts";
import { InvalidValue } from "../../../schema/kind.ts";
import { isAny } from "../../../schema/structured/structured_value.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import { certifiedOperators } from "../../../sql/certified_operators.ts";
import type { ComparesAsMemory, Dialect, RowsOfKeys, TextDialect } from "../../../sql/dialect.ts";
import {
  columnOf,
  type Fragment,
  identifier,
  join,
  rawSql,
  requireBindable,
  sql,
  type SqlValue,
  storedValueAsJson,
  tableName,
} from "../../../sql/fragment.ts";
import { type Affinity, affinityOf, sqliteColumnType } from "./column_type.ts";
import { decoders, encodeTimestamp } from "./decoders.ts";
import { keysAsTable, sqliteImages } from "./row_images.ts";
import { sqliteJsonPaths } from "./json_path.ts";
import { sqliteLists } from "./lists.ts";
import { sqliteMetrics } from "./metrics.ts";
import { sqlitePreview } from "./preview.ts";
import { groupCheck, scanCheck } from "./time_check.ts";
import { sqliteDefinitions } from "./definitions.ts";
import { sqliteSyntax } from "./syntax.ts";
import { sqliteEngine } from "../sqlite_engine.ts";

export function sqliteDialect(options: { readonly text: TextDialect }): Dialect {
  return {
    engine: "sqlite",
    parts: sqliteEngine,
    systemName: "sqlite",
    maxValues: 32_766,
    blocksThread: true,
    checksTypes: false,
    // The driver itself recognizes a statement that begins or ends a transaction, and refuses it.
    refusesBoundaries: true,
    placeholder: () => "?",
    syntax: sqliteSyntax,
    definitions: sqliteDefinitions,
    columnType: sqliteColumnType,
    check,
    encode,
    decode,
    decodeUntyped: (value) =>
      typeof value === "bigint" ? numberOrBigint(value) : storedValueAsJson(value),
    roundTrips: isRestored,
    // An existing table can store values in any storage class, and timestamps in any format.
    hasOtherForms: (value, { existingType, kind }) =>
      existingType !== null && (kind === "json" || typeof value !== "object"),
    selected,
    operand,
    textOperand: (column) =>
      isAny(column) ? sql`CAST(${identifier(column.dbName)} AS TEXT)` : operand(column),
    indexed: () => null,
    ordered: (column) => columnOf(column),
    // Only strings need the collation: equal numbers are always read as the same value.
    distinguished: (columns) =>
      columns.map(({ dbName }) => sql`${identifier(dbName)}${binaryCollation}`),
    bound: (value, column) => sql`${encode(value, column)}`,
    boundStored: (value) => sql`${value}`,
    listed: keysAsTable,
    firstOfEach,
    withAddedColumns(table, added) {
      const columns = [
        ...table.columns.map(({ dbName }) => identifier(dbName)),
        ...added.map(({ name, select }) => sql`(${select}) AS ${name}`),
      ];
      const rows = sql`SELECT ${join(columns, ", ")} FROM ${tableName(table)}`;
      return sql`(${rows}) AS ${identifier(table.name)}`;
    },
    comparesRows: false,
    plansSemiJoins: false,
    selective: (comparison) => sql`likelihood(${comparison}, 0.00001)`,
    leadingColumns,
    comparesAsMemory,
    certified: certifiedOperators.sqlite,
    scanCheck,
    groupCheck,
    requireRow: null,
    // SQLite has one writing transaction at a time, so rows need no locks.
    rowLock: rawSql(""),
    advanceCounter: null,
    // SQLite's date functions have a precision of milliseconds.
    timestampStepMicros: 1_000,
    currentTimestampSql: "strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'",
    // SQLite has no keyword DEFAULT for a value. The line break ends a comment in the expression.
    columnDefault: ({ default: source }) =>
      rawSql(source?.kind === "database" && source.sql !== null ? `(${source.sql}\n)` : "NULL"),
    estimate: null,
    images: sqliteImages,
    text: options.text,
    jsonPaths: sqliteJsonPaths,
    lists: sqliteLists,
    metrics: sqliteMetrics,
    preview: sqlitePreview,
  };
}

/** Adds a unary plus to values: otherwise, SQLite prepares the statement again for each value. */
export function hidingValues(dialect: Dialect): Dialect {
  return {
    ...dialect,
    bound: (value, column) => sql`+${dialect.bound(value, column)}`,
    boundStored: (value, column) => sql`+${dialect.boundStored(value, column)}`,
  };
}

const binaryCollation = rawSql(" COLLATE BINARY");

/** The digits that every double preserves. The numbers of NUMERIC columns are doubles. */
const doubleDigits = 15;

function check(value: unknown, column: ColumnInfo): void {
  if (column.kind === "decimal" && significantDigits(String(value)) > doubleDigits) {
    throw new InvalidValue(`must have at most ${doubleDigits} digits`);
  }
}

/** Overrides the column's collation: a subquery would fail if this process lacks the collation. */
function selected(column: ColumnInfo): Fragment {
  const name = identifier(column.dbName);
  return column.looseCollation ? sql`${name}${binaryCollation}` : name;
}

/** Makes equality exact. The index of a column with BINARY as its collation can still be used. */
function operand(column: ColumnInfo, row?: Fragment): Fragment {
  const value = columnOf(column, row);
  const isExisting = (column.kind === "text" || column.exactCase) && column.existingType !== null;
  return isExisting ? sql`${value}${binaryCollation}` : value;
}

/** Returns which comparisons in SQLite equal those in memory: existing columns can differ. */
function comparesAsMemory(column: ColumnInfo): ComparesAsMemory {
  if (column.existingType === null) return "wholly";
  if (isAny(column)) return "never";
  const affinity = affinityOf(column);
  switch (column.kind) {
    case "text":
      return affinity === "TEXT" || affinity === "BLOB" ? "but for order" : "never";
    case "timestamp":
      return "never";
    case "integer":
    case "real":
    case "decimal":
    case "boolean":
      return affinity === "TEXT" ? "never" : "wholly";
    case "bigint":
    case "date":
    case "uuid":
    case "json":
    case "bytes":
      return "wholly";
  }
}

function encode(value: unknown, column: ColumnInfo): SqlValue {
  if (value === null) return null;
  if (isAny(column)) return encodeAny(value, affinityOf(column));
  // As strings (their form in JSON), infinities would sort after all numbers in SQLite.
  if (
    kindProperties[column.kind].arithmetic !== null &&
    (value === "Infinity" || value === "-Infinity")
  ) {
    return Number(value);
  }
  switch (column.kind) {
    case "boolean":
      return typeof value === "boolean" ? Number(value) : requireBindable(value);
    case "bigint":
      return typeof value === "string" && /^-?\d+$/.test(value)
        ? BigInt(value)
        : requireBindable(value);
    case "decimal":
      return typeof value === "string" ? encodeDecimal(value) : requireBindable(value);
    case "timestamp":
      return typeof value === "string" && isInstant(value)
        ? encodeTimestamp(value, column.timestampFormat)
        : requireBindable(value);
    case "json":
      return writeJson(value);
    case "bytes":
      return typeof value === "string" ? decodeBase64(value) ?? value : requireBindable(value);
    case "text":
    case "integer":
    case "real":
    case "date":
    case "uuid":
      return requireBindable(value);
  }
}

/** Encodes an untyped value. Integers become bigints, because libraries bind numbers as doubles. */
function encodeAny(value: unknown, affinity: Affinity): SqlValue {
  if (typeof value === "number" && Number.isSafeInteger(value)) return BigInt(value);
  if (isBlobLiteral(value)) return hexToBytes(value.slice(2, -1));
  if (typeof value !== "string" || affinity === "BLOB" || affinity === "TEXT") {
    return requireBindable(value);
  }
  const text = value.replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, "");
  if (!looksLikeNumber(text)) return value;
  return int64(text.replace("+", "")) ?? Number(text);
}

/** Encodes a decimal as the nearest double, unlike SQLite's parser. Integers keep all 64 bits. */
function encodeDecimal(text: string): SqlValue {
  if (!looksLikeNumber(text)) return text;
  const number = Number(text);
  const whole = withScale(text, 0);
  if (whole !== null && !Number.isSafeInteger(number)) return int64(whole) ?? number;
  return Number.isFinite(number) ? number : text;
}

function int64(text: string): bigint | null {
  const whole = /^-?\d{1,19}$/.test(text) ? BigInt(text) : null;
  return whole === null || BigInt.asIntN(64, whole) === whole ? whole : null;
}

function decode(
  value: SqlValue,
  column: ColumnInfo,
  onInvalidValue: (column: ColumnInfo) => void,
): unknown {
  if (value === null) return null;
  if (isAny(column)) {
    if (value instanceof Uint8Array) return `x'${bytesToHex(value)}'`;
    return typeof value === "bigint" ? numberOrBigint(value) : storedValueAsJson(value);
  }
  const decoded = decoders[column.kind](value, column);
  if (decoded !== undefined) return decoded;
  onInvalidValue(column);
  return storedValueAsJson(value);
}

function isRestored(stored: SqlValue, decoded: unknown, column: ColumnInfo): boolean {
  if (stored === null) return true;
  // For documents, only tests for NULL must be exact. The text of a document does not matter.
  if (column.kind === "json") return decoded !== null;
  const encoded = encode(decoded, column);
  if (stored instanceof Uint8Array || encoded instanceof Uint8Array) {
    return stored instanceof Uint8Array && encoded instanceof Uint8Array &&
      bytesToBase64(encoded) === bytesToBase64(stored);
  }
  if (typeof stored === "string" || typeof encoded === "string") return encoded === stored;
  // Depending on the driver, an integer is a number or a bigint, so `===` would be wrong.
  return encoded !== null && encoded >= stored && encoded <= stored;
}

/** SQL that finds the first rows of each key by a LIMIT: numbering 270,000 rows took 400 ms. */
function firstOfEach(rows: RowsOfKeys): Fragment {
  const { names: { list, ordinal }, keys, table, columns, where, order, limit, maxRows } = rows;
  const key = join(rows.primaryKey.map((column) => operand(column)), ", ");
  const first = sql`SELECT ${key} FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT ${limit}`;
  // SQLite renames a subquery's column that is called `true` or `false`, so other names are used.
  const read = new Map(
    [...new Set([...columns, ...rows.sorted])].map((column, index) => [column, `c${index}`]),
  );
  const cells = join(
    [...read].map(([column, name]) => sql`${selected(column)} AS ${identifier(name)}`),
    ", ",
  );
  const found =
    sql`SELECT ${cells}, ${ordinal} FROM ${keys} AS ${list} JOIN ${table} ON (${key}) IN (${first}) LIMIT ${maxRows}`;
  const shown = join(
    [...columns.map((column) => identifier(read.get(column) ?? column.dbName)), ordinal],
    ", ",
  );
  return sql`SELECT ${shown} FROM (${found}) AS ${list} ORDER BY ${ordinal}, ${
    rows.orderUnder(read)
  }`;
}

/** Omits indexes with a collation other than BINARY, which SQLite cannot use to compare exactly. */
const leadingColumns = `SELECT NULL, t.name, c.name FROM sqlite_schema AS t,
  pragma_index_list(t.name) AS i, pragma_index_xinfo(i.name) AS c
  WHERE t.type = 'table' AND i.partial = 0 AND c.seqno = 0 AND c.coll = 'BINARY'`;
