import { isSameName, quoteIdentifier, sqlName } from "../../../sql/fragment.ts";
import type { ForeignKeyShape, TableShape } from "../compare/table_shape.ts";
import { columnList, membersCheck } from "./column_sql.ts";
import type { TableMigration } from "./table_migration.ts";

/** Refuses changes that existing rows prevent. `existing`: declared tables that already exist. */
export async function addRowObstacles(
  table: TableMigration,
  existing: readonly TableShape[],
): Promise<void> {
  guardNewColumns(table);
  await guardValues(table);
  await guardConstraints(table, existing, await guardTypes(table));
}

function guardNewColumns(table: TableMigration): void {
  for (const { declared } of table.of("missing-column")) {
    const { name, notNull, default: given, generated, countsUp } = declared;
    const isFilled = given !== null || generated !== null || countsUp;
    if (!notNull || isFilled || !table.hasRows || table.mayBeRename(name)) continue;
    table.refuse(
      `${table.label}.${name} is declared NOT NULL without a default of the database, and ` +
        `${table.label} has rows: declare a default, or let it be NULL, fill it and declare it ` +
        "NOT NULL then",
    );
  }
}

async function guardValues(table: TableMigration): Promise<void> {
  for (const { column, declared } of table.of("not-null")) {
    const name = quoteIdentifier(column ?? "");
    if (!declared || !await table.hasRowWith(`${name} IS NULL`)) continue;
    table.refuse(
      `${table.label}.${column} is declared NOT NULL, and rows have NULL in it: fill them first, ` +
        `by UPDATE ${table.name} SET ${name} = … WHERE ${name} IS NULL`,
    );
  }
  for (const { column, declared } of table.of("members")) {
    if (declared === null || column === null) continue;
    const isStranger = `NOT (${membersCheck(column, declared)})`;
    if (!await table.hasRowWith(isStranger, (name) => name === column)) continue;
    const shape = table.pair.shape.columns.find(({ name }) => name === column);
    const canBeEmpty = shape?.notNull !== true || shape.default !== null;
    if (table.mayLose(column) && canBeEmpty) continue;
    const advice = canBeEmpty
      ? `--allow-drop ${table.label}.${column} makes them ${shape?.default ?? "NULL"}`
      : `change them first, by UPDATE ${table.name} SET ${quoteIdentifier(column)} = …`;
    table.refuse(`${table.label}.${column} has rows with values that are not declared: ${advice}`);
  }
}

async function guardTypes(table: TableMigration): Promise<boolean> {
  const { isWider, unfit } = table.planning;
  let isConvertible = true;
  for (const { column, declared, existing } of table.of("type")) {
    if (column === null || isWider(existing, declared) || isComputed(table, column)) continue;
    const name = quoteIdentifier(column);
    if (!await table.hasRowWith(`${name} IS NOT NULL`)) continue;
    if (!table.mayLose(column)) {
      isConvertible = false;
      table.refuse(
        `${table.label}.${column} would become ${declared} from ${existing}, which may change or ` +
          `lose values: --allow-drop ${table.label}.${column} does it all the same`,
      );
      continue;
    }
    const condition = unfit(declared, name);
    const fault = condition !== null && await table.hasRowWith(condition)
      ? "has values that are no such numbers"
      : await table.conversionFault(column);
    if (fault !== null) {
      isConvertible = false;
      table.refuse(
        `${table.label}.${column} would become ${declared}, and ${fault}: change these values first`,
      );
    }
  }
  for (const { column, declared, existing } of table.of("generated")) {
    if (column === null || declared === null || existing !== null || table.mayLose(column)) {
      continue;
    }
    if (!await table.hasRowWith(`${quoteIdentifier(column)} IS NOT NULL`)) continue;
    table.refuse(
      `${table.label}.${column} would be computed, and loses the values that it has: --allow-drop ` +
        `${table.label}.${column} does it all the same`,
    );
  }
  return isConvertible;
}

function isComputed({ pair: { shape, current } }: TableMigration, column: string): boolean {
  return [shape, current].every(({ columns }) =>
    columns.some(({ name, generated }) => name === column && generated !== null)
  );
}

async function guardConstraints(
  table: TableMigration,
  existing: readonly TableShape[],
  isConvertible: boolean,
): Promise<void> {
  const { label } = table;
  const isRetyped = () => isConvertible;
  const uniques = [
    ...table.of("missing-unique").map(({ declared }) => [declared.columns, null] as const),
    ...table.of("missing-index").flatMap(({ declared: { unique, where, parts } }) =>
      unique ? [[parts, where] as const] : []
    ),
  ];
  for (const [columns, where] of uniques) {
    if (!await table.sharesValues(columns, where, isRetyped)) continue;
    table.refuse(`${label} has rows that share ${columns.join(", ")}, which is declared unique`);
  }
  for (const { declared } of table.of("key")) {
    const isShared = await table.sharesValues(declared) ||
      await table.hasRowWith(
        declared.map((name) => `${quoteIdentifier(name)} IS NULL`).join(" OR "),
      );
    if (isShared) table.refuse(`${label} has rows that its declared key does not distinguish`);
  }
  // If generated columns change, only the database tests the rows, when it adds the checks.
  const isTestable = isConvertible && table.of("generated").length === 0 &&
    table.of("missing-column").every(({ declared }) => declared.generated === null);
  for (const { declared: { sql } } of isTestable ? table.of("missing-check") : []) {
    if (!await table.hasRowWith(`NOT (${sql}\n)`, isRetyped)) continue;
    table.refuse(`${label} has rows that fail the check ${sql}: change these first`);
  }
  // If a type changes, only the database tests the rows, when it adds the foreign keys.
  const hasTypes = table.of("type").length === 0;
  for (const { declared } of isTestable && hasTypes ? table.of("missing-foreign-key") : []) {
    if (!await table.hasRowWith(orphaned(declared, existing))) continue;
    table.refuse(
      `${label} has rows whose ${declared.columns.join(", ")} is no row of ${declared.table}: ` +
        "change these first",
    );
  }
}

function orphaned(key: ForeignKeyShape, existing: readonly TableShape[]): string {
  const present = key.columns.map((name) => `${quoteIdentifier(name)} IS NOT NULL`).join(" AND ");
  const target = existing.find(({ schema, name }) =>
    schema === key.schema && isSameName(name, key.table)
  );
  if (target === undefined) return present;
  const has = (name: string) => target.columns.some((column) => isSameName(column.name, name));
  // A referenced column that is being renamed does not exist yet: only the database checks the key.
  if (!key.references.every(has)) return "1 = 0";
  const from = `SELECT ${columnList(key.references)} FROM ${sqlName(target)}`;
  return `${present} AND (${columnList(key.columns)}) NOT IN (${from})`;
}
