import type { OpenConfig } from "../../app/config.ts";
import { DatabaseError, reasonOf } from "../../db/database_error.ts";
import type { Driver } from "../../db/driver.ts";
import { requireTableInfo } from "../../resource/define/resource_definition.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { columnOf, type Fragment, sql, tableName, toStatement } from "../../sql/fragment.ts";

export async function forbiddenWrites({ db, resources }: OpenConfig): Promise<readonly string[]> {
  const messages: string[] = [];
  for (const { table, options } of resources) {
    const info = requireTableInfo(table);
    for (const [right, capability] of info.readOnly ? [] : rights) {
      if (options.capabilities?.[capability] === false || !options.auth?.[right]) continue;
      const write = right === "delete" && options.softDelete ? "update" : right;
      const reason = await whyForbidden(statementsOf(write, info), (options.db ?? db).driver);
      if (reason === null) continue;
      messages.push(
        `"${info.label}" permits ${right}, which the database forbids (${reason}): ` +
          `grant the right, or do not permit ${right}`,
      );
    }
  }
  return messages;
}

const rights = [
  ["create", "enableCreate"],
  ["update", "enableUpdate"],
  ["delete", "enableDelete"],
] as const;

/** Returns a statement for each column, as a role may write only some. None affects any row. */
function statementsOf(right: (typeof rights)[number][0], table: TableInfo): readonly Fragment[] {
  const name = tableName(table);
  if (right === "delete") return [sql`DELETE FROM ${name} WHERE 1=0`];
  return table.columns.filter((column) => !column.primaryKey && !column.generated)
    .map((column) => columnOf(column)).map((column) =>
      right === "create"
        ? sql`INSERT INTO ${name} (${column}) SELECT ${column} FROM ${name} WHERE 1=0`
        : sql`UPDATE ${name} SET ${column} = ${column} WHERE 1=0`
    );
}

/** Returns why the database forbids all of these statements, or null if it permits any of them. */
async function whyForbidden(statements: readonly Fragment[], driver: Driver) {
  let reason: string | null = null;
  for (const statement of statements) {
    try {
      await driver.transaction((connection) =>
        connection.query(toStatement(statement, driver.dialect.placeholder))
      );
      return null;
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      if (!["forbidden", "read-only"].includes(error.kind)) return null;
      reason = reasonOf(error);
    }
  }
  return reason;
}
