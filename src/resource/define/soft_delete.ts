import { comparison, type Filter, or } from "../../filter/filter.ts";
import { nullTest } from "../../filter/operators/null_operators.ts";
import { equalOperator } from "../../filter/operators/value_operators.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";

/** The soft delete of a resource: how a row is marked deleted instead of removed. */
export interface SoftDelete {
  readonly field: ColumnInfo;
  /** The rows that are not marked. */
  readonly undeleted: Filter;
  /** The value that marks a row; `now` is an ISO timestamp. */
  mark(now: string): unknown;
  /** The value of a row that is restored. */
  readonly unmarked: unknown;
}

/**
 * Makes the soft delete of a resource from the column that carries the mark; throws a plain Error
 * where it cannot.
 */
export function resolveSoftDelete(field: ColumnInfo): SoftDelete {
  const isNull = nullTest(field, true);
  const is = (value: unknown) => comparison(equalOperator, field, [value]);
  switch (field.kind) {
    case "timestamp":
      requireNullable(field);
      return { field, undeleted: isNull, mark: (now) => now, unmarked: null };
    case "date":
      requireNullable(field);
      return { field, undeleted: isNull, mark: (now) => now.slice(0, 10), unmarked: null };
    case "text":
      return {
        field,
        undeleted: or(isNull, is("")),
        mark: (now) => now,
        unmarked: field.notNull ? "" : null,
      };
    case "boolean":
      return {
        field,
        undeleted: or(isNull, is(false)),
        mark: () => true,
        unmarked: field.notNull ? false : null,
      };
    case "integer":
      return {
        field,
        undeleted: or(isNull, is(0)),
        mark: () => 1,
        unmarked: field.notNull ? 0 : null,
      };
    default:
      throw new Error(
        `Cannot mark rows deleted by "${field.name}": use a timestamp, date, boolean, integer or text`,
      );
  }
}

function requireNullable(field: ColumnInfo): void {
  if (!field.notNull) return;
  throw new Error(
    `Cannot mark rows deleted by "${field.name}": NULL is a live row, so it must be nullable`,
  );
}
