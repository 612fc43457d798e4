import type { Access } from "../../auth/authorize.ts";
import type { Resource } from "../../resource/model/resource.ts";
import type { TableInfo } from "../../schema/table_info.ts";

/** The path prefix of the operator's resources in the inner app. */
const operatorBasePath = "/api";

/**
 * Returns the resources with the rights of the operator, who can access every row, and read and
 * write every field that some caller may read. Hidden columns stay hidden, hooks run, and search
 * indexes are updated.
 */
export function operatorResources(
  resources: readonly Resource[],
  { basePath, isReadOnly }: { readonly basePath: string; readonly isReadOnly: boolean },
): readonly Resource[] {
  const byTable = new Map<TableInfo, Resource>();
  const own = resources.map((resource): Resource => {
    const { fields, softDelete, capabilities } = resource;
    const writes = !isReadOnly;
    const written = fields.readable.filter((one) => one !== softDelete?.field && !one.generated);
    return {
      ...resource,
      url: operatorBasePath + resource.url.slice(basePath.length),
      policy: { ...resource.policy, public: allAccesses },
      fields: {
        ...fields,
        writable: new Set(written),
        immutable: new Set(),
        filterable: new Set(fields.readable),
        sortable: new Set(fields.readable),
      },
      fieldsOf: null,
      identityOf: null,
      varyingFields: new Set(),
      variesByCaller: false,
      capabilities: {
        ...capabilities,
        enableCreate: writes,
        enableUpdate: writes,
        enableDelete: writes,
        enableBatch: writes,
        enableRestore: writes && softDelete !== null,
        enableExport: true,
        enableAggregations: true,
      },
      page: { defaultLimit: 50, maxLimit: 500 },
      strictInput: true,
      strictQuery: true,
      allowsPreview: true,
      escapesFormulas: true,
      procedures: new Map(),
      protections: new Map(),
      procedureProtections: new Map(),
      served: byTable,
    };
  });
  for (const one of own) if (!byTable.has(one.table)) byTable.set(one.table, one);
  return own;
}

const allAccesses: ReadonlySet<Access> = new Set([
  ...["read", "create", "update", "delete", "subscribe"] as const,
]);
