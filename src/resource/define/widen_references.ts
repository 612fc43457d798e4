import type { Driver } from "../../db/driver.ts";
import { isAny } from "../../schema/structured/kind_of_column.ts";
import { type ColumnInfo, createTableInfo, type TableInfo } from "../../schema/table_info.ts";
import type { TableLike } from "../../schema/table_like.ts";
import type { CheckedDefinition } from "./check_resource_definition.ts";
import { requireTableInfo } from "./resource_definition.ts";
import { resolveRelations } from "./resolve_relations.ts";

/**
 * Changes the kind of referencing columns, so that both columns of a reference are formatted alike.
 * If a relation compares an untyped column with a key, the column's values are formatted as keys,
 * as if the database declared the reference. Otherwise the column would show a string that differs
 * from the key of the related row. The result contains a new description for each changed table.
 */
export function widenReferences(
  definitions: readonly CheckedDefinition[],
  driver: Driver,
): readonly CheckedDefinition[] {
  const isWideAny = (column: ColumnInfo) => isAny(column) && column.isWide;
  const served = definitions.map(({ table }) => requireTableInfo(table));
  if (!served.some(({ columns }) => columns.some(isWideAny))) return definitions;
  const relations = [...resolveRelations(definitions, driver).values()]
    .flatMap((ofTable) => [...ofTable.values()]);
  const pairs = relations.flatMap(({ steps }) => steps.flatMap(({ pairs }) => pairs))
    .map(({ own, other }) => [own, other] as const)
    .filter((pair) => pair.every(isAny));
  const wide = new Set(pairs.flat().filter(isWideAny));
  for (let size = -1; size !== wide.size;) {
    size = wide.size;
    for (const pair of pairs) {
      if (pair.some((column) => wide.has(column))) pair.forEach((column) => wide.add(column));
    }
  }
  const tables = new Set([...served, ...relations.flatMap(({ steps }) => steps.map(tableOf))]);
  const replaced = new Map([...tables].map((table) => [table, withWide(table, wide)] as const));
  return definitions.map((definition) => withTables(definition, replaced));
}

function tableOf({ table }: { readonly table: TableInfo }): TableInfo {
  return table;
}

function withWide(table: TableInfo, wide: ReadonlySet<ColumnInfo>): TableInfo {
  if (!table.columns.some((column) => wide.has(column) && !column.isWide)) return table;
  const { primaryKey, engine, ...facts } = table;
  const columns = table.columns.map((column) =>
    wide.has(column) ? Object.freeze({ ...column, isWide: true }) : column
  );
  return createTableInfo({
    ...facts,
    ...(engine === null ? {} : { engine }),
    columns,
    primaryKey: primaryKey.flatMap((key) => columns.filter(({ name }) => name === key.name)),
  });
}

function withTables(
  { table, options, ...definition }: CheckedDefinition,
  replaced: ReadonlyMap<TableInfo, TableInfo>,
): CheckedDefinition {
  const replacing = <Table extends TableLike<unknown, unknown> | TableInfo>(given: Table) =>
    replaced.get(requireTableInfo(given)) ?? given;
  const { relations } = options;
  if (relations === undefined) return { ...definition, options, table: replacing(table) };
  const related = Object.entries(relations).map(([name, { resource, through, ...relation }]) => [
    name,
    {
      ...relation,
      resource: typeof resource === "string" ? resource : replacing(resource),
      ...(through === undefined ? {} : { through: replacing(through) }),
    },
  ]);
  return {
    ...definition,
    table: replacing(table),
    options: { ...options, relations: Object.fromEntries(related) },
  };
}
