import { writeJson } from "../../../schema/exact_json.ts";
import { type ColumnKind, InvalidValue } from "../../../schema/kind.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import { certifiedOperators } from "../../../sql/certified_operators.ts";
import type {
  ComparesAsMemory,
  Dialect,
  ListNames,
  RowsOfKeys,
  TextDialect,
} from "../../../sql/dialect.ts";
import {
  columnOf,
  type Fragment,
  identifier,
  join,
  rawSql,
  sql,
  type SqlValue,
} from "../../../sql/fragment.ts";
import { advanceCounter } from "./advance_counter.ts";
import { leadingColumnsSql } from "./leading_columns_sql.ts";
import { hasOtherForms } from "./other_forms.ts";
import { postgresEstimate } from "./row_estimate.ts";
import { postgresImages } from "./row_images.ts";
import { postgresJsonPaths } from "./json_path.ts";
import { postgresLists } from "./lists.ts";
import { postgresMetrics } from "./metrics.ts";
import { postgresExplain } from "./explain.ts";
import { postgresPreview } from "./preview.ts";
import { distinguished } from "./distinguished.ts";
import { decodeUntyped } from "./plain_values.ts";
import { castToType, comparedByType, textOfType } from "./database_types.ts";
import { decode, encode } from "./stored_values.ts";
import { introspectedTypeName, singleTypes } from "./introspected_type.ts";
import { postgresEngine } from "../postgres_engine.ts";

/**
 * Returns the SQL dialect of Postgres, on a server or embedded. The drivers return every value as
 * the text of the server, and bind every parameter as text, so that no library converts values. The
 * session must have `TimeZone = UTC`, `DateStyle = ISO` and `bytea_output = hex`.
 */
export function postgresDialect(options: { readonly text: TextDialect }): Dialect {
  return {
    engine: "postgres",
    parts: postgresEngine,
    systemName: "postgresql",
    maxValues: 65_534,
    blocksThread: false,
    placeholder: (position) => `$${position}`,
    columnType,
    check,
    encode,
    decode,
    decodeUntyped,
    // A type of the server reads each string in one way, even an invalid one.
    roundTrips: (stored, decoded) => decoded !== null || stored === null,
    hasOtherForms,
    selected: (column) => asValue(column),
    operand,
    textOperand,
    indexed: (column) => column.looseCollation ? asValue(column) : null,
    ordered,
    distinguished,
    bound,
    boundStored: (value, column) => sql`${value}${castOf(value, column)}`,
    listed,
    firstOfEach,
    comparesRows: true,
    plansSemiJoins: true,
    // The planner knows which values are frequent.
    selective: (comparison) => comparison,
    leadingColumns: leadingColumnsSql,
    comparesAsMemory,
    certified: certifiedOperators.postgres,
    // Statements have a separate timeout.
    scanCheck: null,
    groupCheck: null,
    rowLock: rawSql(" FOR UPDATE"),
    advanceCounter,
    timestampStepMicros: 1,
    currentMoment: "now()",
    columnDefault: () => rawSql("DEFAULT"),
    estimate: postgresEstimate,
    images: postgresImages,
    text: options.text,
    jsonPaths: postgresJsonPaths,
    lists: postgresLists({ operand, bound }),
    metrics: postgresMetrics({ operand, ordered }),
    preview: postgresPreview,
    explain: postgresExplain,
  };
}

const columnTypes: Readonly<Record<ColumnKind, string>> = {
  text: 'text COLLATE "C"',
  integer: "int8",
  bigint: "int8",
  real: "float8",
  decimal: "numeric",
  boolean: "boolean",
  timestamp: "timestamptz(6)",
  date: "date",
  uuid: "uuid",
  json: "jsonb",
  bytes: "bytea",
};

const casts: Readonly<Record<ColumnKind, Fragment>> = {
  text: rawSql("::text"),
  integer: rawSql("::int8"),
  bigint: rawSql("::int8"),
  real: rawSql("::float8"),
  decimal: rawSql("::numeric"),
  boolean: rawSql("::boolean"),
  timestamp: rawSql("::timestamptz"),
  date: rawSql("::date"),
  uuid: rawSql("::uuid"),
  json: rawSql("::jsonb"),
  bytes: rawSql("::bytea"),
};
const castToZoneless = rawSql("::timestamp");
const castToSingle = rawSql("::float4");
const codePointOrder = rawSql(' COLLATE "C"');

/** The types that are text already. Others of kind text are served through a cast. */
const textTypes: ReadonlySet<string> = new Set(["text", "varchar", "character varying"]);
const zonelessTypes: ReadonlySet<string> = new Set(["timestamp", "timestamp without time zone"]);

const doubleTypes: ReadonlySet<string> = new Set(["double precision", "float8"]);

/** The largest value of the integer types that are narrower than their kind. */
const integerLimits: ReadonlyMap<string, number> = new Map([
  ["int2", 0x7fff],
  ["smallint", 0x7fff],
  ["int4", 0x7fff_ffff],
  ["integer", 0x7fff_ffff],
]);

