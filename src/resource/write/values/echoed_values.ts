import { EchoedValue, hasEchoedValue } from "../../../plan/echoed_value.ts";
import { type Assignments, keepStoredValue } from "../../../plan/plan.ts";
import { writeJson } from "../../../schema/exact_json.ts";
import { mayBeRounded, safeValue } from "../../../schema/safe_numbers.ts";
import type { ColumnInfo, Row, TableInfo } from "../../../schema/table_info.ts";
import type { Resource } from "../../model/resource.ts";
import { type FieldError, InvalidFields } from "./parse_fields.ts";

/** Keeps invalid stored values that a client sends back. Throws a 422 for other invalid values. */
export function resolveUnchanged(
  current: Row,
  values: Assignments,
  { fields: { readable }, safeNumbers }: Pick<Resource, "fields" | "safeNumbers">,
): Assignments {
  if (!hasEchoedValue(values)) return values;
  const visible = new Set(readable);
  const isShown = safeNumbers ? isShownSafely : isShownPlainly;
  return withoutGiven(
    values,
    (column, { given }) =>
      visible.has(column) && isShown(given, current[column.name] ?? null, column),
  );
}

function isShownPlainly(given: unknown, stored: unknown): boolean {
  return writeJson(given) === writeJson(stored);
}

/** Returns true if a response with safe numbers would contain `given` for the value `stored`. */
function isShownSafely(given: unknown, stored: unknown, column: ColumnInfo): boolean {
  if (typeof given === "string") return given === safeValue(stored, column);
  if (mayBeRounded(given) && typeof stored === "bigint") return false;
  return isShownPlainly(given, stored);
}

/**
 * Returns the values that an update changes, because SQLite checks even unchanged foreign keys. If
 * nothing changes, returns one stored value, so that triggers and the change log see the update.
 */
export function changedValues(
  values: Assignments,
  current: Row | null,
  { table, fields: { writable } }: Pick<Resource, "table" | "fields">,
): Assignments {
  if (current === null) return values;
  const changed = [...values].filter(([{ name }, value]) =>
    !equalsStoredValue(value, current[name])
  );
  if (changed.length === values.size) return values;
  if (changed.length > 0) return new Map(changed);
  const references = foreignKeyColumnsOf(table);
  const isPlain = ({ dbName }: ColumnInfo) => !references.has(dbName);
  const plain = [...values.keys()].find(isPlain) ??
    [...writable].find((column) => isPlain(column) && !column.primaryKey && !column.generated);
  return new Map(plain === undefined ? [] : [[plain, keepStoredValue]]);
}

/** Returns the columns of foreign keys, which an update sets only if their values change. */
export function foreignKeyColumnsOf({ columns, foreignKeys }: TableInfo): ReadonlySet<string> {
  const unknown = columns.filter(({ unknownTarget }) => unknownTarget);
  return new Set([
    ...foreignKeys.flatMap(({ columns }) => columns),
    ...unknown.map(({ dbName }) => dbName),
  ]);
}

/** Returns true if a value equals the stored value. `stored` is undefined if it is unknown. */
export function equalsStoredValue(value: unknown, stored: unknown): boolean {
  if (value === keepStoredValue || Object.is(value, stored)) return true;
  if (typeof value !== "object" || typeof stored !== "object") return false;
  return value !== null && stored !== null && writeJson(value) === writeJson(stored);
}

export function valuesForNewRow(values: Assignments): Assignments {
  return hasEchoedValue(values) ? withoutGiven(values, () => false) : values;
}

function withoutGiven(
  values: Assignments,
  isStored: (column: ColumnInfo, value: EchoedValue) => boolean,
): Assignments {
  const errors: FieldError[] = [];
  const all = [...values].map(([column, value]): [ColumnInfo, unknown] => {
    if (!(value instanceof EchoedValue)) return [column, value];
    if (isStored(column, value)) return [column, keepStoredValue];
    if (value.fault !== null) {
      errors.push({ path: column.name.slice(0, 100), message: value.fault });
    }
    return [column, value.read];
  });
  if (errors.length > 0) throw new InvalidFields(errors);
  return new Map(all);
}
