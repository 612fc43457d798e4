import type { PlanningFacts } from "../../engine/migration_facts.ts";
import type { ColumnShape } from "../compare/table_shape.ts";
import { missingIndexNames, type TableMigration } from "./table_migration.ts";

/** Reports kept columns and indexes. A column that may have been renamed needs a decision. */
export function reportUnused(table: TableMigration): void {
  const added = table.of("missing-column").map(({ declared }) => declared);
  for (const { existing } of table.of("superfluous-column")) {
    const { name } = existing;
    if (table.mayLose(name)) continue;
    const place = `${table.label}.${name}`;
    const candidate = added.find((one) => isSameKind(one, existing, table.planning));
    if (candidate !== undefined && !table.isKept(name)) {
      table.ask({ table: table.label, from: name, to: candidate.name });
      table.refuse(
        `${place} is not declared any more, and ${table.label}.${candidate.name} of the same type is new: ` +
          `is it a rename? Then declare .was(${JSON.stringify(name)}); if not, ` +
          `--allow-drop ${place} drops it, and --keep ${place} leaves it`,
      );
    } else table.leave(`${place} is not declared and stays: --allow-drop ${place} drops it`);
  }
  for (const { from, to } of table.conflictingRenames) {
    const place = `${table.label}.${from}`;
    if (table.mayLose(from) || table.isKept(from)) continue;
    table.refuse(
      `${table.label}.${to} was ${from} before, and the table has both: drop the wrong one by a ` +
        `statement, or leave ${place} as it is by --keep ${place}`,
    );
  }
  const replaced = missingIndexNames(table);
  for (const { existing: { name } } of table.of("superfluous-index")) {
    const place = `${table.label}.${name}`;
    if (table.mayLose(name) || replaced.has(name)) continue;
    table.leave(`the index ${name} is not declared and stays: --allow-drop ${place} drops it`);
  }
}

function isSameKind(
  left: ColumnShape,
  right: ColumnShape,
  { mayBeRename }: PlanningFacts,
): boolean {
  return left.generated === null && right.generated === null && mayBeRename(left.type, right.type);
}
