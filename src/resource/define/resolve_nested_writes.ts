import type { Relation, Relations } from "../../schema/relation.ts";
import { type ColumnInfo, isRequired, type TableInfo } from "../../schema/table_info.ts";
import { requireTableInfo, type ResourceDefinition } from "./resource_definition.ts";

/**
 * Resolves the option `nestedWrites` to the columns that nested writes fill in. Such columns are
 * foreign keys of related rows, so they need no other value. Throws a plain Error for
 * `nestedWrites` without relations, and for a link table with a required column that neither a
 * relation nor the database fills in.
 */
export function resolveNestedWrites(
  definitions: readonly ResourceDefinition[],
  relations: ReadonlyMap<ResourceDefinition, Relations>,
): ReadonlySet<ColumnInfo> {
  const served = new Set(definitions.map(({ table }) => requireTableInfo(table)));
  const filledByRelation = new Set<ColumnInfo>();
  for (const definition of definitions) {
    if (definition.options.nestedWrites !== true) continue;
    const owner = requireTableInfo(definition.table);
    const own = [...relations.get(definition)?.values() ?? []];
    if (own.length === 0) {
      throw new Error(`Cannot serve "${owner.name}": nestedWrites needs relations to write along`);
    }
    for (const relation of own) {
      requireFillableLink(relation, served);
      for (const column of foreignKeys(relation)) filledByRelation.add(column);
    }
  }
  return filledByRelation;
}

function foreignKeys({ type, steps: [first, second] }: Relation): readonly ColumnInfo[] {
  if (type === "belongsTo") return first.own;
  return [...first.other, ...(second === undefined ? [] : second.own)];
}

/** Requires that every column of a link table can be filled, unless a resource serves the table. */
function requireFillableLink(relation: Relation, served: ReadonlySet<TableInfo>): void {
  const link = relation.steps[0].table;
  if (relation.type !== "manyToMany" || served.has(link)) return;
  const filled = foreignKeys(relation);
  for (const column of link.columns) {
    const isOpen = filled.includes(column) || column.generated || column.default !== null;
    if (isOpen || !isRequired(column)) continue;
    throw new Error(
      `Cannot relate "${relation.owner.name}" by relations.${relation.name}: with nestedWrites ` +
        `nothing can fill "${column.name}" of "${link.name}": give it a default, or serve the table`,
    );
  }
}
