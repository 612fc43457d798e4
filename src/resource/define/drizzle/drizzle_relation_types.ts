import type { AnyTable, IsUnknownName } from "../../../schema/table_like.ts";
import type { RelationOptions } from "../../model/resource_options.ts";

/**
 * The relations of the table of this name, by the Drizzle types of `Source`. Any name is allowed if
 * the types do not contain the names.
 */
export type DrizzleRelations<Name, Source extends object> = true extends
  | IsUnknownName<Name>
  | IsUnknownName<keyof Source & string>
  | ([keyof Source] extends [never] ? true : false) ? Readonly<Record<string, RelationOptions>>
  : {
    readonly [Relation in RelationNames<DeclaredRelations<Name, EntriesOf<Source>>>]: TypedRelation<
      RelationNamed<DeclaredRelations<Name, EntriesOf<Source>>, Relation>,
      Source
    >;
  };

/** The items of a list, or the exports of a module. */
export type EntriesOf<Source> = Source extends readonly (infer Entry)[] ? Entry
  : Source[keyof Source];

/** The relations that `relations()` or `defineRelations` declares for the table of this name. */
export type DeclaredRelations<Name, Entry> = Entry extends
  { readonly table: { readonly _: { readonly name: Name } } }
  ? Entry extends { readonly config: (helpers: never) => infer Relations } ? Relations
  : Entry extends { readonly relations: infer Relations } ? Relations
  : never
  : never;

/** The names of the relations in a union of declarations. */
export type RelationNames<Declared> = Declared extends unknown ? keyof Declared & string : never;

/** The relation of this name in a union of declarations. */
export type RelationNamed<Declared, Name> = Declared extends unknown
  ? Name extends keyof Declared ? Declared[Name] : never
  : never;

/** A relation with the name of its other table, and with its type: to one row, or to many rows. */
export type TypedRelation<Relation, Source> =
  // In version 1.0, Drizzle names the other table by its key in `defineRelations`.
  Relation extends { readonly relationType: infer Count; readonly targetTableName: infer Key }
    ? RelationOptions<AnyTable, TableAt<Source, Key>, RelationType<Count>>
    // In version 0.45 of Drizzle, only a relation to one row may be empty.
    : Relation extends { readonly referencedTableName: infer Target } ? RelationOptions<
        AnyTable,
        Target,
        RelationType<Relation extends { readonly isNullable: unknown } ? "one" : "many">
      >
    : RelationOptions<AnyTable, never>;

/** The type of a table's name, for the table's key in the result of `defineRelations`. */
export type TableAt<Source, Key> = Key extends keyof Source
  ? Source[Key] extends { readonly table: { readonly _: { readonly name: infer Name } } } ? Name
  : never
  : never;

/** The types of a relation to one row, or to many. */
export type RelationType<Count> = Count extends "many" ? "hasMany" | "manyToMany"
  : "belongsTo" | "hasOne";
