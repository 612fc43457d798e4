import { checkTables, type TableOfDriver } from "../db/tables/check_tables.ts";
import { addTableFacts, type TableFacts } from "../db/tables/table_facts.ts";
import { checkRoleRights, reportPolicyBypasses } from "../resource/live/create_live_view.ts";
import type { ResolveResourcesDependencies } from "./resolve_resources.ts";
import type { Resource } from "../resource/model/resource.ts";
import type { RelationStep } from "../schema/relation.ts";

export async function readTables(
  resources: readonly Resource[],
  facts: TableFacts,
  { roleRights, acting, runtime: { observe } }: Pick<
    ResolveResourcesDependencies,
    "roleRights" | "acting" | "runtime"
  >,
): Promise<void> {
  const tables = resources.flatMap(tablesInReach).flatMap(({ table, driver }) => {
    // A resource that only has procedures has no table in the database.
    if (table.columns.length === 0) return [];
    // With `actAs`, the login role may have no rights on a table, so another role reads the table.
    const reader = acting === null ? driver : acting.driverOf(table);
    return reader === null ? [] : [{ table, driver: reader }];
  });
  await Promise.all([checkTables(tables, observe), roleRights.readFirst()]);
  checkRoleRights(resources, roleRights, observe);
  await reportPolicyBypasses(acting?.inEachRole(resources) ?? resources, roleRights, observe);
  await addTableFacts(tables, facts);
}

function tablesInReach({ table, driver, relations }: Resource): readonly TableOfDriver[] {
  const steps = [...relations.values()].flatMap((relation): readonly RelationStep[] =>
    relation.steps
  );
  return [{ table, driver }, ...steps.map((step) => ({ table: step.table, driver }))];
}
