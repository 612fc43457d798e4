import { type ColumnInfo, isRequired } from "../../../schema/table_info.ts";
import type { Resource } from "../../model/resource.ts";
import { type FieldError, throwFieldErrors } from "./parse_fields.ts";

/** Adds the defaults of omitted columns in `wanted`. Throws a 422 if a required one has none. */
export function withDefaults(
  values: ReadonlyMap<ColumnInfo, unknown>,
  resource: Pick<Resource, "table" | "notInsertable">,
  wanted?: (column: ColumnInfo) => boolean,
): Map<ColumnInfo, unknown> {
  const complete = new Map(values);
  addDefaults(complete, resource, wanted);
  return complete;
}

/** Adds the defaults to `values` in place, as {@link withDefaults} does. */
export function addDefaults(
  complete: Map<ColumnInfo, unknown>,
  { table, notInsertable }: Pick<Resource, "table" | "notInsertable">,
  wanted?: (column: ColumnInfo) => boolean,
): void {
  const errors: FieldError[] = [];
  for (const column of table.columns) {
    if (complete.has(column) || column.generated || wanted?.(column) === false) continue;
    if (notInsertable?.has(column) === true) continue;
    const source = column.default;
    if (source === null) {
      if (isRequired(column)) {
        errors.push({ path: column.name.slice(0, 100), message: "is required" });
      }
    } else if (source.kind !== "database") {
      complete.set(column, source.kind === "value" ? source.value : source.make());
    }
  }
  throwFieldErrors(errors);
}
