import type { TableInfo } from "../../../schema/table_info.ts";
import type { Dialect } from "../../../sql/dialect.ts";
import { quoteIdentifier } from "../../../sql/fragment.ts";
import type { Connection } from "../../driver.ts";
import { selectNamed } from "../../named_columns.ts";
import { existingShapes } from "../compare/existing_shapes.ts";
import type { TableShape } from "../compare/table_shape.ts";
import type { MigrationRights, MigrationStep } from "../migration_plan.ts";
import { isNamed, step } from "./table_migration.ts";

/** Tables that are not declared are dropped where they are named, and are never looked at else. */
export async function droppedTables(
  connection: Connection,
  dialect: Dialect,
  tables: readonly TableInfo[],
  { allowDrop }: MigrationRights,
): Promise<readonly TableShape[]> {
  const declared = tables.flatMap(({ name, formerName }) => [name, formerName ?? name]);
  const named = allowDrop.filter((name) =>
    !name.includes(".") && !isNamed(declared, name) && !/^_?service_|^sqlite_/i.test(name)
  );
  if (named.length === 0) return [];
  const names = named.map((name) => ({ schema: null, name }));
  return (await existingShapes(connection, dialect, names)).tables;
}

/** A name that is written wrongly must not look as if it had been dropped. */
export function notThere(
  { allowDrop }: MigrationRights,
  tables: readonly TableInfo[],
  dropped: readonly TableShape[],
): readonly string[] {
  const known = [...tables, ...dropped].map(({ name }) => name);
  return allowDrop.filter((name) => !name.includes(".") && !isNamed(known, name))
    .map((name) => `there is no table ${name} to drop`);
}

/** Postgres drops tables that refer to one another by one statement; SQLite checks them at the end. */
export function dropSteps(
  { engine }: Dialect,
  tables: readonly TableShape[],
): readonly MigrationStep[] {
  const together = engine === "postgres" && tables.length > 0
    ? [tables]
    : tables.map((one) => [one]);
  return together.map((dropped) => {
    const names = dropped.map(({ name }) => name).join(", ");
    const listed = dropped.map(({ name }) => quoteIdentifier(name)).join(", ");
    return step(`DROP TABLE ${listed}`, `drop ${names}`, names);
  });
}

/** Why tables may not be dropped: foreign keys of others, which are neither declared nor dropped. */
export async function referrers(
  connection: Connection,
  { engine }: Dialect,
  tables: readonly TableInfo[],
  dropped: readonly TableShape[],
): Promise<readonly string[]> {
  if (dropped.length === 0) return [];
  const rows = engine === "sqlite"
    ? await selectNamed(
      connection,
      { from: "t.name", to: 'k."table"' },
      `FROM main.sqlite_schema AS t, pragma_foreign_key_list(t.name) AS k WHERE t.type = 'table'`,
    )
    : await selectNamed(
      connection,
      { from: "conrelid::regclass::text", to: "c.relname" },
      "FROM pg_constraint JOIN pg_class c ON c.oid = confrelid WHERE contype = 'f'",
    );
  const mayStay = [
    ...dropped.map(({ name }) => name),
    ...tables.flatMap(({ name, formerName }) => [name, formerName ?? name]),
  ];
  const found = rows.map(({ from, to }) => ({ from: String(from), to: String(to) }))
    .filter(({ from, to }) =>
      isNamed(dropped.map(({ name }) => name), to) && !isNamed(mayStay, from.replaceAll('"', ""))
    );
  return [
    ...new Set(found.map(({ from, to }) => `${from} refers to ${to}: drop both, or neither`)),
  ];
}
