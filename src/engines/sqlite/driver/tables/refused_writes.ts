import { type Fragment, identifier, join, sql, toStatement } from "../../../../sql/fragment.ts";
import { DatabaseError, reasonOf } from "../../../../db/database_error.ts";
import type { Connection, Driver } from "../../../../db/driver.ts";
import type { LeftOut } from "../../../../db/introspection.ts";
import { readFileUniqueIndexes } from "./sqlite_catalogue.ts";
import { missingFunctionOrCollation } from "../sqlite_errors.ts";

interface WrittenTable {
  readonly table: { readonly name: string };
  readonly columns: readonly { readonly name: string; readonly generated: boolean }[];
}

/** Returns tables that cannot be written, because SQLite lacks a function that they use. */
export async function refusedWrites(
  driver: Driver,
  tables: readonly WrittenTable[],
): Promise<readonly LeftOut[]> {
  const refused = async (connection: Connection) => {
    const found: LeftOut[] = [];
    for (const { table, columns } of tables) {
      const name = identifier(table.name);
      const kept = columns.filter(({ generated }) => !generated).map(({ name }) =>
        identifier(name)
      );
      const parts = new Set<string>();
      for (
        const statement of [
          sql`INSERT INTO ${name} DEFAULT VALUES`,
          sql`UPDATE ${name} SET ${join(kept.map((column) => sql`${column} = ${column}`), ", ")}`,
          sql`DELETE FROM ${name}`,
        ]
      ) {
        const missing = await missingIn(connection, sql`EXPLAIN ${statement}`, true);
        if (missing !== null) parts.add(missing);
      }
      const reason = parts.size === 0 ? null : [...parts].join("; ");
      if (reason !== null) found.push({ table: table.name, reason });
    }
    return found;
  };
  try {
    // A read-only connection compiles no CHECK, so it would not notice a missing function.
    return await driver.transaction(refused);
  } catch (error) {
    const isUnwritable = error instanceof DatabaseError && unwritable.has(error.kind);
    if (!isUnwritable) throw error;
    return await refused(driver);
  }
}

const unwritable: ReadonlySet<string> = new Set(["read-only", "unavailable"]);

export async function unreadableColumns(
  connection: Connection,
  table: string,
  columns: readonly { readonly name: string; readonly generated: boolean }[],
): Promise<ReadonlyMap<string, string>> {
  const reasons = new Map<string, string>();
  for (const { name } of columns.filter(({ generated }) => generated)) {
    const read = sql`SELECT ${identifier(name)} FROM ${identifier(table)} WHERE 1=0`;
    const missing = await missingIn(connection, read);
    if (missing !== null) reasons.set(name, missing);
  }
  return reasons;
}

export async function unknownCollations(
  connection: Connection,
  table: string,
  columns: readonly { readonly name: string }[],
): Promise<ReadonlySet<string>> {
  const isUnknown = async (names: readonly string[]) => {
    const grouped = join(names.map(identifier), ", ");
    const group = sql`EXPLAIN SELECT 1 FROM ${identifier(table)} GROUP BY ${grouped}`;
    return await missingIn(connection, group) !== null;
  };
  const names = columns.map(({ name }) => name);
  if (names.length === 0 || !await isUnknown(names)) return new Set();
  const unknown = await Promise.all(
    names.map(async (name) => await isUnknown([name]) ? [name] : []),
  );
  return new Set(unknown.flat());
}

/** Adds missing collations to a reason: SQLite does not report those of a table WITHOUT ROWID. */
export async function reasonWithCollations(
  connection: Connection,
  table: string,
  reason: string,
): Promise<string> {
  if (!reason.endsWith("no query solution")) return reason;
  const keys = (await readFileUniqueIndexes(connection, table)).filter(({ isKey }) => isKey);
  const used = [...new Set(keys.flatMap(({ collations }) => collations))].sort();
  const missing = await Promise.all(
    used.map((one) => missingIn(connection, sql`SELECT '' = '' COLLATE ${identifier(one)}`)),
  );
  const named = missing.filter((one) => one !== null);
  return named.length === 0 ? reason : `it cannot be read: ${named.join(", ")}`;
}

async function missingIn(
  connection: Connection,
  statement: Fragment,
  ignoresOthers = false,
): Promise<string | null> {
  try {
    await connection.query(toStatement(statement, () => "?"));
    return null;
  } catch (error) {
    const part = error instanceof DatabaseError
      ? missingFunctionOrCollation(reasonOf(error))
      : null;
    if (part === null && !ignoresOthers) throw error;
    return part?.reason ?? null;
  }
}
