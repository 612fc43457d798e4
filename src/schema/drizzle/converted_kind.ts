import type { ColumnKind } from "../kind.ts";
import { kindProperties } from "../kinds/kind_properties.ts";
import type { DrizzleColumn } from "./drizzle_structure.ts";

/** The kind of a column, and if only Drizzle can convert its stored values. */
export interface ConvertedKind {
  readonly kind: ColumnKind;
  readonly converted?: true;
}

/**
 * Returns the kind of a column whose SQL type has the kind `kind`. If the column has a custom type
 * with conversions (`toDriver`, `fromDriver`), this function calls them with a sample of a stored
 * string or number. If the sample changes, for example because the values are encrypted, only
 * Drizzle can convert the values. Values of other types keep their meaning in each conversion.
 */
export function convertedKind(
  column: DrizzleColumn,
  kind: ColumnKind,
  driverNumber: "12" | 12,
): ConvertedKind {
  const given = column.config?.customTypeParams ?? {};
  if (given.toDriver === undefined && given.fromDriver === undefined) return { kind };
  if (kind === "bytes") return { kind, converted: true };
  const isNumber = kindProperties[kind].arithmetic !== null;
  if (!isNumber && kind !== "text") return { kind };
  const { toDriver = unchanged, fromDriver = unchanged } = given;
  const stored = isNumber ? driverNumber : "Ab 1";
  try {
    const value = fromDriver(stored);
    const isSame = [value, toDriver(value)].every((one) => String(one) === String(stored));
    if (!isSame) return { kind, converted: true };
    return { kind: given.fromDriver === undefined ? kind : kindOfValue(value, kind) };
  } catch {
    return { kind, converted: true };
  }
}

/** Returns the kind that Drizzle's own column has with this type of values in the program. */
function kindOfValue(value: unknown, kind: ColumnKind): ColumnKind {
  if (typeof value === "number" && kind === "decimal") return "real";
  return typeof value === "bigint" && kind === "integer" ? "bigint" : kind;
}

const unchanged = (value: unknown) => value;
