import { columnsOfFilters, evaluateFilters } from "../../db/changes/evaluate_filters.ts";
import { readVersions, type RecordedVersion } from "../../db/changes/row_versions.ts";
import type { Grant } from "../../auth/authorize.ts";
import { and, type Filter } from "../../filter/filter.ts";
import { type Key, keyFilter, keyId } from "../../plan/key.ts";
import type { Row } from "../../schema/table_info.ts";
import type { ResourceCall } from "../model/operation.ts";
import type { Resource } from "../model/resource.ts";
import { requireShownToRole } from "../live/create_live_view.ts";
import { maskRows, viewOf } from "../shape/output.ts";
import { notFound } from "../rights/not_found_or_forbidden.ts";
import { fetchRow } from "../write/row_target.ts";
import { limitedReadConnection } from "../read/limited_reads.ts";

/** A version that the caller can read. `shown` contains the fields that the caller can read. */
export interface VisibleVersion extends Omit<RecordedVersion, "row" | "missing"> {
  readonly shown: Row;
}

/** The `seq` of the current row, which follows every version. */
export const currentSeq = Number.MAX_SAFE_INTEGER;

/** A position in a history, from which a request continues with versions older than `before`. */
export interface HistoryPosition {
  /** The version with which the next ones are compared. Null if no visible version was found. */
  readonly compared: number | null;
  readonly before: number;
}

interface VersionsPart {
  readonly versions: readonly VisibleVersion[];
  readonly current: VisibleVersion;
  /** The `seq` of the oldest version that was read, even if the version is not visible. */
  readonly oldest: number | null;
  /** The size of the images that were read, in bytes. */
  readonly bytes: number;
  /** The position of the next part, or null after the last part. */
  readonly next: number | null;
}

/**
 * Reads the versions of a row that is within the scope now, the newest first: version `compared`,
 * then those older than `before`. Omits versions whose own values are outside of the scope.
 */
export async function* visibleVersions(
  { segment, key, grant, from: { compared, before } }: {
    readonly segment: string;
    readonly key: Key;
    /** The right to read the resource. */
    readonly grant: Grant;
    readonly from: HistoryPosition;
  },
  call: ResourceCall,
): AsyncGenerator<VersionsPart, void> {
  const { resource } = call;
  const { table, driver, reader, undeleted, recording } = resource;
  // Policies of the database can begin to hide rows while the service runs.
  await requireShownToRole(resource, "history");
  const where = and(grant.rows, undeleted);
  const connection = limitedReadConnection(call);
  const read = (end: number, limit = maxPerRead) =>
    readVersions(connection, { table, key, end, limit, maxBytes }, reader);
  const view = viewOf(resource);
  const unrecorded = new Set(table.columns.filter((column) => recording?.exclude.has(column)));
  const show = (row: Row, missing: RecordedVersion["missing"] = new Set()): Row => {
    const lacking = missing.union(unrecorded);
    const visible = view.visible.filter((column) => !lacking.has(column));
    // The function of a computed field expects a complete row.
    const fields = lacking.size === 0 ? view.computed.fields : [];
    const computed = { ...view.computed, fields };
    return maskRows([row], table.columns, { ...view, visible, computed })[0] ?? {};
  };
  const visible = async (versions: readonly RecordedVersion[]) => {
    const within = await withinScope(versions, where, resource);
    return versions.filter((_version, index) => within[index]).map(
      ({ row, missing, ...version }): VisibleVersion => ({ ...version, shown: show(row, missing) }),
    );
  };
  // Reads the versions before the row, so that a write in between is shown with an unknown time.
  let part = await read(before);
  const row = await fetchRow(and(keyFilter(key, table), where), resource, driver);
  if (row === null) throw notFound(resource, segment);
  const unknown = { op: "known", at: null, user: null, operation: null } as const;
  const current = { ...unknown, seq: currentSeq, shown: show(row) };
  const one = compared === null || compared === currentSeq ? null : await read(compared + 1, 1);
  const versions = compared === currentSeq
    ? [current]
    : await visible(one?.versions.filter(({ seq }) => seq === compared) ?? []);
  yield { versions, current, oldest: null, bytes: 0, next: before };
  for (;;) {
    const { next, bytes } = part;
    const oldest = part.versions.at(-1)?.seq ?? null;
    yield { versions: await visible(part.versions), current, oldest, bytes, next };
    if (next === null) return;
    part = await read(next);
  }
}

/** The number of versions that one statement reads. */
const maxPerRead = 100;
/** The size of row images, in bytes, after which a statement reads no further version. */
const maxBytes = 1024 * 1024;

/** A version that lacks a column of the scope is outside of the scope. */
async function withinScope(
  images: readonly RecordedVersion[],
  where: Filter,
  { table, driver }: Resource,
): Promise<readonly boolean[]> {
  if (where.kind === "all" || images.length === 0) return images.map(() => true);
  const evaluation = { table, images, filters: [where] };
  const used = columnsOfFilters(evaluation);
  const truths = await evaluateFilters(driver, driver.dialect, evaluation);
  return images.map(({ missing }, index) =>
    truths[index]?.[0] === true && used.every((column) => !missing.has(column))
  );
}

/** The context of the sealed strings of a row's history, so that no other row accepts them. */
export function historyContext(kind: string, key: Key, { url, table }: Resource): string {
  return `${kind} ${url} ${keyId(key, table)}`;
}
