import { isSameName, quoteIdentifier } from "../../../sql/fragment.ts";
import { parseCreateTable } from "../../../sql/statements/parse_create_table.ts";
import { runInSavepoint } from "../../../db/database_handle.ts";
import type { Connection } from "../../../db/driver.ts";
import type { DeclaredTable } from "../../../db/migrations/compare/compare_tables.ts";
import { readPostgresShapes } from "./postgres_shapes.ts";
import type { TableShape } from "../../../db/migrations/compare/table_shape.ts";

/** Returns declared tables with expressions as Postgres prints them for temporary tables. */
export async function shapesPrintedByPostgres(
  connection: Connection,
  declared: readonly DeclaredTable[],
): Promise<readonly DeclaredTable[]> {
  const shapes: TableShape[] = [];
  const rollBack = new Error("The temporary tables are not kept");
  const read = async () => {
    for (const { shape } of declared) {
      for (const text of temporaryTable(shape)) await connection.query({ text, values: [] });
    }
    const names = declared.map(({ table: { name } }) => ({ schema: "pg_temp", name }));
    shapes.push(...(await readPostgresShapes(connection, names)).tables);
    throw rollBack;
  };
  await runInSavepoint(connection, "written_tables", read).catch((error) => {
    if (error !== rollBack) throw error;
  });
  return declared.map((one) => {
    const written = shapes.find(({ name }) => name === one.table.name);
    return written === undefined ? one : { ...one, shape: withExpressions(one, written) };
  });
}

/** Returns the statements of a temporary table, which cannot refer to permanent tables. */
function temporaryTable({ name, sql, indexes }: TableShape): readonly string[] {
  const definitions = parseCreateTable(sql ?? "()").definitions
    .filter(({ column, constraints: [constraint] }) =>
      column !== null || constraint?.kind !== "references"
    );
  const table = quoteIdentifier(name);
  return [
    `CREATE TEMPORARY TABLE ${table} (${definitions.map(({ text }) => text).join(", ")})`,
    ...indexes.filter(({ where }) => where !== null).map((index) =>
      `CREATE INDEX ${quoteIdentifier(index.name)} ON pg_temp.${table} (${
        index.parts.map(quoteIdentifier).join(", ")
      }) WHERE ${index.where}`
    ),
  ];
}

function withExpressions({ shape }: DeclaredTable, written: TableShape): TableShape {
  const namedChecks = new Set(shape.checks.map(({ name }) => name));
  return {
    ...shape,
    columns: shape.columns.map((column) => {
      const found = written.columns.find(({ name }) => isSameName(name, column.name));
      if (found === undefined) return column;
      const members = found.members === null ? null : { values: found.members.values, check: null };
      return { ...column, default: found.default, generated: found.generated, members };
    }),
    // The names of unnamed checks contain the temporary table's name, so they become null.
    checks: written.checks.map(({ name, sql }) => ({
      name: namedChecks.has(name) ? name : null,
      sql,
    })),
    indexes: shape.indexes.map((index) => {
      const found = written.indexes.find(({ name }) => name === index.name);
      return found === undefined ? index : { ...index, where: found.where };
    }),
  };
}
