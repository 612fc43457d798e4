import type { Introspection } from "../../db/introspection.ts";
import { resource, type ResourceDefinition } from "../../resource/define/resource_definition.ts";
import { createTableInfo } from "../../schema/table_info.ts";
import { type CliRights, isWriter } from "../cli_service.ts";

/**
 * Returns the resource `functions`, whose procedures call the functions of the database, or an
 * empty list without functions. Volatile functions need the right to write, unless policies of the
 * database determine the rights.
 */
export function functionsResource(
  functions: Introspection["functions"],
  { readsNeedToken, writable }: CliRights,
  hasPolicies: boolean,
): readonly ResourceDefinition[] {
  const offered = Object.entries(functions).filter(([, { databaseFunction }]) =>
    writable || databaseFunction.isQuery
  );
  if (offered.length === 0) return [];
  const procedures = Object.fromEntries(offered.map(([name, procedure]) => {
    const isOpen = hasPolicies || procedure.databaseFunction.isQuery;
    return [name, {
      ...procedure,
      public: isOpen && !readsNeedToken,
      ...(isOpen ? {} : { permits: isWriter }),
    }];
  }));
  // The resource has no rows, so its table has no columns.
  const table = createTableInfo({
    ...{ name: "functions", schema: null, columns: [], foreignKeys: [], own: false },
  });
  const capabilities = { enableAggregations: false };
  return [resource(table, { id: [], strictInput: true, capabilities, procedures })];
}
