import type { Access } from "../../auth/scope.ts";
import { createAggregateColumns } from "../../plan/aggregate_columns.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Resource, TransactionPart } from "../model/resource.ts";

/** Returns a changed copy of a resource. Repeated calls with a resource return the same copy. */
export type ResourceTransform = (resource: Resource) => Resource;

/**
 * Returns a function that makes the resources of a database use an open transaction of it. The
 * function leaves resources of other databases unchanged.
 */
export function resourcesInTransaction(
  part: TransactionPart,
  base: Resource["driver"],
): ResourceTransform {
  return changedResources((resource) =>
    resource.driver === base ? { driver: part.driver, db: part.handle(resource.sqlPlans) } : null
  );
}

/**
 * Returns a function that copies a resource for calls by the system: with all rows, all fields, and
 * all operations that the table allows. The ETags of its rows equal the ETags that users receive,
 * so that a program can compare them.
 */
export function createSystemTransform(): ResourceTransform {
  return changedResources(({ policy, table, softDelete, search, capabilities }) => {
    const isWritten = !table.readOnly;
    const { view } = table;
    return {
      policy: { ...policy, public: allAccesses, publicScopes: new Map(), scopes: new Map() },
      fields: {
        readable: table.columns,
        writable: new Set(table.columns),
        immutable: noColumns,
        filterable: new Set(table.columns),
        sortable: new Set(table.columns),
      },
      fieldsOf: null,
      identityOf: null,
      variesByCaller: false,
      groups: createAggregateColumns(table, table.columns),
      capabilities: {
        ...capabilities,
        enableCreate: isWritten && view?.insert !== false,
        enableUpdate: isWritten && view?.update !== false,
        enableDelete: isWritten && view?.delete !== false,
        enableBatch: isWritten,
        enableAggregations: true,
        enableRestore: isWritten && softDelete !== null,
        enableSearch: search !== null,
      },
    };
  });
}

const allAccesses: ReadonlySet<Access> = new Set(
  ["read", "create", "update", "delete", "subscribe"],
);
const noColumns: ReadonlySet<ColumnInfo> = new Set();

/** Changes the related resources too, because the rights of a call apply to them as well. */
function changedResources(
  change: (resource: Resource) => Partial<Resource> | null,
): ResourceTransform {
  const known = new Map<Resource, Resource>();
  return function changed(resource) {
    const before = known.get(resource);
    if (before !== undefined) return before;
    const changes = change(resource);
    const made: Resource = changes === null ? resource : {
      ...resource,
      ...changes,
      served: {
        get(table) {
          const target = resource.served.get(table);
          return target === undefined ? undefined : changed(target);
        },
      },
    };
    known.set(resource, made);
    return made;
  };
}
