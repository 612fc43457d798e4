import type { TableInfo } from "../../../schema/table_info.ts";
import { quoteIdentifier, sqlName, type SqlValue } from "../../../sql/fragment.ts";
import type { Driver } from "../../../db/driver.ts";
import { selectNamed } from "../../../db/named_columns.ts";
import type { ResolvedChangesOptions } from "../../../db/changes/changes_options.ts";

/** Returns a sentence for the operator: the missing right for the change log, and the remedy. */
export async function whyNoChangeLog(
  driver: Driver,
  tables: readonly TableInfo[],
  { mode, schema }: Pick<ResolvedChangesOptions, "mode" | "schema">,
): Promise<string> {
  const [found] = await selectNamed(
    driver,
    {
      role: "current_user",
      schema: "coalesce($1, current_schema())",
      mayCreate: "coalesce(has_schema_privilege(coalesce($1, current_schema()), 'CREATE'), false)",
      hasLog: "to_regclass('_service_changes') IS NOT NULL",
      others: `(SELECT json_agg(c.relname ORDER BY c.relname)
      FROM json_array_elements_text($2::json) AS t(name) JOIN pg_class c ON c.oid = to_regclass(name)
      WHERE NOT pg_has_role(c.relowner, 'USAGE'))`,
    },
    "",
    schema,
    JSON.stringify(tables.map(sqlName)),
  );
  const others: readonly string[] = JSON.parse(String(found?.others ?? "null")) ?? [];
  const role = `the role "${found?.role}"`;
  if (found?.hasLog !== "t" && found?.mayCreate !== "t") {
    const place = `the schema "${found?.schema}"`;
    return `A log of changes needs tables, and ${role} may create none in ${place}: ` +
      `GRANT CREATE ON SCHEMA ${quoted(found?.schema)} TO ${
        quoted(found?.role)
      }, or name a schema where it may ` +
      "by --changes-schema; without the log nothing else is missing";
  }
  if (mode === "triggers" && others.length > 0) {
    const [first, ...more] = others;
    const names = more.length === 0 ? `"${first}"` : `"${first}" and ${more.length} more`;
    return `Only the owner of a table may have triggers on it that always run, and ${role} does not ` +
      `own ${names}: so changes are recorded as by changes: { mode: "service" }`;
  }
  return `The log of changes, _service_changes, belongs to another role, and ${role} lacks rights ` +
    "on it and the other tables _service_*: GRANT ALL on them, or ON ALL TABLES of their schema";
}

function quoted(name: SqlValue | undefined): string {
  return quoteIdentifier(String(name));
}
