import { DatabaseError, reasonOf } from "../../../../db/database_error.ts";
import type { Connection } from "../../../../db/driver.ts";
import { selectNamed } from "../../../../db/named_columns.ts";
import { type Fragment, identifier, join, sql, toStatement } from "../../../../sql/fragment.ts";
import { missingFunctionOrCollation } from "../sqlite_errors.ts";

/**
 * Returns the generated columns of a table that use a function of another program, with reasons. If
 * the values are not stored, no statement can read such a column.
 */
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

/** Returns the columns of a table or view whose collation only another program defines. */
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

/** Completes a reason: SQLite does not report a missing collation of a table WITHOUT ROWID. */
export async function reasonWithCollations(
  connection: Connection,
  table: string,
  reason: string,
): Promise<string> {
  if (!reason.endsWith("no query solution")) return reason;
  const used = await selectNamed(
    connection,
    { collation: "x.coll" },
    `FROM pragma_index_list(?) AS i JOIN pragma_index_xinfo(i.name) AS x
     WHERE i.origin = 'pk' AND x.key GROUP BY x.coll ORDER BY x.coll`,
    table,
  );
  const missing = await Promise.all(
    used.map(({ collation }) =>
      missingIn(connection, sql`SELECT '' = '' COLLATE ${identifier(String(collation))}`)
    ),
  );
  const named = missing.filter((one) => one !== null);
  return named.length === 0 ? reason : `it cannot be read: ${named.join(", ")}`;
}

async function missingIn(connection: Connection, statement: Fragment): Promise<string | null> {
  try {
    await connection.query(toStatement(statement, () => "?"));
    return null;
  } catch (error) {
    const part = error instanceof DatabaseError
      ? missingFunctionOrCollation(reasonOf(error))
      : null;
    if (part === null) throw error;
    return part.reason;
  }
}
