import type { TableInfo } from "../../../schema/table_info.ts";
import { quoteIdentifier } from "../../../sql/fragment.ts";
import type { Connection } from "../../driver.ts";
import type { ComparisonEngine, PlanningEngine } from "../../engine/migrations_engine.ts";
import type { TableShape } from "../compare/table_shape.ts";
import type { MigrationRights, MigrationStep } from "../migration_plan.ts";
import { selectNamed } from "../../named_columns.ts";
import { includesName, newStep } from "./table_migration.ts";

export async function tablesToDrop(
  connection: Connection,
  { shapes }: ComparisonEngine,
  tables: readonly TableInfo[],
  { allowDrop }: MigrationRights,
): Promise<readonly TableShape[]> {
  const declared = tables.flatMap(({ name, formerName }) => [name, formerName ?? name]);
  const named = allowDrop.filter((name) =>
    !name.includes(".") && !includesName(declared, name) && !/^_?service_|^sqlite_/i.test(name)
  );
  if (named.length === 0) return [];
  const names = named.map((name) => ({ schema: null, name }));
  return (await shapes(connection, names)).tables;
}

export function unknownNames(
  { allowDrop }: MigrationRights,
  tables: readonly TableInfo[],
  dropped: readonly TableShape[],
): readonly string[] {
  const known = [...tables, ...dropped].map(({ name }) => name);
  return allowDrop.filter((name) => !name.includes(".") && !includesName(known, name))
    .map((name) => `there is no table ${name} to drop`);
}

export function dropSteps(
  { dropsTogether }: PlanningEngine,
  tables: readonly TableShape[],
): readonly MigrationStep[] {
  const together = dropsTogether && tables.length > 0 ? [tables] : tables.map((one) => [one]);
  return together.map((dropped) => {
    const names = dropped.map(({ name }) => name).join(", ");
    const listed = dropped.map(({ name }) => quoteIdentifier(name)).join(", ");
    return newStep(`DROP TABLE ${listed}`, `drop ${names}`, names);
  });
}

/** Returns the foreign keys that prevent a drop: keys of undeclared tables that are not dropped. */
export async function referrers(
  connection: Connection,
  { references: { from, to, rows } }: PlanningEngine,
  tables: readonly TableInfo[],
  dropped: readonly TableShape[],
): Promise<readonly string[]> {
  if (dropped.length === 0) return [];
  const mayStay = [
    ...dropped.map(({ name }) => name),
    ...tables.flatMap(({ name, formerName }) => [name, formerName ?? name]),
  ];
  const keys = await selectNamed(connection, { from, to }, rows);
  const found = keys.map((key) => ({ from: String(key.from), to: String(key.to) }))
    .filter(({ from, to }) =>
      includesName(dropped.map(({ name }) => name), to) &&
      !includesName(mayStay, from.replaceAll('"', ""))
    );
  return [
    ...new Set(found.map(({ from, to }) => `${from} refers to ${to}: drop both, or neither`)),
  ];
}