function columnType(column: ColumnInfo): string {
  const { kind, precision, scale } = column;
  return kind === "decimal" && precision !== null
    ? `numeric(${precision},${scale ?? 0})`
    : columnTypes[kind];
}

function check(value: unknown, column: ColumnInfo): void {
  const limit = integerLimits.get(introspectedTypeName(column));
  if (limit === undefined || value === null) return;
  const number = Number(value);
  if (number > limit || number < -limit - 1) {
    throw new InvalidValue(`must be between ${-limit - 1} and ${limit}`);
  }
}

/** Compares a float4, also below a domain, with the value rounded to its few digits. */
function comparesAsMemory(column: ColumnInfo): ComparesAsMemory {
  if (column.existingType === null) return "wholly";
  // Labels of an enum are equal if their strings are. Only the database compares other types.
  if (column.databaseType !== undefined && column.enumValues === null) return "never";
  if (column.kind === "text") return "but for order";
  return column.kind === "real" && !doubleTypes.has(introspectedTypeName(column))
    ? "never"
    : "wholly";
}

function asValue(column: ColumnInfo, row?: Fragment): Fragment {
  const name = columnOf(column, row);
  return isServedThroughText(column) ? sql`${name}::text` : name;
}

/** Forces a strict collation: where ALICE equals alice, a scope would reach others' rows. */
function operand(column: ColumnInfo, row?: Fragment): Fragment {
  if (column.databaseType !== undefined) return comparedByType(column.databaseType, column, row);
  const value = asValue(column, row);
  return column.looseCollation ? sql`${value}${codePointOrder}` : value;
}

function textOperand(column: ColumnInfo): Fragment {
  return column.databaseType === undefined ? operand(column) : textOfType(columnOf(column), column);
}

/** Names the collation even if the column has it already, for tables created elsewhere. */
function ordered(column: ColumnInfo): Fragment {
  if (column.databaseType !== undefined) return comparedByType(column.databaseType, column);
  return column.kind === "text" && column.existingType === null
    ? sql`${identifier(column.dbName)}${codePointOrder}`
    : asValue(column);
}

function listed(
  keys: readonly (readonly SqlValue[])[],
  columns: readonly ColumnInfo[],
  _others: readonly ColumnInfo[],
  { ordinal, values }: ListNames,
): Fragment {
  const source = sql`json_array_elements(${writeJson(keys)}::json) WITH ORDINALITY`;
  const cells = columns.map((column, index) =>
    sql`(item ->> ${rawSql(String(index))})${castOf(null, column)} AS ${values[index] ?? ordinal}`
  );
  return sql`(SELECT at - 1 AS ${ordinal}, ${
    join(cells, ", ")
  } FROM ${source} AS listed(item, at))`;
}

/**
 * The inner order finds the first rows, by an index if there is one. The rank preserves their
 * order. The limit of all rows is inside, where it ends the work early.
 */
function firstOfEach(rows: RowsOfKeys): Fragment {
  const { names: { list, ordinal, rank }, keys, table, where, order, limit, maxRows } = rows;
  const columns = join(rows.columns.map((column) => asValue(column)), ", ");
  const first = sql`SELECT * FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT ${limit}`;
  const number = sql`row_number() OVER (ORDER BY ${order}) AS ${rank}`;
  const ranked = sql`SELECT ${columns}, ${ordinal}, ${number} FROM (${first}) AS found`;
  const found =
    sql`SELECT found.* FROM ${keys} AS ${list} CROSS JOIN LATERAL (${ranked}) AS found LIMIT ${maxRows}`;
  return sql`SELECT * FROM (${found}) AS found ORDER BY ${ordinal}, ${rank}`;
}

function bound(value: unknown, column: ColumnInfo): Fragment {
  return sql`${encode(value, column)}${castOf(value, column)}`;
}

function castOf(value: unknown, column: ColumnInfo): Fragment {
  if (column.databaseType !== undefined) return castToType(column.databaseType);
  const type = introspectedTypeName(column);
  if (column.kind === "timestamp" && zonelessTypes.has(type)) return castToZoneless;
  if (column.kind === "real" && singleTypes.has(type) && isSingle(value)) return castToSingle;
  return casts[column.kind];
}

/**
 * Returns true if the value is in the range of float4. `0.1` must be rounded to equal the stored
 * 0.1, but the cast fails for 1e300 and for 1e-300.
 */
function isSingle(value: unknown): boolean {
  const rounded = Math.fround(Number(value));
  return Number.isFinite(rounded) && (rounded !== 0 || value === 0);
}

/** Returns true for char(n), whose trailing spaces do not count, and for domains of text. */
function isServedThroughText(column: ColumnInfo): boolean {
  return column.kind === "text" && column.existingType !== null &&
    column.databaseType === undefined &&
    !textTypes.has(introspectedTypeName(column));
}
