import type { Access, AccessPolicy } from "../../auth/authorize.ts";
import type { ResolvedCapabilities, Resource } from "../../resource/model/resource.ts";
import { type ColumnInfo, refersTo, type TableInfo } from "../../schema/table_info.ts";
import { type FieldSchema, isRequiredOnCreate, rulesOf } from "../../openapi/fields.ts";
import { isPolicy } from "../../auth/policy.ts";
import type { OperationProtection } from "../../guard/operation_protection.ts";
import { mayWrite } from "../../resource/write/values/parse_fields.ts";
import { isAny } from "../../schema/structured/structured_value.ts";

const operatorBasePath = "/api";

/** Grants all rows, and all fields that some caller may read. Hidden columns stay hidden. */
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
        filterable: new Set(fields.selectable),
        sortable: new Set(fields.selectable),
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
      batch: {
        create: 1_000,
        update: 10_000,
        replace: 1_000,
        delete: 10_000,
        incrementVersion: true,
      },
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

export type ResourceDescription = ReturnType<typeof factsOf>;

type AllowedCallers =
  | "everyone"
  | "some rows of everyone"
  | "some rows of everyone, more by scope"
  | "users by scope"
  | "nobody";

interface FieldFacts
  extends
    Pick<FieldSchema, "name" | "type" | "wide" | "nullable" | "required" | "onSelect">,
    Pick<FieldSchema, "enum" | "minLength" | "maxLength" | "pattern" | "format" | "min" | "max"> {
  readonly description: string | null;
  /** True if no response contains the field. */
  readonly hidden: boolean;
  /** True if some caller may write the field. The operator can also write other fields. */
  readonly writable: boolean;
  readonly immutable: boolean;
  readonly filterable: boolean;
  readonly sortable: boolean;
  readonly unique: boolean;
  readonly default?: string;
  readonly references?: { readonly resource: string; readonly field: string };
}

export interface ServedResources {
  readonly resources: readonly Resource[];
  readonly basePath: string;
  readonly prefix: string;
}

export function describeResources(served: ServedResources): readonly ResourceDescription[] {
  return served.resources.map((one) => factsOf(one, served));
}

function factsOf(resource: Resource, { resources, basePath, prefix }: ServedResources) {
  const { name, url, table, capabilities, policy, protections, relations } = resource;
  return {
    name,
    description: table.description,
    schema: table.schema,
    /** The last segment of the resource's path below the dashboard, such as `notes`. */
    path: url.slice(basePath.length + 1),
    url: prefix + url,
    key: table.primaryKey.map((column) => column.name),
    label: labelOf(resource),
    /** The table's columns in order, including hidden columns, then the computed fields. */
    fields: fieldFacts(resource, resources),
    relations: [...relations.values()].flatMap(({ name, type, target }) => {
      const other = resource.served.get(target);
      return other === undefined ? [] : [{ name, type, resource: other.name }];
    }),
    capabilities,
    rights: rightsOf(policy, capabilities),
    /** The names of policies by kind of access. A scope that is not a named policy has no entry. */
    policies: Object.fromEntries(
      [...policy.scopes].flatMap(([access, scope]) =>
        isPolicy(scope) ? [[access, scope.policyName]] : []
      ),
    ),
    protections: Object.fromEntries(
      [...protections].map(([access, one]) => [access, protectionFacts(one)]),
    ),
    procedures: [...resource.procedures].map(([name, procedure]) => {
      const protection = resource.procedureProtections.get(name);
      return {
        name,
        right: procedure.public === true ? "everyone" as const : "every user" as const,
        protection: protection === undefined ? null : protectionFacts(protection),
      };
    }),
    etag: resource.etag !== null,
    softDelete: resource.softDelete?.field.name ?? null,
    searchable: resource.search !== null,
    live: resource.isSubscribable && resource.hub() !== null,
  };
}

/** Returns the field by which people recognize rows: a string with a typical name, or the key. */
function labelOf({ fields: { readable }, table: { primaryKey } }: Resource): string {
  const texts = readable.filter(({ kind, primaryKey }) => kind === "text" && !primaryKey);
  for (const name of labelNames) {
    const found = texts.find((column) => column.name.toLowerCase() === name);
    if (found !== undefined) return found.name;
  }
  const near = texts.find(({ name }) => /(?:name|title|label)$/i.test(name));
  return near?.name ?? primaryKey[0]?.name ?? "";
}

