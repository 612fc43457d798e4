import type { Relation } from "../../../schema/relation.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { Resource } from "../../model/resource.ts";
import { columnsToClear, mayChange } from "./foreign_keys.ts";

/** A member of the object that a body contains under the name of a relation. */
export type RelationMember = "connect" | "disconnect" | "set" | "create";

/** Returns the permitted members: none without nested writes or a resource for the related rows. */
export function relationMembers(relation: Relation, owner: Resource): readonly RelationMember[] {
  const { type, steps: [near] } = relation;
  const target = owner.served.get(relation.target);
  if (target === undefined || !owner.nestedWrites) return [];
  const creates = target.capabilities.enableCreate;
  switch (type) {
    case "belongsTo": {
      const { connect, disconnect } = changesOf(near.own, owner);
      return chosen({ connect, disconnect, create: connect && creates });
    }
    case "hasOne":
    case "hasMany": {
      const { connect, disconnect } = target.capabilities.enableUpdate
        ? changesOf(near.other, target)
        : { connect: false, disconnect: false };
      return chosen({ connect, disconnect, set: connect && type === "hasMany", create: creates });
    }
    case "manyToMany": {
      const { enableCreate: connect, enableDelete: disconnect } =
        owner.served.get(near.table)?.capabilities ?? { enableCreate: true, enableDelete: true };
      return chosen({
        connect,
        disconnect,
        set: connect && disconnect,
        create: connect && creates,
      });
    }
  }
}

function changesOf(
  foreignKey: readonly ColumnInfo[],
  resource: Resource,
): Readonly<Record<"connect" | "disconnect", boolean>> {
  return {
    connect: foreignKey.some((column) => mayChange(column, resource)),
    disconnect: columnsToClear(foreignKey, resource).length > 0,
  };
}

const order: readonly RelationMember[] = ["connect", "disconnect", "set", "create"];

function chosen(
  members: Readonly<Partial<Record<RelationMember, boolean>>>,
): readonly RelationMember[] {
  return order.filter((member) => members[member] === true);
}
