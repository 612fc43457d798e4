import { createHash } from "node:crypto";
import type { User } from "../../auth/authorize.ts";
import { createAggregateColumns } from "../../plan/aggregate_columns.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { CallerEtagRules } from "../http/etag.ts";
import type { RoleOnTable } from "../../db/engine/acting_roles.ts";
import type { CallerFields, FieldListsOfUser, FieldPolicy, Resource } from "../model/resource.ts";
import type { ResolvedFields } from "./resolve_field_lists.ts";

export type ColumnRightsOf = (user: User | null) => RoleOnTable | null;

type CallerFieldsContext = Pick<Resource, "table" | "etag" | "computed">;

export function widestFields(
  lists: ResolvedFields,
  rightsOf: ColumnRightsOf | null,
  { table, etag, computed }: CallerFieldsContext,
): Pick<
  Resource,
  keyof CallerFields | "fieldsOf" | "varyingFields" | "sameFieldsAs" | "safeNumbers"
> {
  const { widest, varying } = lists;
  const of = rightsOf === null ? lists.of : withinRights(lists, rightsOf);
  return {
    fields: widest,
    fieldsOf: of === null ? null : createCallerFields(of, widest, { table, etag, computed }),
    varyingFields: varying,
    sameFieldsAs: () => null,
    withheld: noColumns,
    stored: table.columns,
    fieldsKey: "",
    groups: createAggregateColumns(table, widest.selectable),
    etag,
    safeNumbers: false,
  };
}

/**
 * Limits callers' fields to columns on which their database role has rights. If the role has a
 * right on no column, that right limits no fields: the database rejects such statements anyway.
 */
function withinRights({ widest, of }: ResolvedFields, rightsOf: ColumnRightsOf): FieldListsOfUser {
  return (user) => {
    const own = of?.(user) ?? { id: "", narrow: () => widest };
    const ofRole = rightsOf(user);
    if (ofRole === null) return own;
    const rights = partialRights(ofRole);
    return {
      id: `${ofRole.role} ${own.id}`,
      rights,
      narrow: () => fieldsWithinRights(own.narrow(), rights),
    };
  };
}

function partialRights(
  { table: { columns }, unreadable, notInsertable, notUpdatable }: RoleOnTable,
) {
  const some = (lacking: ReadonlySet<ColumnInfo>) =>
    lacking.size < columns.length ? lacking : noColumns;
  return {
    unreadable: some(unreadable),
    notInsertable: some(notInsertable),
    notUpdatable: some(notUpdatable),
  };
}

function fieldsWithinRights(
  fields: FieldPolicy,
  { unreadable, notInsertable, notUpdatable }: ReturnType<typeof partialRights>,
): FieldPolicy {
  const within = (columns: readonly ColumnInfo[]) =>
    columns.filter((column) => !unreadable.has(column));
  return {
    readable: within(fields.readable),
    selectable: within(fields.selectable),
    writable: fields.writable.difference(notUpdatable.intersection(notInsertable)),
    immutable: fields.immutable.union(
      new Set([...notUpdatable.difference(notInsertable)].filter((one) => !one.primaryKey)),
    ),
    filterable: fields.filterable.difference(unreadable),
    sortable: fields.sortable.difference(unreadable),
  };
}

const noColumns: ReadonlySet<ColumnInfo> = new Set();

/** Callers with equal field lists share one object, and the statements cached for the object. */
function createCallerFields(
  of: FieldListsOfUser,
  widest: FieldPolicy,
  { table, etag, computed }: CallerFieldsContext,
): (user: User | null) => CallerFields {
  const known = new Map<string, CallerFields>();
  return (user) => {
    const { id, narrow, rights } = of(user);
    const made = known.get(id);
    if (made !== undefined) return made;
    const fields = narrow();
    const withheld = new Set(widest.selectable).difference(new Set(fields.selectable));
    const caller = {
      fields,
      groups: createAggregateColumns(table, fields.selectable),
      etag: etag === null ? null : {
        ...etag,
        readable: new Set(fields.readable),
        caller: callerTags(withheld, table, computed.fields.length > 0),
      },
      withheld,
      fieldsKey: keyOf(fields, table),
      ...(rights === undefined ? {} : {
        stored: table.columns.filter((column) => !rights.unreadable.has(column)),
        notInsertable: rights.notInsertable,
      }),
    };
    // Each call of the option `fields` can return a different list, so the cache has a limit.
    const [eldest] = known.keys();
    if (known.size >= maxKnown && eldest !== undefined) known.delete(eldest);
    known.set(id, caller);
    return caller;
  };
}

const maxKnown = 256;

function callerTags(
  withheld: ReadonlySet<ColumnInfo>,
  { columns }: TableInfo,
  hasComputed: boolean,
): CallerEtagRules | null {
  if (withheld.size === 0) return null;
  const names = [...withheld].map(({ name }) => name);
  const digest = createHash("sha256").update(JSON.stringify(names)).digest("hex");
  return {
    withheld,
    // With computed fields, which can depend on any column, the ETag's hash covers all columns.
    hashed: hasComputed ? columns : columns.filter((column) => !withheld.has(column)),
    ending: `.${digest.slice(0, 6)}`,
  };
}

function keyOf(
  { selectable, writable, immutable, filterable, sortable }: FieldPolicy,
  table: TableInfo,
): string {
  const columns = [...table.byName.values()];
  const read = new Set(selectable);
  return [read, writable, immutable, filterable, sortable].map((list) =>
    columns.map((column) => list.has(column) ? "1" : "0").join("")
  ).join();
}
