import type { Observer } from "../../runtime/runtime.ts";
import { columnInfoOf, tableInfoOf } from "../../schema/table_like.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { ColumnReferenceOf } from "../model/resource_options.ts";

/** Returns the column to which an option refers. Throws a plain Error that names the option. */
export type ColumnResolver = (
  reference: ColumnReferenceOf<Record<string, unknown>>,
  option: string,
) => ColumnInfo;

/** Creates the resolver for a table's columns. Reports only the first deprecated column name. */
export function createColumnResolver(table: TableInfo, observe: Observer): ColumnResolver {
  let warned = false;
  return (reference, option) => {
    const subject = `Cannot serve "${table.label}": ${option} names`;
    const isName = typeof reference === "string";
    const name = isName ? reference : columnInfoOf(reference).name;
    const column = table.byName.get(name);
    // Without this check, a column of another table could be mistaken for one with its name here.
    if (!isName && columnInfoOf(reference) !== column) {
      throw new Error(`${subject} "${name}" of another table, "${tableInfoOf(reference).name}"`);
    }
    if (column === undefined) throw new Error(`${subject} no column "${name}" of it`);
    if (isName && table.declared && !warned) {
      warned = true;
      observe({
        kind: "deprecated",
        message: `"${table.label}" refers to columns by name in ${option}: use the column object`,
      });
    }
    return column;
  };
}
