import type { User } from "../../auth/user.ts";
import type { Relation, Relations } from "../../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";

/**
 * Returns the resource with the fields of the caller, and with safe numbers if `safeNumbers` is
 * true. The resources that its relations lead to are narrowed in the same way. Returns `resource`
 * itself if nothing differs. Throws if a function of the option `fields` throws.
 */
export function narrowForCaller(
  user: User | null,
  resource: Resource,
  safeNumbers = false,
): Resource {
  return resource.variesByCaller || safeNumbers
    ? new CallerView(user, safeNumbers).of(resource)
    : resource;
}

/**
 * Returns a string that is equal for all users with the same fields of a resource and of the
 * resources that its relations lead to. The string is empty if no fields depend on the user.
 */
export function fieldsKeyOf(user: User | null, resource: Resource): string {
  if (!resource.variesByCaller) return "";
  return [...reachedFrom(resource)].map(({ fieldsOf }) => fieldsOf?.(user).fieldsKey ?? "").join(
    " ",
  );
}

function reachedFrom(resource: Resource): ReadonlySet<Resource> {
  const reached = new Set([resource]);
  // The set grows during the iteration, until no relation leads to a new resource.
  for (const { relations, served } of reached) {
    for (const { steps } of relations.values()) {
      for (const { table } of steps) {
        const other = served.get(table);
        if (other !== undefined) reached.add(other);
      }
    }
  }
  return reached;
}

/** The narrowed resources of one request, each created once so that identity can be compared. */
class CallerView {
  readonly #user: User | null;
  readonly #safeNumbers: boolean;
  readonly #seen = new Map<Resource, Resource>();

  constructor(user: User | null, safeNumbers: boolean) {
    this.#user = user;
    this.#safeNumbers = safeNumbers;
  }

  of(resource: Resource): Resource {
    const known = this.#seen.get(resource);
    if (known !== undefined) return known;
    const own = resource.fieldsOf?.(this.#user) ?? noFields;
    let relations: Relations | null = null;
    // The properties that all requests share are in the prototype, because a copy takes long.
    const seen: Resource = Object.create(sharedView(resource, own, this.#safeNumbers), {
      // Computed lazily, because most requests use no relation.
      relations: { get: () => relations ??= relationsOf(resource, seen) },
      served: { value: { get: (table: TableInfo) => this.#resourceOf(table, resource) } },
      sameFieldsAs: { value: () => this.#sameFieldsAs() },
    });
    this.#seen.set(resource, seen);
    return seen;
  }

  /** Returns a function that references no resource, because every open stream keeps it. */
  #sameFieldsAs(): ((user: User | null) => boolean) | null {
    const held = [...this.#seen].flatMap(([{ fieldsOf }, { fieldsKey }]) =>
      fieldsOf === null ? [] : [{ fieldsOf, fieldsKey }]
    );
    return held.length === 0
      ? null
      : (user) => held.every(({ fieldsOf, fieldsKey }) => fieldsOf(user).fieldsKey === fieldsKey);
  }

  #resourceOf(table: TableInfo, { served }: Resource): Resource | undefined {
    const other = served.get(table);
    return other === undefined ? undefined : this.of(other);
  }
}

const none: ReadonlySet<never> = new Set();
const noFields = Object.freeze({});

/** Returns the properties of a narrowed resource that do not depend on the request. */
function sharedView(resource: Resource, own: Partial<Resource>, safeNumbers: boolean): Resource {
  let views = resource.views.get(resource);
  if (views === undefined) resource.views.set(resource, views = new WeakMap());
  let ofFields = views.get(own);
  if (ofFields === undefined) views.set(own, ofFields = []);
  const index = safeNumbers ? 1 : 0;
  return ofFields[index] ??= { ...resource, ...own, varyingFields: none, safeNumbers };
}

/** Omits relations that compare a withheld column, because related rows would reveal its value. */
function relationsOf({ relations }: Resource, seen: Resource): Relations {
  return new Map([...relations].filter(([, relation]) => isSeen(relation, seen)));
}

function isSeen({ steps: [first, second] }: Relation, { withheld, served }: Resource): boolean {
  const shows = (table: TableInfo, columns: readonly ColumnInfo[]) =>
    served.get(table)?.withheld.isDisjointFrom(new Set(columns)) ?? true;
  return withheld.isDisjointFrom(new Set(first.own)) &&
    shows(first.table, first.other) &&
    (second === undefined ||
      shows(first.table, second.own) && shows(second.table, second.other));
}
