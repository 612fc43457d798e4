import type { ApiOperation } from "../api/rows.ts";
import type { AnyApi } from "../resource/model/code_api.ts";
import type {
  ResourceDefinition,
  TypedDefinition,
} from "../resource/define/resource_definition.ts";
import type { ResourceTypes } from "../resource/model/resource_types.ts";
import type { SchemaInput, SchemaOutput, StandardSchema } from "../schema/standard_schema.ts";
import type { ColumnLike, IsUnknownName, ServedValue } from "../schema/table_like.ts";

/**
 * The `Api` of a client, inferred from the configuration of its service. The type has a member for
 * each resource whose name the compiler can infer. If the configuration does not determine a type,
 * the type is general, such as `unknown`. Rows are `Partial` if `fields.readable` names some
 * columns or depends on the user. A computed field can be `unknown`. The command `resource-api
 * types` writes an `Api` with the precise types.
 *
 * @example
 * ```ts
 * import {
 *   createApp, type InferApi, integer, openDatabase, resource, table, text,
 * } from "@svc/resource-api";
 *
 * const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
 * const db = await openDatabase("sqlite::memory:");
 * await db.createTables([notes]);
 * const config = {
 *   db,
 *   resources: [resource(notes, { id: notes.id, auth: { public: { read: true } } })],
 * };
 * const app = await createApp(config);
 * type Api = InferApi<typeof config>; // for createClient<Api>() of "@svc/resource-api/client"
 * const note: Api["notes"]["row"] = { id: 1, title: "Tea" };
 * console.log(note.title); // Tea
 * await app.close();
 * await db.close();
 * ```
 */
export type InferApi<Config extends { readonly resources: readonly ResourceDefinition[] }> =
  InferredApi<
    TypesOfDefinition<Config["resources"][number]>,
    "search" extends keyof Config ? never : "search"
  >;

/** The types of an app's resources, or {@link AnyApi} if the compiler cannot infer them. */
export type ApiOfApp<Definition> = TypesOfDefinition<Definition> extends
  infer Types extends ResourceTypes
  ? [keyof InferredApi<Types>] extends [never] ? AnyApi : InferredApi<Types>
  : AnyApi;

/** @internal The `Api` of these resources. `Missing` is `"search"` if the app has no search. */
export type InferredApi<All extends ResourceTypes, Missing = never> = {
  [Types in All as InferredPath<Types>]: {
    path: string;
    key: InferredKey<Types["options"]["id"], Types["row"]>;
    row: InferredRow<Types>;
    create: InferredCreate<Types, All>;
    update: InferredUpdate<Types, All>;
    relations: InferredRelations<Types, All>;
    targets: {
      [Name in keyof Types["targets"]]: InferredTarget<
        All,
        keyof InferredApi<ResourcesOf<All, Types["targets"][Name]>>
      >;
    };
    etag: boolean;
    procedures: InferredProcedures<Types["options"]["procedures"]>;
    operations: Exclude<Types["options"]["operations"] & ApiOperation, Missing>;
  };
};

/** @internal The resource at the path `Paths`; `unknown` if `Paths` is several paths, or none. */
export type InferredTarget<All extends ResourceTypes, Paths, Path = Paths> = [Paths] extends [never]
  ? unknown
  : Path extends keyof InferredApi<All> ? [Paths] extends [Path] ? InferredApi<All>[Path] : unknown
  : unknown;

/** @internal The types of the resources in a union of definitions; `never` if not inferred. */
export type TypesOfDefinition<Definition> = Definition extends TypedDefinition<infer Types> ? Types
  : never;

/** @internal The path of a resource, or `never` if the compiler cannot infer it. */
export type InferredPath<Types extends ResourceTypes> = Types["options"]["path"] extends string
  ? string extends Types["options"]["path"] ? never : Types["options"]["path"]
  : IsUnknownName<Types["table"]> extends true ? never
  : Types["table"] & string;

/** @internal The value of a primary key, or the list of values of a composite key. */
export type InferredKey<Id, Row> = Id extends ColumnLike<infer Value> ? ServedValue<Value>
  : Id extends keyof Row ? Row[Id]
  : Id extends readonly [] ? never
  : Id extends readonly [infer Only] ? InferredKey<Only, Row>
  : Id extends readonly unknown[] ? { [Index in keyof Id]: InferredKey<Id[Index], Row> }
  : unknown;

/** @internal A row of a resource, or `Partial` of the row if not every column is readable. */
export type InferredRow<Types extends ResourceTypes> =
  & (IsGiven<Types["options"]["readable"]> extends true ? Partial<Types["row"]> : Types["row"])
  & InferredComputed<Types["computed"]> extends infer Row extends object
  ? { [Name in keyof Row]: Row[Name] }
  : never;

/** @internal True if an option like `readable` lists typed columns or is a function of the user. */
export type IsGiven<List> = List extends readonly (infer Column)[]
  ? unknown extends Column ? false : true
  : List extends { readonly by: unknown } | ((...given: never[]) => unknown) ? true
  : false;

/** @internal The computed fields of a row. A value that JSON could change is of type `unknown`. */
export type InferredComputed<Computed> = string extends keyof Computed ? unknown
  : { [Name in keyof Computed]: Computed[Name] extends PlainValue ? Computed[Name] : unknown };

