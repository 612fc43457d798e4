import type { ResourceDescription } from "../service/facts.ts";

/** The resources of a schema. */
export interface ResourceGroup {
  /** The name of the schema, or null for the default schema. */
  readonly schema: string | null;
  readonly resources: readonly ResourceDescription[];
}

/** Groups resources by the schemas of their tables, the default schema first. */
export function groupResources(
  resources: readonly ResourceDescription[],
): readonly ResourceGroup[] {
  const groups = Map.groupBy(resources, ({ schema }) => schema);
  return [...groups].map(([schema, resources]) => ({ schema, resources }))
    .sort((a, b) => (a.schema ?? "") < (b.schema ?? "") ? -1 : 1);
}

/** Returns the title of a resource in the group of its schema. */
export function titleInGroup({ title, schema }: ResourceDescription): string {
  return schema !== null && title.startsWith(`${schema}.`) ? title.slice(schema.length + 1) : title;
}
