import type { Relations } from "../../schema/relation.ts";
import { requireTableInfo, type ResourceDefinition } from "./resource_definition.ts";
import { dependsOnCaller } from "./resolve_field_lists.ts";

export function varyingDefinitions(
  definitions: readonly ResourceDefinition[],
  relations: ReadonlyMap<ResourceDefinition, Relations>,
): ReadonlySet<ResourceDefinition> {
  // The Map keeps the last value of each key. Reversed, that is the first resource of a table.
  const serving = new Map(
    definitions.toReversed().map((one) => [requireTableInfo(one.table), one] as const),
  );
  const varies = (definition: ResourceDefinition) => {
    const reached = new Set([definition]);
    // The set grows during this loop, until no relation leads to a resource outside of the set.
    for (const one of reached) {
      if (dependsOnCaller(one.options.fields)) return true;
      for (const { steps } of relations.get(one)?.values() ?? []) {
        for (const { table } of steps) {
          const other = serving.get(table);
          if (other !== undefined) reached.add(other);
        }
      }
    }
    return false;
  };
  return new Set(definitions.filter(varies));
}
