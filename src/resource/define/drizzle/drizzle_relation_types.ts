import type { AnyTable, IsUnknownName } from "../../../schema/table_like.ts";
import type { RelationOptions } from "../../model/resource_options.ts";

/**
 * The relations of the table of this name, by what the types of Drizzle say of `Source`; of any
 * names where they do not say them.
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

/** The values of a list or of a module. */
export type EntriesOf<Source> = Source extends readonly (infer Entry)[] ? Entry
  : Source[keyof Source];

/** What `relations()` or `defineRelations` declares for the table of this name. */
export type DeclaredRelations<Name, Entry> = Entry extends
  { readonly table: { readonly _: { readonly name: Name } } }
  ? Entry extends { readonly config: (helpers: never) => infer Relations } ? Relations
  : Entry extends { readonly relations: infer Relations } ? Relations
  : never
  : never;

/** The names in a union of declarations. */
export type RelationNames<Declared> = Declared extends unknown ? keyof Declared & string : never;

/** The relation of this name in a union of declarations. */
export type RelationNamed<Declared, Name> = Declared extends unknown
  ? Name extends keyof Declared ? Declared[Name] : never
  : never;

/** A relation with the name of its other table, and how many rows it has. */
export type TypedRelation<Relation, Source> =
  // The newer line, which names the other table as `defineRelations` does.
  Relation extends { readonly relationType: infer Count; readonly targetTableName: infer Key }
    ? RelationOptions<AnyTable, TableAt<Source, Key>, RelationType<Count>>
    // The older one, where only a relation to one row may say that there is none.
    : Relation extends { readonly referencedTableName: infer Target } ? RelationOptions<
        AnyTable,
        Target,
        RelationType<Relation extends { readonly isNullable: unknown } ? "one" : "many">
      >
    : RelationOptions<AnyTable, never>;

/** The name of the table that `defineRelations` has under this name. */
export type TableAt<Source, Key> = Key extends keyof Source
  ? Source[Key] extends { readonly table: { readonly _: { readonly name: infer Name } } } ? Name
  : never
  : never;

/** The types of a relation to one row, or to many. */
export type RelationType<Count> = Count extends "many" ? "hasMany" | "manyToMany"
  : "belongsTo" | "hasOne";
