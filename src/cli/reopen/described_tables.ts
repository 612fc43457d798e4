import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";

/** Tables by name, each with all that is known of it as a text. */
export type DescribedTables = ReadonlyMap<string, string>;

/** Describes tables, so that two looks at a database can be compared. */
export function describedTables(tables: readonly TableInfo[]): DescribedTables {
  return new Map(tables.map((table) => [table.label, textOf(table)]));
}

/** The names of the tables that differ between two looks at a database. */
export interface TableChanges {
  readonly added: readonly string[];
  readonly gone: readonly string[];
  readonly changed: readonly string[];
}

/** Compares two looks at a database. */
export function tableChanges(before: DescribedTables, after: DescribedTables): TableChanges {
  return {
    added: [...after.keys()].filter((name) => !before.has(name)),
    gone: [...before.keys()].filter((name) => !after.has(name)),
    changed: [...after].flatMap(([name, text]) => {
      const known = before.get(name);
      return known === undefined || known === text ? [] : [name];
    }),
  };
}

function textOf({ columns, primaryKey, foreignKeys }: TableInfo): string {
  return JSON.stringify({ columns, key: primaryKey.map(keyName), foreignKeys });
}

function keyName({ dbName }: ColumnInfo): string {
  return dbName;
}
