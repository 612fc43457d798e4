import { kindProperties } from "../../../schema/kinds/kind_properties.ts";
import type { Grant } from "../../../auth/authorize.ts";
import type { Filter } from "../../../filter/filter.ts";
import { equalOperator } from "../../../filter/operators/operator_registry.ts";
import { type Runtime, uuidV7 } from "../../../runtime/runtime.ts";
import { instantOf } from "../../../schema/instant.ts";
import { type ColumnInfo, isRequired } from "../../../schema/table_info.ts";
import type { Resource } from "../../model/resource.ts";
import { isOwnKey } from "../../model/generated_column.ts";
import { type FieldError, invalidField, ownMember, throwFieldErrors } from "./parse_fields.ts";
import { invalidParameter } from "../../../problem/problem.ts";

/** Generated values override the client's values, except in the primary key. Can throw a 422. */
export function newRowValues(
  given: ReadonlyMap<ColumnInfo, unknown>,
  grant: Grant,
  resource: Resource,
): Map<ColumnInfo, unknown> {
  return completeNewRow(new Map(given), grant, resource);
}

export function completeNewRow(
  values: Map<ColumnInfo, unknown>,
  grant: Grant,
  resource: Resource,
): Map<ColumnInfo, unknown> {
  for (const column of resource.generated) {
    if (column.primaryKey && values.has(column)) continue;
    const value = generate(column, grant, resource.runtime);
    if (value !== undefined) values.set(column, value);
  }
  addMoments(values, resource);
  addDefaults(values, resource);
  return values;
}

function addMoments(
  values: Map<ColumnInfo, unknown>,
  { timestamps: { onCreate }, runtime: { clock } }: Resource,
): void {
  if (onCreate.length === 0) return;
  const now = instantOf(clock.now());
  for (const column of onCreate) if (!values.has(column)) values.set(column, now);
}

/** Generates a value. Returns undefined if the client's value or the database's default is used. */
function generate(column: ColumnInfo, grant: Grant, runtime: Runtime): unknown {
  if (column.default?.kind === "function") return column.default.make();
  if (isOwnKey(column)) return uuidV7(runtime.clock, runtime.random);
  if (kindProperties[column.kind].generates === "timestamp") return instantOf(runtime.clock.now());
  return fixedValue(grant.rows, column);
}

/** Returns the only value that the scope allows, e.g. `user.id` for `eq(ownerId, user.id)`. */
function fixedValue(rows: Filter, column: ColumnInfo): unknown {
  if (rows.kind === "and") {
    for (const term of rows.terms) {
      const value = fixedValue(term, column);
      if (value !== undefined) return value;
    }
  }
  const fixes = rows.kind === "compare" && rows.operator === equalOperator &&
    rows.column === column && rows.path === undefined;
  return fixes ? rows.values[0] : undefined;
}

export function withDefaults(
  values: ReadonlyMap<ColumnInfo, unknown>,
  resource: Pick<Resource, "table" | "notInsertable">,
  wanted?: (column: ColumnInfo) => boolean,
): Map<ColumnInfo, unknown> {
  const complete = new Map(values);
  addDefaults(complete, resource, wanted);
  return complete;
}

function addDefaults(
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

export function parseOptimisticId(id: string): string {
  if (isOptimisticId(id)) return id;
  throw invalidParameter(
    "Cannot use this Service-Optimistic-Id: it must be 1 to 200 printable ASCII characters",
  );
}

export function parseItemOptimisticId(item: object): string | null {
  const id = ownMember(item, "_optimisticId") ?? null;
  if (id === null || (typeof id === "string" && isOptimisticId(id))) return id;
  throw invalidField("must be 1 to 200 printable ASCII characters", "_optimisticId");
}

/** Returns the optimistic id, or null if the resource has no streams that could send the id. */
export function loggedId(id: string | null, resource: Resource): string | null {
  return id === null || resource.hub() === null ? null : id;
}

function isOptimisticId(text: string): boolean {
  return /^[\x20-\x7e]{1,200}$/.test(text);
}
