import { type ForeignKey, refersTo, type TableInfo } from "../../schema/table_info.ts";
import {
  addForeignKeyStatements,
  createTableStatements,
  inCreationOrder,
} from "../../sql/create_table.ts";
import type { Statement } from "../../sql/fragment.ts";
import { fullReasonOf, isLastingError } from "../database_error.ts";
import type { Connection, Driver } from "../driver.ts";
import { type CatalogEngine, engineOf } from "../engine/engine.ts";
import { requireCreatable } from "./require_creatable.ts";

/**
 * Creates the missing tables of a database, and then runs `more`, in one transaction. Existing
 * tables are not changed. Throws an Error that names what cannot be created.
 */
export async function createTables(
  driver: Driver,
  tables: readonly TableInfo[],
  more: readonly Statement[] = [],
): Promise<void> {
  const { dialect } = driver;
  const { catalog } = engineOf(driver);
  requireCreatable(tables, catalog);
  const ordered = inCreationOrder(tables);
  const planned = ordered.map((table, index) => {
    const { first, keys } = split(table, ordered.slice(index + 1), catalog);
    const statements = createTableStatements(first, dialect);
    return { table, statements, additions: addForeignKeyStatements(table, keys) };
  });
  const created = await driver.transaction(async (connection) => {
    const done: typeof planned = [];
    // Without the lock, two processes that start together would find no table, and one would fail.
    if (catalog.creationLock !== null) await connection.query(catalog.creationLock);
    for (const one of planned) {
      const { schema, name, formerName } = one.table;
      // No index is created on an existing table, because the table can lack columns of the index.
      if (await isThere({ schema, name }, connection, catalog)) continue;
      // A table that still has its former name must be renamed, not created. The check of the
      // tables at startup reports such a table.
      const former = { schema, name: formerName ?? name };
      if (formerName !== null && await isThere(former, connection, catalog)) continue;
      await create(one.table, one.statements, connection);
      done.push(one);
    }
    for (const { table, additions } of done) await create(table, additions, connection);
    for (const statement of more) await connection.query(statement);
    return done;
  });
  for (const { table } of created) driver.created?.add(table);
}

async function create(
  { name }: TableInfo,
  statements: readonly Statement[],
  connection: Connection,
): Promise<void> {
  try {
    for (const statement of statements) await connection.query(statement);
  } catch (cause) {
    throw isLastingError(cause)
      ? new Error(`Cannot create the table "${name}": ${fullReasonOf(cause)}`, { cause })
      : cause;
  }
}

/** Returns the table without the foreign keys to tables that are created later, and these keys. */
function split(
  table: TableInfo,
  after: readonly TableInfo[],
  { allowsForwardReferences }: CatalogEngine,
): { readonly first: TableInfo; readonly keys: readonly ForeignKey[] } {
  const isLater = (key: ForeignKey) =>
    !allowsForwardReferences && after.some((one) => refersTo(key, one));
  const { foreignKeys } = table;
  const first = { ...table, foreignKeys: foreignKeys.filter((key) => !isLater(key)) };
  return { first, keys: foreignKeys.filter(isLater) };
}

async function isThere(
  table: Pick<TableInfo, "schema" | "name">,
  connection: Connection,
  catalog: CatalogEngine,
): Promise<boolean> {
  return (await connection.query(catalog.hasTable(table))).rows.length > 0;
}
