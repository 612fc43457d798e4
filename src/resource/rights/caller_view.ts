import type { User } from "../../auth/authorize.ts";
import { databaseHandle } from "../../db/database_handle.ts";
import type { Driver } from "../../db/driver.ts";
import { driverActingAs } from "../../db/transact.ts";
import type { Relation } from "../../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";

/** Limits a resource to the caller's fields. Returns `resource` itself if it needs no limits. */
export function narrowForCaller(
  user: User | null,
  resource: Resource,
  safeNumbers = false,
): Resource {
  return resource.variesByCaller || safeNumbers
    ? new CallerView(user, safeNumbers).of(resource)
    : resource;
}

/** Returns an equal string for users with the same database role and rights to the same fields. */
export function fieldsKeyOf(user: User | null, resource: Resource): string {
  if (!resource.variesByCaller) return "";
  const role = resource.identityOf === null ? "" : `${resource.identityOf(user).role} `;
  return role +
    [...reachedFrom(resource)].map(({ fieldsOf }) => fieldsOf?.(user).fieldsKey ?? "").join(" ");
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

/** Limits each resource of a request to the caller's fields. Creates one copy for each resource. */
class CallerView {
  readonly #user: User | null;
  readonly #safeNumbers: boolean;
  readonly #seen = new Map<Resource, Resource>();
  #acting: Driver | null = null;

  constructor(user: User | null, safeNumbers: boolean) {
    this.#user = user;
    this.#safeNumbers = safeNumbers;
  }

  of(resource: Resource): Resource {
    const known = this.#seen.get(resource);
    if (known !== undefined) return known;
    const own = resource.fieldsOf?.(this.#user) ?? noFields;
    // Properties that do not depend on the request are in the prototype, because copies are slow.
    const seen: SeenResource = Object.create(sharedView(resource, own, this.#safeNumbers));
    seen.view = this;
    if (resource.identityOf !== null) this.#actAs(seen, resource, resource.identityOf);
    this.#seen.set(resource, seen);
    return seen;
  }

  #actAs(seen: Resource, { driver, db, sqlPlans }: Resource, identityOf: IdentityOf): void {
    const acting = () => this.#acting ??= driverActingAs(driver, identityOf(this.#user));
    Object.defineProperties(seen, {
      driver: { get: acting },
      // In a transaction, `driver` already has the caller's role, so `db` needs no new handle.
      db: { get: () => acting() === driver ? db : databaseHandle(acting(), sqlPlans) },
    });
  }

  /** See {@link Resource.sameFieldsAs}. Streams keep the test, so it must not hold a resource. */
  sameFieldsAs(): ((user: User | null) => boolean) | null {
    const held = [...this.#seen].flatMap(([{ fieldsOf }, { fieldsKey }]) =>
      fieldsOf === null ? [] : [{ fieldsOf, fieldsKey }]
    );
    return held.length === 0
      ? null
      : (user) => held.every(({ fieldsOf, fieldsKey }) => fieldsOf(user).fieldsKey === fieldsKey);
  }

  resourceOf(table: TableInfo, { served }: Resource): Resource | undefined {
    const other = served.get(table);
    return other === undefined ? undefined : this.of(other);
  }
}

interface SeenResource extends Resource {
  view: CallerView;
}

type IdentityOf = NonNullable<Resource["identityOf"]>;

const none: ReadonlySet<never> = new Set();
const noFields = Object.freeze({});

function sharedView(resource: Resource, own: Partial<Resource>, safeNumbers: boolean): Resource {
  let views = resource.views.get(resource);
  if (views === undefined) resource.views.set(resource, views = new WeakMap());
  let ofFields = views.get(own);
  if (ofFields === undefined) views.set(own, ofFields = []);
  const index = safeNumbers ? 1 : 0;
  return ofFields[index] ??= Object.defineProperties(
    { ...resource, ...own, varyingFields: none, safeNumbers },
    {
      // Computed when needed, because most requests use no relation.
      relations: {
        get(this: SeenResource) {
          // Omits relations whose related rows would reveal columns that the caller cannot read.
          const value = new Map(
            [...resource.relations].filter(([, relation]) => isSeen(relation, this)),
          );
          Object.defineProperty(this, "relations", { value });
          return value;
        },
      },
      served: {
        get(this: SeenResource) {
          return { get: (table: TableInfo) => this.view.resourceOf(table, resource) };
        },
      },
      sameFieldsAs: {
        get(this: SeenResource) {
          return () => this.view.sameFieldsAs();
        },
      },
    },
  );
}

function isSeen({ steps: [first, second] }: Relation, { withheld, served }: Resource): boolean {
  const shows = (table: TableInfo, columns: readonly ColumnInfo[]) =>
    served.get(table)?.withheld.isDisjointFrom(new Set(columns)) ?? true;
  return withheld.isDisjointFrom(new Set(first.own)) && shows(first.table, first.other) &&
    (second === undefined || shows(first.table, second.own) && shows(second.table, second.other));
}
