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
import { nameBytes } from "../../schema/constraint_name.ts";

/** Creates missing tables and runs `more` in one transaction. An Error names the failed table. */
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
      // A table with its former name must be renamed. The check at startup reports such a table.
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

/** Throws for declarations that cannot work, or that an engine would reject without a reason. */
export function requireCreatable(given: readonly TableInfo[], catalog: CatalogEngine): void {
  const tables = [...new Set(given)];
  requireDistinctIndexes(tables);
  requireDistinctNames(tables, catalog);
  for (const table of tables) {
    requireShortNames(table, catalog);
    for (const key of table.foreignKeys) {
      const target = tables.find((one) => refersTo(key, one));
      if (target?.own === true) requireUniqueTarget(key, table, target);
    }
  }
}

/** Requires distinct index names. Column `a_b` of table `c` and `b` of `c_a` would share a name. */
function requireDistinctIndexes(tables: readonly TableInfo[]): void {
  const owners = new Map<string, string>();
  for (const table of tables) {
    for (const { name } of table.indexes) {
      const folded = `${table.schema ?? ""}.${name}`.toLowerCase();
      const other = owners.get(folded);
      if (other !== undefined) {
        throw new Error(
          `Cannot create the index "${name}" of "${table.name}": one of "${other}" has this name: ` +
            `give one of them another by index(…).as("…")`,
        );
      }
      owners.set(folded, table.name);
    }
  }
}

function requireDistinctNames(tables: readonly TableInfo[], { foldName }: CatalogEngine): void {
  for (const [index, { schema, name, formerName }] of tables.entries()) {
    const others = tables.slice(0, index).filter((one) => one.schema === schema);
    if (others.some((one) => foldName(one.name) === foldName(name))) {
      throw new Error(`Cannot create "${name}": it is declared twice`);
    }
    const conflicting = others.find((one) => formerName !== null && one.formerName === formerName);
    if (conflicting === undefined) continue;
    throw new Error(
      `Cannot create "${name}": both it and "${conflicting.name}" were "${formerName}" before`,
    );
  }
}

/** Throws if a name is too long: https://www.postgresql.org/docs/current/sql-syntax-lexical.html */
function requireShortNames(
  { name, columns, indexes, checks }: TableInfo,
  { maxNameBytes }: CatalogEngine,
): void {
  if (maxNameBytes === null) return;
  const all = [name, ...columns.map(({ dbName }) => dbName), ...indexes.map(({ name }) => name)];
  const long = [...all, ...checks.map(({ name }) => name ?? "")]
    .find((one) => nameBytes(one) > maxNameBytes);
  if (long === undefined) return;
  throw new Error(
    `Cannot create "${name}": the name "${long}" has more than ${maxNameBytes} bytes, of which ` +
      "Postgres keeps no more",
  );
}

/** Requires that a foreign key refers to unique columns. Otherwise SQLite rejects every write. */
function requireUniqueTarget(
  { references, columns }: ForeignKey,
  { name }: TableInfo,
  target: TableInfo,
): void {
  const wanted = [...references].sort().join("\0");
  const unique = [
    target.primaryKey.map(({ dbName }) => dbName),
    ...target.columns.filter((one) => one.unique).map(({ dbName }) => [dbName]),
    ...target.uniques,
    ...target.indexes.filter((one) => one.unique && one.where === null).map((one) => one.columns),
  ];
  if (unique.some((one) => [...one].sort().join("\0") === wanted)) return;
  throw new Error(
    `Cannot create "${name}": its foreign key of ${columns.join(", ")} refers to ` +
      `${references.map((one) => `${target.name}.${one}`).join(", ")}, whose values several rows ` +
      "may share: make that unique",
  );
}
