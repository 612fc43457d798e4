import type { User } from "../../auth/authorize.ts";
import type { Driver } from "../../db/driver.ts";
import { showValue } from "../../problem/show_value.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import {
  type AnyTable,
  isTableInfo,
  type ServedRow,
  tableInfoOf,
  type TableLike,
} from "../../schema/table_like.ts";
import type { Procedure } from "../model/procedure.ts";
import type { KeyOf } from "../model/hooks.ts";
import type { ResourceOptions } from "../model/resource_options.ts";
import type { ResourceTypes } from "../model/resource_types.ts";

/** A table and its options. Created by {@link resource}. */
export interface ResourceDefinition {
  /** The declared table, or the description of an introspected table. */
  readonly table: TableLike<unknown, unknown> | TableInfo;
  /** The options that the caller of {@link resource} has passed. */
  readonly options: ResourceOptions<Record<string, unknown>>;
}

/** A {@link ResourceDefinition} with the types of the resource. */
export interface TypedDefinition<Types extends ResourceTypes> extends ResourceDefinition {
  /** Exists only for the compiler. */
  readonly $types?: Types;
}

/**
 * Defines a resource: a table that the service serves, and its options. The definition has no
 * effect until an app is created with it.
 *
 * @example
 * ```ts
 * import { all, integer, resource, table, text } from "@svc/resource-api";
 *
 * const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
 * resource(notes, { id: notes.id, auth: { public: { read: true }, create: () => all() } });
 * ```
 */
export function resource<
  S = Record<string, unknown>,
  I = S,
  U extends User = User,
  Of = AnyTable,
  const Created = unknown,
  const Updated = unknown,
  Computed = Record<string, unknown>,
  Targets = Record<never, never>,
  const Id = unknown,
  const Path extends string | undefined = undefined,
  Readable extends readonly unknown[] = readonly unknown[],
  Generated extends readonly unknown[] = readonly unknown[],
  const MayCreate extends boolean = boolean,
  const MayUpdate extends boolean = boolean,
  const MayDelete extends boolean = boolean,
  const MayBatch extends boolean = boolean,
  const MayAggregate extends boolean = boolean,
  const MaySubscribe extends boolean = boolean,
  const MayExport extends boolean = boolean,
  const MayImport extends boolean = boolean,
  const MaySearch extends boolean = boolean,
  const Nested extends boolean = boolean,
  const Kinds = unknown,
  const AutoRelations = undefined,
  Procedures extends Readonly<Record<string, Procedure>> = Readonly<Record<string, Procedure>>,
>(
  table: TableLike<S, I, Of> | TableInfo,
  options:
    & ResourceOptions<
      ServedRow<S>,
      ServedRow<I>,
      U,
      NoInfer<Of>,
      Created,
      Updated,
      Computed,
      Targets,
      KeyOf<NoInfer<Id>>
    >
    & {
      readonly id: Id;
      readonly path?: Path | undefined;
      readonly fields?:
        | {
          readonly readable?:
            | Readable
            | ((user: U | null) => Readable)
            | { readonly all: Readable; readonly by: unknown }
            | undefined;
        }
        | undefined;
      readonly generatedFields?: Generated | undefined;
      readonly capabilities?:
        | {
          readonly enableCreate?: MayCreate | undefined;
          readonly enableUpdate?: MayUpdate | undefined;
          readonly enableDelete?: MayDelete | undefined;
          readonly enableBatch?: MayBatch | undefined;
          readonly enableAggregations?: MayAggregate | undefined;
          readonly enableSubscribe?: MaySubscribe | undefined;
          readonly enableExport?: MayExport | undefined;
          readonly enableImport?: MayImport | undefined;
        }
        | undefined;
      readonly search?: { readonly enabled?: MaySearch | undefined } | undefined;
      readonly nestedWrites?: Nested | undefined;
      readonly relations?:
        | { readonly [Name in keyof Kinds]: { readonly type: Kinds[Name] } }
        | undefined;
      readonly autoRelations?: AutoRelations | undefined;
      readonly procedures?: Procedures | undefined;
    },
): TypedDefinition<{
  row: ServedRow<S>;
  newRow: ServedRow<I>;
  table: Of;
  computed: Computed;
  targets: Targets;
  options: {
    id: Id;
    path: Path;
    readable: Readable;
    generatedFields: Generated;
    operations:
      | (MayCreate extends false ? never : "create")
      | (MayUpdate extends false ? never : "update")
      | (MayDelete extends false ? never : "delete" | "restore")
      // The type parameters do not contain the option `history`, so the operation is always there.
      | "history"
      | (MayBatch extends false ? never : "batch")
      | (MayAggregate extends false ? never : "aggregate")
      | (MaySubscribe extends false ? never : "subscribe")
      // Exports and imports are disabled unless an option enables them.
      | ([MayExport] extends [true] ? "export" : never)
      | ([MayImport] extends [true] ? "import" : never)
      | (MaySearch extends false ? never : "search");
    nestedWrites: Nested;
    relationTypes: Kinds;
    autoRelations: AutoRelations;
    procedures: Procedures;
  };
}> {
  // Only the caller needs the types of rows and users. To the service, rows are plain records.
  return { table, options: options as unknown as ResourceOptions<Record<string, unknown>> };
}

export interface ServedTable {
  readonly definition: ResourceDefinition;
  readonly table: TableInfo;
  readonly driver: Driver;
}

export function requireTableInfo(table: TableLike<unknown, unknown> | TableInfo): TableInfo {
  if (typeof table !== "object" || table === null) {
    throw new Error(`Cannot serve this: resource() takes a table first, not ${showValue(table)}`);
  }
  return isTableInfo(table) ? table : tableInfoOf(table);
}
