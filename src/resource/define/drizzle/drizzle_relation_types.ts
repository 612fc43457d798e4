import type { AnyTable, IsUnknownName } from "../../../schema/table_like.ts";
import type { RelationOptions } from "../../model/resource_options.ts";

/** The names of relations in the service, by their names in Drizzle. Null leaves a relation out. */
export type RelationNaming = Readonly<Record<string, string | null>>;

/**
 * The relations of the table `Name`, inferred from the Drizzle types in `Source`. If these types do
 * not contain the names of relations, any name is allowed.
 */
export type DrizzleRelations<
  Name,
  Source extends object,
  Names extends RelationNaming = Record<never, never>,
> = true extends
  | IsUnknownName<Name>
  | IsUnknownName<keyof Source & string>
  | ([keyof Source] extends [never] ? true : false) ? Readonly<Record<string, RelationOptions>>
  : {
    readonly [
      Relation in RelationNames<DeclaredRelations<Name, EntriesOf<Source>>> as NameIn<
        Names,
        Relation
      >
    ]: TypedRelation<
      RelationNamed<DeclaredRelations<Name, EntriesOf<Source>>, Relation>,
      Source
    >;
  };

/** @internal The name of a relation in the service, or `never` if the relation is left out. */
export type NameIn<Names, Relation extends string> = Relation extends keyof Names
  ? Names[Relation] extends string ? Names[Relation] : never
  : Relation;

/** @internal The items of a list, or the exports of a module. */
export type EntriesOf<Source> = Source extends readonly (infer Entry)[] ? Entry
  : Source[keyof Source];

/** @internal The relations that `relations()` or `defineRelations` declares for a table. */
export type DeclaredRelations<Name, Entry> = Entry extends
  { readonly table: { readonly _: { readonly name: Name } } }
  ? Entry extends { readonly config: (helpers: never) => infer Relations } ? Relations
  : Entry extends { readonly relations: infer Relations } ? Relations
  : never
  : never;

/** @internal The names of the relations in a union of declarations. */
export type RelationNames<Declared> = Declared extends unknown ? keyof Declared & string : never;

/** @internal The relation of this name in a union of declarations. */
export type RelationNamed<Declared, Name> = Declared extends unknown
  ? Name extends keyof Declared ? Declared[Name] : never
  : never;

/** @internal A relation to one row or many rows, with the name of the related table. */
export type TypedRelation<Relation, Source> =
  // In version 1.0, Drizzle identifies the related table by its key in `defineRelations`.
  Relation extends { readonly relationType: infer Count; readonly targetTableName: infer Key }
    ? RelationOptions<AnyTable, TableAt<Source, Key>, RelationType<Count>>
    // In Drizzle 0.45, only a relation to one row has the member `isNullable`.
    : Relation extends { readonly referencedTableName: infer Target } ? RelationOptions<
        AnyTable,
        Target,
        RelationType<Relation extends { readonly isNullable: unknown } ? "one" : "many">
      >
    : RelationOptions<AnyTable, never>;

/** @internal The name of the table with the key `Key` in the result of `defineRelations`. */
export type TableAt<Source, Key> = Key extends keyof Source
  ? Source[Key] extends { readonly table: { readonly _: { readonly name: infer Name } } } ? Name
  : never
  : never;

/** @internal The relation types for a relation of Drizzle to one row, or to many rows. */
export type RelationType<Count> = Count extends "many" ? "hasMany" | "manyToMany"
  : "belongsTo" | "hasOne";
