import { createHash } from "node:crypto";
import type { User } from "../../auth/user.ts";
import { createAggregateColumns } from "../../plan/aggregate_columns.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { FieldPolicy } from "../model/field_policy.ts";
import type { CallerEtagRules, EtagPolicy } from "../http/etag.ts";
import type { CallerFields, FieldsOfCaller } from "../model/caller_fields.ts";

/** The fields of a resource before the limits of a caller apply, and the ETags of its rows. */
export interface WidestFields {
  readonly table: TableInfo;
  readonly widest: FieldPolicy;
  readonly etag: EtagPolicy | null;
  /** True if rows have computed fields, which are functions of all columns. */
  readonly hasComputed: boolean;
}

/**
 * Returns a function that creates the parts of a resource that depend on the fields of a caller.
 * The parts are created once for all callers with the same lists, because readers of rows cache
 * their results by the list of columns.
 */
export function createCallerFields(
  of: FieldsOfCaller,
  { table, widest, etag, hasComputed }: WidestFields,
): (user: User | null) => CallerFields {
  const known = new Map<string, CallerFields>();
  return (user) => {
    const { id, narrow } = of(user);
    const made = known.get(id);
    if (made !== undefined) return made;
    const fields = narrow();
    const withheld = new Set(widest.readable.filter((column) => !fields.readable.includes(column)));
    const caller = {
      fields,
      groups: createAggregateColumns(table, fields.readable),
      etag: etag === null ? null : {
        ...etag,
        readable: new Set(fields.readable),
        caller: callerTags(withheld, table, hasComputed),
      },
      withheld,
      fieldsKey: keyOf(fields, table),
    };
    // A field function may return new lists in each call, so the cache drops its oldest entry.
    const [eldest] = known.keys();
    if (known.size >= maxKnown && eldest !== undefined) known.delete(eldest);
    known.set(id, caller);
    return caller;
  };
}

/** The maximum number of cached field lists. Most services have a few roles. */
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
    hashed: hasComputed ? columns : columns.filter((column) => !withheld.has(column)),
    ending: `.${digest.slice(0, 6)}`,
  };
}

function keyOf(
  { readable, writable, immutable, filterable, sortable }: FieldPolicy,
  { columns }: TableInfo,
): string {
  const read = new Set(readable);
  return [read, writable, immutable, filterable, sortable].map((list) =>
    columns.map((column) => list.has(column) ? "1" : "0").join("")
  ).join();
}
