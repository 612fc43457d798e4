import { comparison, type Filter, or } from "../../filter/filter.ts";
import { equalOperator, nullTest } from "../../filter/operators/operator_registry.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";

export interface SoftDelete {
  readonly field: ColumnInfo;
  readonly undeleted: Filter;
  /** Returns the value that marks a row as deleted. `now` is an ISO timestamp. */
  mark(now: string): unknown;
  readonly unmarked: unknown;
}

export function resolveSoftDelete(field: ColumnInfo, table: TableInfo): SoftDelete {
  const subject = `Cannot serve "${table.label}": softDelete.field`;
  if (field.primaryKey) {
    throw new Error(`${subject} must be no part of the primary key, and "${field.name}" is`);
  }
  const isNull = nullTest(field, true);
  const is = (value: unknown) => comparison(equalOperator, field, [value]);
  switch (field.kind) {
    case "timestamp":
      requireNullable(field, subject);
      return { field, undeleted: isNull, mark: (now) => now, unmarked: null };
    case "date":
      requireNullable(field, subject);
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
    case "bigint":
    case "real":
    case "decimal":
    case "uuid":
    case "json":
    case "bytes":
      throw new Error(
        `${subject} must be a timestamp, date, boolean, integer or text, ` +
          `and "${field.name}" is ${field.kind}`,
      );
  }
}

function requireNullable(field: ColumnInfo, subject: string): void {
  if (!field.notNull) return;
  throw new Error(`${subject} must be nullable: NULL is a live row of "${field.name}"`);
}
