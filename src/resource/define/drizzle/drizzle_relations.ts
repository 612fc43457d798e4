import {
  entityKindOf,
  isDrizzleTable,
  nameKey,
} from "../../../schema/drizzle/drizzle_structure.ts";
import {
  columnInfoOf,
  type ColumnLike,
  tableInfoOf,
  type TableLike,
} from "../../../schema/table_like.ts";
import type { RelationOptions } from "../../model/resource_options.ts";
import type { DrizzleRelations, RelationNaming } from "./drizzle_relation_types.ts";

/**
 * Returns the relations of a table as Drizzle declares them, for the option `relations` of its
 * resource. `source` is the result of `defineRelations` (Drizzle 1.0), or a module or list with the
 * results of `relations()` (0.45). `names` contains other names for relations, or null to leave a
 * relation out. A relation that has the name of a column needs another name.
 *
 * @throws {Error} If a relation would have other rows in the service than in Drizzle.
 * @example
 * ```ts ignore
 * import { resource } from "@svc/resource-api";
 * import { drizzleRelations } from "@svc/resource-api/drizzle";
 * import * as schema from "./schema.ts";
 *
 * resource(schema.notes, {
 *   id: schema.notes.id,
 *   relations: drizzleRelations(schema.notes, schema, { ownerId: "owner", drafts: null }),
 * });
 * ```
 */
export function drizzleRelations<
  Name,
  Source extends object,
  const Names extends RelationNaming = Record<never, never>,
>(
  table: TableLike<unknown, unknown, Name>,
  source: Source,
  names: Names = {} as Names, // Without this argument, `Names` is the type of an empty object.
): DrizzleRelations<Name, Source, Names> {
  const entries = Object.values(source).filter(isRelated);
  const given: RelationNaming = names;
  const unused = new Set(Object.keys(given));
  const relations = declaredFor(table, entries).flatMap(([name, convert]) => {
    unused.delete(name);
    const to = Object.hasOwn(given, name) ? given[name] : name;
    const place = new Place(table, name);
    if (to === null || to === undefined) return [];
    if (tableInfoOf(table).byName.has(to)) {
      throw place.fault("a column has this name, and a row has one value for each name");
    }
    return [[to, convert(place)] as const];
  });
  for (const name of unused) {
    throw new Error(`Cannot relate "${tableInfoOf(table).name}": Drizzle has no relation ${name}`);
  }
  // The compiler does not know that `relations` has the names that Drizzle's types contain.
  return Object.fromEntries(relations) as DrizzleRelations<Name, Source, Names>;
}

function declaredFor(
  table: Target,
  all: readonly Related[],
): readonly (readonly [string, (place: Place) => RelationOptions])[] {
  const newer = all.flatMap((entry) =>
    entry.table === table && "relations" in entry ? Object.entries(entry.relations) : []
  );
  return [
    ...newer.map(([name, relation]) =>
      [name, (place: Place) => newerRelation(relation, place)] as const
    ),
    ...Object.entries(olderRelations(table, all)).map(([name, relation]) =>
      [name, (place: Place) => olderRelation(table, relation, { all, place })] as const
    ),
  ];
}

type Related = NewerRelations | OlderRelations;

interface NewerRelations {
  readonly table: TableLike<unknown, unknown>;
  readonly relations: Readonly<Record<string, NewerRelation>>;
}

interface NewerRelation {
  readonly relationType: "one" | "many";
  readonly sourceColumns: readonly NamedColumn[];
  readonly targetColumns: readonly NamedColumn[];
  readonly targetTable: TableLike<unknown, unknown>;
  readonly throughTable?: TableLike<unknown, unknown>;
  readonly through?: {
    readonly source: readonly NamedColumn[];
    readonly target: readonly NamedColumn[];
  };
  readonly where?: unknown;
}

interface NamedColumn {
  readonly _: { readonly column: ColumnLike<unknown> };
}

interface OlderRelations {
  readonly table: TableLike<unknown, unknown>;
  config(helpers: {
    one(target: TableLike<unknown, unknown>, config?: OlderConfig): OlderRelation;
    many(target: TableLike<unknown, unknown>, config?: OlderConfig): OlderRelation;
  }): Readonly<Record<string, OlderRelation>>;
}

interface OlderConfig {
  readonly fields?: readonly ColumnLike<unknown>[];
  readonly references?: readonly ColumnLike<unknown>[];
  readonly relationName?: string;
}

/** The result of `one()` or `many()`. Drizzle adds the name of the relation later. */
interface OlderRelation {
  readonly isMany: boolean;
  readonly target: TableLike<unknown, unknown>;
  readonly config: OlderConfig;
  withFieldName(): OlderRelation;
}

