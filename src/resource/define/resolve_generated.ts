import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import { canGenerate } from "../model/generated_column.ts";
import type { SoftDelete } from "../model/soft_delete.ts";
import type { ColumnResolver } from "./column_resolver.ts";
import type { CheckedDefinition } from "./check_resource_definition.ts";

type Options = CheckedDefinition["options"];

/** Resolves `generatedFields`. Throws a plain Error for a column that nothing can generate. */
export function resolveGenerated(
  { generatedFields, auth, hooks }: Options,
  table: TableInfo,
  find: ColumnResolver,
): ReadonlySet<ColumnInfo> {
  const generated = new Set(generatedFields.map((field) => find(field, "generatedFields")));
  const isFilledElsewhere = auth?.create !== undefined || hooks.onBeforeCreate !== undefined;
  for (const column of generated) {
    if (canGenerate(column) || isFilledElsewhere) continue;
    throw new Error(
      `Cannot serve "${table.label}": nothing generates "${column.name}", which must not be null: ` +
        "give it a default, or set it in onBeforeCreate",
    );
  }
  return generated;
}

/** The columns that receive a value in a new row, by the source of the value. */
interface Filled {
  readonly writable: ReadonlySet<ColumnInfo>;
  readonly generated: ReadonlySet<ColumnInfo>;
  readonly byRelation: ReadonlySet<ColumnInfo>;
  readonly softDelete: SoftDelete | null;
}

/** Requires a value for every required column. Otherwise every POST would fail. */
export function requireFillable(
  { auth, capabilities, hooks }: Options,
  table: TableInfo,
  { writable, generated, byRelation, softDelete }: Filled,
): void {
  const isCreated = auth?.create !== undefined && capabilities.enableCreate;
  if (!isCreated || hooks.onBeforeCreate !== undefined) return;
  for (const column of table.columns) {
    const isOpen = writable.has(column) || generated.has(column) || column.primaryKey ||
      column.generated || byRelation.has(column);
    if (isOpen || !column.notNull || column.default !== null) continue;
    const mark = column === softDelete?.field ? "softDelete.field: " : "";
    throw new Error(
      `Cannot serve "${table.label}": ${mark}nothing can fill "${column.name}" of a new row: make ` +
        "it writable or generated, give it a default, or set it in onBeforeCreate",
    );
  }
}