/** @internal Values that JSON keeps unchanged. */
export type PlainValue = string | number | boolean | null;

/** @internal The body that creates a row. Fields that the server can fill in are optional. */
export type InferredCreate<Types extends ResourceTypes, All extends ResourceTypes> =
  [Extract<Types["options"]["operations"], "create">] extends [never] ? never
    : Types["options"]["nestedWrites"] extends true
      ? Partial<Types["newRow"]> & InferredMembers<Types, All, "new">
    : IsGiven<Types["options"]["generatedFields"]> extends true ? Partial<Types["newRow"]>
    : Types["newRow"];

/** @internal The body that changes a row and its related rows. */
export type InferredUpdate<Types extends ResourceTypes, All extends ResourceTypes> =
  [Extract<Types["options"]["operations"], "update">] extends [never] ? never
    : Types["options"]["nestedWrites"] extends true
      ? Partial<Types["newRow"]> & InferredMembers<Types, All, "stored">
    : Partial<Types["newRow"]>;

/** @internal The members for relations in the body of a create (`new`) or update (`stored`). */
export type InferredMembers<
  Types extends ResourceTypes,
  All extends ResourceTypes,
  Row extends "new" | "stored",
> = HasOtherRelations<Types> extends true ? { readonly [relation: string]: unknown } : {
  readonly [Name in keyof Types["targets"]]?: (Row extends "new" ? InferredEmbedded<
      ResourcesOf<All, Types["targets"][Name]>,
      Types["options"]["relationTypes"][Name & keyof Types["options"]["relationTypes"]]
    >
    : InferredChange<
      ResourcesOf<All, Types["targets"][Name]>,
      Types["options"]["relationTypes"][Name & keyof Types["options"]["relationTypes"]]
    >);
};

/** @internal The related rows that a new row's body can create or connect, for one relation. */
export type InferredEmbedded<Target extends ResourceTypes, Type> = [Target] extends [never]
  ? unknown
  : Type extends "hasMany" | "manyToMany"
    ? readonly InferredNested<Target>[] | Omit<InferredChange<Target, Type>, "disconnect" | "set">
  : InferredNested<Target> | Omit<InferredChange<Target, Type>, "disconnect">;

/** @internal The changes of related rows that a body can contain, for one relation. */
export type InferredChange<Target extends ResourceTypes, Type> = [Target] extends [never] ? unknown
  : Type extends "hasMany" | "manyToMany" ? {
      readonly connect?: readonly InferredKey<Target["options"]["id"], Target["row"]>[];
      readonly disconnect?: readonly InferredKey<Target["options"]["id"], Target["row"]>[];
      readonly set?: readonly InferredKey<Target["options"]["id"], Target["row"]>[];
      readonly create?: readonly InferredNested<Target>[];
    }
  : {
    readonly connect?: InferredKey<Target["options"]["id"], Target["row"]>;
    readonly disconnect?: true;
    readonly create?: InferredNested<Target>;
  };

/** @internal A new row nested in another row's body. The other row determines the foreign key. */
export type InferredNested<Target extends ResourceTypes> =
  & Partial<Target["newRow"]>
  & (Target["options"]["nestedWrites"] extends true ? { readonly [relation: string]: unknown }
    : unknown);

/** @internal The related rows of a resource, by the names of its relations. */
export type InferredRelations<Types extends ResourceTypes, All extends ResourceTypes> =
  string extends keyof Types["targets"] ? Record<string, unknown>
    :
      & (HasOtherRelations<Types> extends true ? Record<string, unknown> : unknown)
      & {
        [Name in keyof Types["targets"]]: InferredRelated<
          ResourcesOf<All, Types["targets"][Name]>,
          Types["options"]["relationTypes"][Name & keyof Types["options"]["relationTypes"]]
        >;
      };

/** @internal True if the compiler cannot infer the names of all relations of a resource. */
export type HasOtherRelations<Types extends ResourceTypes> = string extends keyof Types["targets"]
  ? true
  : Types["options"]["autoRelations"] extends false ? false
  : Types["options"]["autoRelations"] extends undefined ? IsUnknownName<Types["table"]>
  : true;

/** @internal The resources that serve a table. Tables without a known name are left out. */
export type ResourcesOf<All extends ResourceTypes, Table> = All extends ResourceTypes
  ? IsUnknownName<All["table"]> extends true ? never
  : All["table"] extends Table ? All
  : never
  : never;

/** @internal The type of the member for a relation to one of these resources. */
export type InferredRelated<Target extends ResourceTypes, Type> = [Target] extends [never] ? unknown
  : Type extends "hasMany" | "manyToMany" ? InferredRow<Target>[]
  : InferredRow<Target> | null;

/** @internal The inputs and outputs of procedures. */
export type InferredProcedures<Procedures> = string extends keyof Procedures ? Record<never, never>
  : {
    [Name in keyof Procedures]: Procedures[Name] extends {
      readonly input: infer Input extends StandardSchema;
      readonly output: infer Output extends StandardSchema;
    } ? { input: SchemaInput<Input>; output: SchemaOutput<Output> }
      : never;
  };
