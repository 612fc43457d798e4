import { checkTables, type TableOfDriver } from "../db/tables/check_tables.ts";
import { conflictTables } from "../db/tables/conflict_tables.ts";
import {
  tablesUnchangedByEmptyWrite,
  tablesWithFinalRows,
} from "../db/tables/tables_without_effects.ts";
import { leadingColumns } from "../db/tables/leading_columns.ts";
import type { RoleRights } from "../db/tables/role_rights.ts";
import { checkRoleRights, reportPolicyBypasses } from "../resource/live/shown_to_role.ts";
import type { ActAsRoleRights } from "./resolve_resources.ts";
import type { Resource } from "../resource/model/resource.ts";
import type { Observer } from "../runtime/observation.ts";
import type { RelationStep } from "../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";

/** Facts about the tables that only the database knows. {@link readTables} fills the sets. */
export interface TableFacts {
  /** The columns that are the first of an index. */
  readonly indexed: Set<ColumnInfo>;
  readonly conflicting: Set<TableInfo>;
  /** The tables in which no trigger or rule changes a row after the statement that writes it. */
  readonly final: Set<TableInfo>;
  /** The tables in which no trigger or rule changes anything if a statement writes no row. */
  readonly withoutEffects: Set<TableInfo>;
}

/** Returns empty table facts. {@link readTables} fills them in. */
export function emptyTableFacts(): TableFacts {
  return {
    indexed: new Set(),
    conflicting: new Set(),
    final: new Set(),
    withoutEffects: new Set(),
  };
}

/** Checks the tables, and reads the facts about them that only the database knows. */
export async function readTables(
  resources: readonly Resource[],
  { indexed, conflicting, final, withoutEffects, roleRights, acting }: TableFacts & {
    readonly roleRights: RoleRights;
    readonly acting: ActAsRoleRights | null;
  },
  observe: Observer,
): Promise<void> {
  const tables = resources.flatMap(tablesInReach).flatMap(({ table, driver }) => {
    // With `actAs`, the role that logs in can be without rights, so another role reads the tables.
    const reader = acting === null ? driver : acting.driverOf(table);
    return reader === null ? [] : [{ table, driver: reader }];
  });
  await Promise.all([checkTables(tables, observe), roleRights.readFirst()]);
  checkRoleRights(resources, roleRights, observe);
  await reportPolicyBypasses(acting?.inEachRole(resources) ?? resources, roleRights, observe);
  for (const column of await leadingColumns(tables)) indexed.add(column);
  for (const table of await conflictTables(tables)) conflicting.add(table);
  for (const table of await tablesWithFinalRows(tables)) final.add(table);
  for (const table of await tablesUnchangedByEmptyWrite(tables)) withoutEffects.add(table);
}

/** Returns the served table and the tables of its relations, including link tables. */
function tablesInReach({ table, driver, relations }: Resource): readonly TableOfDriver[] {
  const steps = [...relations.values()].flatMap((relation): readonly RelationStep[] =>
    relation.steps
  );
  return [{ table, driver }, ...steps.map((step) => ({ table: step.table, driver }))];
}
