import type { DatabaseFunction } from "../../db/functions/database_function.ts";
import type { Resource } from "../model/resource.ts";

/** Returns the resource of the table whose rows a function returns, if a resource serves it. */
export function servedResult(
  { result: { table: returned } }: DatabaseFunction,
  { tables, served, driver }: Resource,
): Resource | undefined {
  // Another database of the app can have a table with the same name.
  const table = tables.find((one) =>
    one.name === returned?.name && one.schema === returned.schema &&
    served.get(one)?.driver === driver
  );
  return table && served.get(table);
}
