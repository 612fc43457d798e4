import { and, type Filter, termsOnSameRow } from "../../filter/filter.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { LiveAggregateQuery } from "../aggregate/incremental_aggregate.ts";
import type { User } from "../../auth/authorize.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { ScopedRequest } from "./scope_recheck.ts";
import type { LiveQuery, ShownRelation, WindowQuery } from "../live_view.ts";
import type { StreamPart } from "./live_stream.ts";
import { invalidParameter, Problem } from "../../problem/problem.ts";
import type { Relation } from "../../schema/relation.ts";

export interface StreamRequest extends ScopedRequest, Pick<LiveQuery, "table" | "reader" | "view"> {
  readonly address: string | null;
  readonly scope: Filter;
  readonly filter: Filter;
  /** The filter of the request, without the filter of the scope. Absent for aggregates. */
  readonly requested?: Filter;
  /** Completes, with or without an error, when the caller has disconnected. */
  readonly disconnected: Promise<unknown>;
  readonly part: StreamPart | null;
}

/** Returns the user or IP address whose limits the stream's reads and memory count against. */
export function identityOf({ user, address }: Pick<StreamRequest, "user" | "address">): string {
  return user === null ? `a${address ?? ""}` : `u${user.id}`;
}

/** Throws a 401 if the claim `exp` has passed. Returns the milliseconds left, or `Infinity`. */
export function requireUnexpired(user: User | null, clock: Clock): number {
  const seconds = user?.claims?.["exp"];
  const leftMs = typeof seconds === "number" ? seconds * 1000 - clock.now() : Infinity;
  if (leftMs > 0) return leftMs;
  throw new Problem("unauthorized", "Cannot subscribe: the credentials have expired", {
    headers: { "www-authenticate": "Bearer" },
  });
}

export interface SubscribeRequest extends StreamRequest {
  readonly resumeFrom: string | null;
  readonly skipExisting: boolean;
  /** The order and limit of the rows that the stream keeps; null if the stream keeps all rows. */
  readonly window: WindowQuery | null;
}

export interface AggregateRequest extends StreamRequest {
  readonly aggregateQuery: LiveAggregateQuery;
}

export function liveQueryOf(
  { resource, table, reader, view, scope, filter }:
    & Pick<StreamRequest, "table" | "reader" | "view" | "scope" | "filter">
    & Pick<ScopedRequest, "resource">,
): LiveQuery {
  return { resource, table, reader, view, filter: and(scope, filter) };
}

/** Throws if a stream needs an unrecorded column: an Error for a scope's column, else a 400. */
export function requireRecorded(
  { resource, scope, filter, view, window }:
    & Pick<StreamRequest, "resource" | "scope" | "filter" | "view">
    & Partial<Pick<SubscribeRequest, "window">>,
  excluded: ReadonlySet<ColumnInfo>,
): void {
  if (excluded.size === 0) return;
  const requested = unrecorded(columnsReadIn(filter), excluded);
  if (requested !== null) throw cannotFollow("filter", `it asks about "${requested.name}"`);
  const ordering = unrecorded(window?.order.map(({ column }) => column) ?? [], excluded);
  if (ordering !== null) throw cannotFollow("orderBy", `it asks about "${ordering.name}"`);
  const linking = unrecorded(view.shown.flatMap(linkColumnsOf), excluded);
  if (linking !== null) throw cannotFollow("include", `a relation stands on "${linking.name}"`);
  const deciding = unrecorded(
    [...columnsReadIn(scope), ...view.shown.flatMap(columnsOfRights)],
    excluded,
  );
  if (deciding === null) return;
  throw new Error(
    `Cannot follow ${resource}: a scope asks about "${deciding.name}", which "changes.exclude" names`,
  );
}

export function unrecordedColumnIn(
  filter: Filter,
  excluded: ReadonlySet<ColumnInfo>,
): ColumnInfo | null {
  return unrecorded(columnsReadIn(filter), excluded);
}

function unrecorded(
  columns: readonly ColumnInfo[],
  excluded: ReadonlySet<ColumnInfo>,
): ColumnInfo | null {
  return columns.find((column) => excluded.has(column)) ?? null;
}

export function columnsReadIn(filter: Filter): readonly ColumnInfo[] {
  switch (filter.kind) {
    case "compare":
      return [filter.column];
    case "related":
      return [
        ...columnsAlong(filter.relation),
        ...columnsReadIn(filter.filter),
        ...columnsReadIn(filter.links),
      ];
    default:
      return termsOnSameRow(filter).flatMap(columnsReadIn);
  }
}

function columnsAlong({ steps }: Relation): readonly ColumnInfo[] {
  return steps.flatMap((step) => [...step.own, ...step.other]);
}

function linkColumnsOf({ relation, shown }: ShownRelation): readonly ColumnInfo[] {
  return [...columnsAlong(relation), ...shown.flatMap(linkColumnsOf)];
}

function columnsOfRights({ filter, links, shown }: ShownRelation): readonly ColumnInfo[] {
  return [...columnsReadIn(filter), ...columnsReadIn(links), ...shown.flatMap(columnsOfRights)];
}

function cannotFollow(parameter: string, why: string): Problem {
  return invalidParameter(
    `Cannot follow by this ${parameter}: ${why}, whose changes are not recorded`,
    { details: { parameter } },
  );
}
