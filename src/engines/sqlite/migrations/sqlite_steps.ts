import type { Connection } from "../../../db/driver.ts";
import { cell, selectNamed } from "../../../db/named_columns.ts";
import { sqliteTriggerPrefix } from "../sql/change_log_schema.ts";
import { isSameName, quoteIdentifier } from "../../../sql/fragment.ts";
import {
  parseCreateTable,
  type ParsedDefinition,
} from "../../../sql/statements/parse_create_table.ts";
import { mustFill } from "../../../db/migrations/compare/difference.ts";
import type { ColumnShape, TableShape } from "../../../db/migrations/compare/table_shape.ts";
import type { MigrationStep } from "../../../db/migrations/migration_plan.ts";
import { referencesSql } from "../../../db/migrations/plan/column_sql.ts";
import { partsToRename } from "../../../db/migrations/plan/parts_to_rename.ts";
import { type OtherProgramTrigger, rebuildSteps } from "./sqlite_rebuild.ts";
import {
  addIndexSteps,
  alter,
  createIndexSteps,
  dropIndex,
  indexesToDrop,
  inRenameOrder,
  newStep,
  renameSteps,
  type TableMigration,
} from "../../../db/migrations/plan/table_migration.ts";

/** Returns migration steps. Rebuilds follow https://sqlite.org/lang_altertable.html#otheralter */
export async function sqliteMigrationSteps(
  connection: Connection,
  tables: readonly TableMigration[],
  missing: readonly TableShape[],
): Promise<readonly MigrationStep[]> {
  const triggers = await otherTriggers(connection);
  const rebuilt = tables.filter(takesRebuild);
  return [
    ...inRenameOrder(tables).flatMap(renameSteps),
    ...tables.flatMap(renamedIndexes),
    ...missing.flatMap(creation),
    ...tables.filter((table) => !rebuilt.includes(table)).flatMap(alterations),
    ...(rebuilt.length === 0 ? [] : [
      // The new table gets the name of the old one, so references to that name must stay the same.
      newStep("PRAGMA legacy_alter_table = ON", "renames change no other table, trigger or view"),
      ...rebuilt.flatMap((table) => rebuildSteps(table, triggers)),
      newStep("PRAGMA legacy_alter_table = OFF", "as before"),
    ]),
  ];
}

async function otherTriggers(connection: Connection): Promise<readonly OtherProgramTrigger[]> {
  return await selectNamed(
    connection,
    { name: cell.text("name"), table: cell.text("tbl_name"), sql: cell.text("sql") },
    `FROM main.sqlite_schema WHERE type = 'trigger' AND substr(name, 1, ?) <> ? ORDER BY rowid`,
    sqliteTriggerPrefix.length,
    sqliteTriggerPrefix,
  );
}

function renamedIndexes(table: TableMigration): readonly MigrationStep[] {
  return partsToRename(table).flatMap(({ from, to, sql }) =>
    sql === null ? [] : [
      newStep(`DROP INDEX ${quoteIdentifier(from)}`, `${table.label}: the name of ${from} follows`),
      newStep(sql, `${table.label}: it is ${to} now`),
    ]
  );
}

function creation(table: TableShape): readonly MigrationStep[] {
  return [newStep(table.sql ?? "", `create ${table.name}`), ...createIndexSteps(table)];
}

function alterations(table: TableMigration): readonly MigrationStep[] {
  return [
    ...table.of("superfluous-unique").flatMap(({ existing: { name } }) =>
      name === null ? [] : [dropIndex(table, name)]
    ),
    ...indexesToDrop(table).map((name) => dropIndex(table, name)),
    ...table.of("missing-column").map(({ declared }) => {
      const { text = "" } = definitionOf(table, declared) ?? {};
      const key = foreignKeyOf(table, declared);
      const target = key === undefined ? "" : ` REFERENCES ${referencesSql(key)}`;
      return alter(table, `ADD COLUMN ${text}${target}`, `add ${declared.name}`);
    }),
    ...addIndexSteps(table),
  ];
}

function takesRebuild(table: TableMigration): boolean {
  const added = table.of("missing-column");
  const isCovered = (columns: readonly string[]) =>
    columns.length === 1 && added.some(({ column }) => isSameName(column ?? "", columns[0] ?? ""));
  return table.differences.some((one) => {
    switch (one.kind) {
      case "missing-table":
      case "renamed-table":
      case "renamed-column":
      case "missing-index":
      case "superfluous-index":
      case "collation":
        return false;
      case "missing-column":
        return !canBeAdded(table, one.declared);
      case "superfluous-column":
        return table.mayLose(one.existing.name) || mustFill(one.existing);
      case "missing-unique":
        return one.declared.index === null;
      case "superfluous-unique":
        return one.existing.index === null;
      case "missing-foreign-key":
        return !isCovered(one.declared.columns);
      case "missing-check":
        return !added.some(({ declared }) =>
          definitionOf(table, declared)?.constraints.some((constraint) =>
            constraint.kind === "check" && constraint.sql === one.declared.sql
          )
        );
      default:
        return true;
    }
  });
}

/** Returns true if ADD COLUMN accepts the column: not unique, and with a constant default. */
function canBeAdded(table: TableMigration, column: ColumnShape): boolean {
  const definition = definitionOf(table, column);
  const isFit = definition?.constraints.every((one) => one.kind !== "key" && one.kind !== "unique");
  const isConstant = column.default === null ||
    /^(?:[-+]?[\d.]+|'(?:[^']|'')*')$/.test(column.default);
  const isFilled = !column.notNull || column.default !== null;
  return isFit === true && column.generated === null && isConstant && isFilled;
}

function definitionOf(
  { pair }: TableMigration,
  { name }: ColumnShape,
): ParsedDefinition | undefined {
  return parseCreateTable(pair.shape.sql ?? "()").definitions
    .find(({ column }) => column?.name === name);
}

function foreignKeyOf({ pair }: TableMigration, { name }: ColumnShape) {
  return pair.shape.foreignKeys.find(({ columns }) => columns.length === 1 && columns[0] === name);
}