const labelNames = [
  ...["name", "title", "label", "subject", "headline", "display_name", "displayname"],
  ...["full_name", "fullname", "username", "email", "slug"],
];

function fieldFacts(resource: Resource, served: readonly Resource[]): readonly FieldFacts[] {
  const { table, computed } = resource;
  return [
    ...[...table.byName.values()].map((column): FieldFacts => {
      const { fields } = resource;
      const references = referenceOf(column, resource, served);
      return {
        name: column.name,
        description: column.description,
        type: isAny(column) ? "any" : column.kind,
        ...(column.isWide ? { wide: true } : {}),
        nullable: !column.notNull,
        required: isRequiredOnCreate(column, resource),
        unique: isUnique(column, table),
        ...defaultOf(column),
        hidden: !fields.selectable.includes(column),
        ...(column.rowFunction === undefined ? {} : { onSelect: true }),
        writable: mayWrite(column, resource),
        immutable: fields.immutable.has(column),
        filterable: fields.filterable.has(column),
        sortable: fields.sortable.has(column),
        ...rulesOf(column),
        ...(references === null ? {} : { references }),
      };
    }),
    ...computed.fields.map(([name]): FieldFacts => ({
      ...{ name, description: null, type: "computed", nullable: true, hidden: false },
      ...{ required: false, unique: false },
      ...{ writable: false, immutable: false, filterable: false, sortable: false },
    })),
  ];
}

function isUnique({ unique, dbName, primaryKey }: ColumnInfo, table: TableInfo): boolean {
  return unique || primaryKey && table.primaryKey.length === 1 ||
    table.uniques.some(([first, ...more]) => first === dbName && more.length === 0);
}

function defaultOf({ default: given, generated }: ColumnInfo): Pick<FieldFacts, "default"> {
  if (given === null || generated) return {};
  if (given.kind === "function") return { default: "set by the service" };
  if (given.kind === "value") return { default: String(given.value) };
  return { default: given.sql ?? "set by the database" };
}

function referenceOf(
  column: ColumnInfo,
  resource: Resource,
  served: readonly Resource[],
): NonNullable<FieldFacts["references"]> | null {
  for (const { type, target, steps: [{ pairs }] } of resource.relations.values()) {
    const [{ own, other }, ...more] = pairs;
    const related = type === "belongsTo" && own === column && more.length === 0
      ? resource.served.get(target)
      : undefined;
    if (related?.fields.readable.includes(other)) {
      return { resource: related.name, field: other.name };
    }
  }
  const { table, driver } = resource;
  const key = table.foreignKeys.find(({ columns }) =>
    columns.length === 1 && columns[0] === column.dbName
  );
  const referenced = served.find((one) =>
    one.driver === driver && key !== undefined && refersTo(key, one.table)
  );
  const field = referenced?.fields.readable.find(({ dbName }) => dbName === key?.references[0]);
  return referenced === undefined || field === undefined
    ? null
    : { resource: referenced.name, field: field.name };
}

function rightsOf(
  { public: open, publicScopes, scopes }: AccessPolicy,
  capabilities: ResolvedCapabilities,
): Readonly<Record<Access, AllowedCallers>> {
  const rightOf = (access: Access): AllowedCallers => {
    const capability = capabilityOf[access];
    if (capability !== null && !capabilities[capability]) return "nobody";
    if (open.has(access)) return "everyone";
    if (!publicScopes.has(access)) return scopes.has(access) ? "users by scope" : "nobody";
    return scopes.has(access) ? "some rows of everyone, more by scope" : "some rows of everyone";
  };
  return {
    read: rightOf("read"),
    create: rightOf("create"),
    update: rightOf("update"),
    delete: rightOf("delete"),
    subscribe: rightOf("subscribe"),
  };
}

const capabilityOf: Readonly<Record<Access, keyof ResolvedCapabilities | null>> = {
  read: null,
  create: "enableCreate",
  update: "enableUpdate",
  delete: "enableDelete",
  subscribe: "enableSubscribe",
};

function protectionFacts({ cost, rateLimit, pow, captcha }: OperationProtection) {
  return {
    /** The number of budget tokens for each row of a request; 0 if no budget applies. */
    cost,
    rateLimit: rateLimit?.limit.header ?? null,
    pow: pow?.difficulty ?? null,
    captcha: captcha !== null,
  };
}
