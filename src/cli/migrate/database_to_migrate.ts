import { isDrizzleDatabase } from "../../db/drizzle/drizzle_database.ts";
import { openDatabase } from "../../engines/open_database.ts";
import { isDrizzleTable } from "../../schema/drizzle/drizzle_structure.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { isTableInfo, tableInfoKey, tableInfoOf, type TableLike } from "../../schema/table_like.ts";
import type { ResourceDefinition } from "../../resource/define/resource_definition.ts";
import { importModule, requireConfiguration } from "../configuration_file.ts";
import { urlOfDatabaseToMigrate } from "../database/resolve_database_url.ts";
import type { MigrateCommand } from "./migrate_arguments.ts";
import type { Database } from "../../db/database.ts";

/** A database to migrate, and the tables that it should have afterwards. */
export interface DatabaseToMigrate {
  readonly db: Database;
  readonly tables: readonly TableInfo[];
}

/** Opens a database and loads its intended tables. Throws an Error if either does not exist. */
export async function openMigrated(command: MigrateCommand): Promise<DatabaseToMigrate> {
  const { database, tables, migrations, write, check } = command;
  const isByFiles = migrations !== null && write === null && !check;
  const exported = tables === null ? null : await exportedTables(tables);
  const declared = exported ?? (isByFiles ? [] : null);
  if (database !== null && declared !== null) {
    return { db: await openNamed(database, command), tables: declared };
  }
  const { db: given, resources } = await requireConfiguration(
    command.config,
    "name it by --config FILE, or the tables by migrate DATABASE --tables FILE",
  );
  const served = resources.filter(({ options }) => [undefined, given].includes(options.db));
  const all = exported ?? configuredTables(served);
  if (database !== null) return { db: await openNamed(database, command), tables: all };
  return { db: isDrizzleDatabase(given) ? await openDatabase(given) : given, tables: all };
}

async function openNamed(
  database: string,
  { dryRun, check, write, migrations, additions = {} }: MigrateCommand,
): Promise<Database> {
  const onlyReads = dryRun || write !== null || (check && migrations === null);
  const url = await urlOfDatabaseToMigrate(database, onlyReads);
  // Opening a SQLite file for writing changes its journal mode.
  const readOnly = onlyReads && /^(?:node-)?sqlite:(?!:memory:)/i.test(url);
  return await openDatabase(url, { ...additions, readOnly });
}

function configuredTables(resources: readonly ResourceDefinition[]): readonly TableInfo[] {
  const tables = resources.flatMap(({ table, options: { relations = {} } }) => [
    table,
    ...Object.values(relations).flatMap(({ through }) => through ?? []),
  ]);
  const described = tables.map((table) => isTableInfo(table) ? table : tableInfoOf(table));
  return [...new Set(described)].filter(({ own }) => own);
}

/** Returns the tables that a module exports, under any name or in lists. */
async function exportedTables(path: string): Promise<readonly TableInfo[]> {
  const exported = await importModule(path);
  const values: unknown[] = Object.values(exported).flat();
  const found = new Set(values.filter(isTable).map(tableInfoOf));
  if (found.size > 0) return [...found];
  if (values.some(isOfDrizzle)) {
    throw new Error(
      `Cannot migrate the tables of ${path}: they were made by Drizzle, whose migrations create ` +
        "them: run drizzle-kit",
    );
  }
  throw new Error(`Cannot migrate: ${path} exports no table`);
}

function isOfDrizzle(value: unknown): boolean {
  return typeof value === "object" && value !== null && isDrizzleTable(value);
}

function isTable(value: unknown): value is TableLike<unknown, unknown> {
  // Columns contain the description of their table, too, but have another prototype.
  return typeof value === "object" && value !== null && tableInfoKey in value &&
    Object.getPrototypeOf(value) === null;
}
