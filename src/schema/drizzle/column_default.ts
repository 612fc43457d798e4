import { InvalidValue } from "../kind.ts";
import { kindOfColumn } from "../structured/kind_of_column.ts";
import type { ColumnDefault, ColumnInfo } from "../table_info.ts";
import { isDrizzleSql, sqlTextOf } from "./drizzle_sql.ts";
import type { DrizzleColumn } from "./drizzle_structure.ts";

/** Returns the default. `isAssigned`: the database generates keys. Throws `InvalidValue`. */
export function columnDefault(
  source: DrizzleColumn,
  column: ColumnInfo,
  isAssigned: boolean,
): ColumnDefault | null {
  const { default: given, defaultFn, onUpdateFn } = source;
  const assigned = isAssigned ? { kind: "database", sql: null } as const : null;
  if (column.generated) return assigned;
  // As in Drizzle: a function if there is one, else a constant, else `$onUpdate`.
  const make = defaultFn ?? (given === undefined ? onUpdateFn : undefined);
  if (make !== undefined) return { kind: "function", make: maker(make, source, column) };
  if (isDrizzleSql(given)) return { kind: "database", sql: sqlTextOf(given) };
  if (given === null) return null;
  if (given !== undefined) return { kind: "value", value: inProcess(given, source, column) };
  return assigned;
}

/** Returns the function of `$onUpdate`, to call for updates that do not set the column. */
export function onUpdateOf(
  source: DrizzleColumn,
  column: ColumnInfo,
): Pick<ColumnInfo, "onUpdate"> {
  const { onUpdateFn } = source;
  return onUpdateFn === undefined ? {} : { onUpdate: maker(onUpdateFn, source, column) };
}

function maker(make: () => unknown, source: DrizzleColumn, column: ColumnInfo): () => unknown {
  return () => {
    try {
      return inProcess(make(), source, column);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      const reason = `what its function of Drizzle gives ${error.message}`;
      throw new Error(`Cannot write ${column.name}: ${reason}`, { cause: error });
    }
  };
}

function inProcess(value: unknown, source: DrizzleColumn, column: ColumnInfo): unknown {
  if (value === null) return null;
  return kindOfColumn(column).fromJson(jsonOf(value, source, column), column);
}

function jsonOf(value: unknown, source: DrizzleColumn, column: ColumnInfo): unknown {
  if (isDrizzleSql(value)) {
    throw new InvalidValue("must be a value: SQL is a default by .default()");
  }
  if (value instanceof Date && column.timestampFormat === "epoch-seconds") {
    // The column stores whole seconds, to which Drizzle rounds down.
    return new Date(Math.floor(value.getTime() / 1000) * 1000);
  }
  // Drizzle stores the result of JSON.stringify, in which Dates are strings.
  if (column.kind === "json" && column.databaseType === undefined && typeof value === "object") {
    return JSON.parse(JSON.stringify(value));
  }
  // A point or another structure of Drizzle is a string in the database.
  const isText = column.databaseType?.shape.kind === "text" || source.config?.customTypeParams;
  const isStructure = typeof value === "object" && column.kind !== "json";
  const mapped = column.converted === true || isText && isStructure;
  return mapped ? source.mapToDriverValue(value) : value;
}