function isRelated(value: unknown): value is Related {
  if (typeof value !== "object" || value === null || !("table" in value)) return false;
  if (typeof value.table !== "object" || value.table === null) return false;
  return isDrizzleTable(value.table) &&
    (entityKindOf(value) === "Relations" || "relations" in value);
}

class Place {
  readonly #table: TableLike<unknown, unknown>;
  readonly #name: string;

  constructor(table: TableLike<unknown, unknown>, name: string) {
    this.#table = table;
    this.#name = name;
  }

  fault(reason: string): Error {
    const { name } = tableInfoOf(this.#table);
    return new Error(
      `Cannot relate "${name}" by ${this.#name} of Drizzle: ${reason}. The third argument of ` +
        `drizzleRelations names it, { ${this.#name}: "other" }, or leaves it out, ` +
        `{ ${this.#name}: null }`,
    );
  }
}

function newerRelation(relation: NewerRelation, place: Place): RelationOptions {
  const { targetTable: resource, through, throughTable, where } = relation;
  // Without a condition, `where` is a symbol of Drizzle.
  if (typeof where === "object" && where !== null) {
    throw place.fault("it has a condition, and relations of the service have all rows");
  }
  if (through !== undefined && throughTable !== undefined) {
    if (relation.relationType === "one") {
      throw place.fault("it leads to one row through a table, and the service would give a list");
    }
    return {
      ...{ type: "manyToMany", resource, through: throughTable },
      foreignKey: columnsOf(through.source),
      references: columnsOf(through.target),
    };
  }
  const ends = { own: columnsOf(relation.sourceColumns), other: columnsOf(relation.targetColumns) };
  if (relation.relationType === "many") return toMany(resource, ends);
  return isKey(resource, ends.other) ? toOne(resource, ends) : hasOne(resource, ends);
}

function columnsOf(columns: readonly NamedColumn[]): readonly ColumnLike<unknown>[] {
  return columns.map(({ _ }) => _.column);
}

/** As in Drizzle, the last declaration of a repeated name is used. */
function olderRelations(
  table: Target,
  all: readonly Related[],
): Readonly<Record<string, OlderRelation>> {
  return Object.fromEntries(
    all.flatMap((entry) =>
      entry.table === table && !("relations" in entry) ? Object.entries(evaluated(entry)) : []
    ),
  );
}

function olderRelation(
  table: Target,
  relation: OlderRelation,
  { all, place }: { readonly all: readonly Related[]; readonly place: Place },
): RelationOptions {
  const { target, isMany, config: { fields, references } } = relation;
  if (fields !== undefined && references !== undefined) {
    return toOne(target, { own: fields, other: references });
  }
  const ends = inverseEnds(table, relation, all);
  if (ends === null) {
    const other = Reflect.get(target, nameKey);
    throw place.fault(
      `"${other}" has no one() that leads back, or several: give both sides a relationName`,
    );
  }
  return isMany ? toMany(target, ends) : hasOne(target, ends);
}

/** Returns the columns of the opposite relation; null unless exactly one relation matches. */
function inverseEnds(
  table: Target,
  { target, config: { relationName } }: OlderRelation,
  all: readonly Related[],
): Ends | null {
  const found = Object.values(olderRelations(target, all)).flatMap((back): Ends[] => {
    const { fields, references } = back.config;
    const leadsBack = back.target === table &&
      (relationName === undefined || back.config.relationName === relationName);
    if (!leadsBack || fields === undefined || references === undefined) return [];
    return [{ own: references, other: fields }];
  });
  return found.length === 1 ? found[0] ?? null : null;
}

function evaluated(declared: OlderRelations): Readonly<Record<string, OlderRelation>> {
  const relation = (
    isMany: boolean,
    target: TableLike<unknown, unknown>,
    config: OlderConfig = {},
  ): OlderRelation => {
    const made = { isMany, target, config, withFieldName: () => made };
    return made;
  };
  return declared.config({
    one: (target, config) => relation(false, target, config),
    many: (target, config) => relation(true, target, config),
  });
}

interface Ends {
  readonly own: readonly ColumnLike<unknown>[];
  readonly other: readonly ColumnLike<unknown>[];
}

type Target = TableLike<unknown, unknown>;

function toOne(resource: Target, { own, other }: Ends): RelationOptions {
  return { type: "belongsTo", resource, foreignKey: own, references: other };
}

function hasOne(resource: Target, { own, other }: Ends): RelationOptions {
  return { type: "hasOne", resource, foreignKey: other, references: own };
}

function toMany(resource: Target, { own, other }: Ends): RelationOptions {
  return { type: "hasMany", resource, foreignKey: other, references: own };
}

function isKey(table: Target, columns: readonly ColumnLike<unknown>[]): boolean {
  const { primaryKey } = tableInfoOf(table);
  const infos = columns.map(columnInfoOf);
  return primaryKey.length === infos.length && primaryKey.every((key) => infos.includes(key));
}
