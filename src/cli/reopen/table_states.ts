import type { RoleLimits } from "../../db/engine/engine.ts";
import type { Introspection } from "../../db/introspection.ts";
import type { TableInfo } from "../../schema/table_info.ts";

export type TableStates = ReadonlyMap<string, DescribedTable>;

interface DescribedTable {
  readonly columns: ReadonlyMap<string, string>;
  readonly keys: string;
  readonly comment: string;
  readonly rights: string;
}

/** Describes tables and functions of a database as strings, so that two states can be compared. */
export function describedTables(
  tables: readonly TableInfo[],
  limits: ReadonlyMap<TableInfo, RoleLimits> = new Map(),
  functions: Introspection["functions"] = {},
): TableStates {
  const ofFunctions = Object.entries(functions).map(([name, { databaseFunction }]) => {
    const state = { columns: new Map(), keys: textOf(databaseFunction), comment: "", rights: "" };
    return [`${name}()`, state] as const;
  });
  const ofTables = tables.map((table) => {
    const { label, description, primaryKey, foreignKeys, distinct, readOnly, indexes } = table;
    const columns = [...table.byName.values()];
    const key = primaryKey.map(({ dbName }) => dbName);
    return [label, {
      columns: new Map(columns.map((column) => [column.dbName, textOf(column)])),
      keys: textOf([key, foreignKeys, distinct, readOnly, indexes]),
      comment: textOf(description),
      rights: textOf(limits.get(table)?.hidesRows ?? false),
    }] as const;
  });
  return new Map<string, DescribedTable>([...ofTables, ...ofFunctions]);
}

/** The names of tables that differ between two states of the database. */
export interface TableChanges {
  readonly added: readonly string[];
  readonly gone: readonly string[];
  /** The changed tables with the names of changed columns: `notes (body gone)`. */
  readonly changed: readonly string[];
}

export function tableChanges(before: TableStates, after: TableStates): TableChanges {
  return {
    ...namesBetween(before, after),
    changed: [...after].flatMap(([name, table]) => {
      const known = before.get(name);
      const changes = known === undefined ? [] : columnChanges(known, table);
      return changes.length === 0 ? [] : [`${name} (${changes.join(", ")})`];
    }),
  };
}

function columnChanges(before: DescribedTable, after: DescribedTable): readonly string[] {
  const { added, gone } = namesBetween(before.columns, after.columns);
  const changed = [...after.columns].filter(([name, text]) =>
    before.columns.has(name) && before.columns.get(name) !== text
  );
  return [
    ...added.map((name) => `${name} added`),
    ...gone.map((name) => `${name} gone`),
    ...changed.map(([name]) => `${name} changed`),
    ...before.keys === after.keys ? [] : ["keys changed"],
    ...before.comment === after.comment ? [] : ["comment changed"],
    ...before.rights === after.rights ? [] : ["row level security changed"],
  ];
}

function namesBetween(
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): Pick<TableChanges, "added" | "gone"> {
  return {
    added: [...after.keys()].filter((name) => !before.has(name)),
    gone: [...before.keys()].filter((name) => !after.has(name)),
  };
}

/** A default may be a bigint, which JSON cannot represent. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part) => typeof part === "bigint" ? `${part}n` : part);
}
