import type { RoleLimits } from "../../db/engine/engine.ts";
import type { TablesChanged } from "../../runtime/observations/tables_changed.ts";
import type { Introspection } from "../../db/introspection.ts";
import type { TableInfo } from "../../schema/table_info.ts";

/** A definition of each table and function of a database, by name. Equal strings mean no change. */
export type TableStates = ReadonlyMap<string, string>;

export function describedTables(
  tables: readonly TableInfo[],
  limits: ReadonlyMap<TableInfo, RoleLimits> = new Map(),
  functions: Introspection["functions"] = {},
): TableStates {
  return new Map([
    ...tables.map((table) => {
      const { byName, description, primaryKey, foreignKeys, distinct, readOnly, indexes } = table;
      const key = primaryKey.map(({ dbName }) => dbName);
      const parts = [
        [...byName.values()],
        description,
        key,
        foreignKeys,
        distinct,
        readOnly,
        indexes,
      ];
      return [table.label, textOf([...parts, limits.get(table)?.hidesRows])] as const;
    }),
    ...Object.entries(functions).map(([name, { databaseFunction }]) =>
      [`${name}()`, textOf(databaseFunction)] as const
    ),
  ]);
}

export function tableChanges(
  before: TableStates,
  after: TableStates,
): Omit<TablesChanged, "kind"> {
  const [old, now] = [[...before.keys()], [...after.keys()]];
  return {
    added: now.filter((name) => !before.has(name)),
    gone: old.filter((name) => !after.has(name)),
    changed: old.filter((name) => after.has(name) && before.get(name) !== after.get(name)),
  };
}

/** Returns JSON in which bigints, for example of defaults, are strings: JSON has no bigints. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part) => typeof part === "bigint" ? `${part}n` : part);
}
