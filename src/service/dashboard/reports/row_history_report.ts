import type { ResolvedChangesOptions } from "../../../db/changes/changes_options.ts";
import { DatabaseError, databaseProblem } from "../../../db/database_error.ts";
import {
  type PastChange,
  readRowHistory,
  type RowHistory,
} from "../../../db/changes/logged_change.ts";
import { keyFilter, parseKey } from "../../../plan/key.ts";
import { invalidParameter } from "../../../problem/problem.ts";
import type { Resource } from "../../../resource/model/resource.ts";
import { requireShownToRole } from "../../../resource/live/create_live_view.ts";
import { safeValue } from "../../../schema/safe_numbers.ts";
import type { ColumnInfo, Row, TableInfo } from "../../../schema/table_info.ts";
import {
  integerParameter,
  optionalStringMember,
  type Report,
  requireParameter,
  requireResource,
  requireStringMember,
} from "../report.ts";
import type { Access, User } from "../../../auth/authorize.ts";
import { grantIfAllowed } from "../../../resource/authorize_related.ts";
import { isPolicy } from "../../../auth/policy.ts";
import { fetchCount } from "../../../db/rows.ts";
import { and, type Filter, termsOnSameRow } from "../../../filter/filter.ts";
import { printMaskedFilter } from "../print_masked_filter.ts";
import { readViewedUser } from "../view_token.ts";

/** Creates the report of one row's changes. Parameters: `resource`, `id`, `limit`, `before`. */
export function createRowHistoryReport(
  { resources, basePath, recordingOf }: {
    readonly resources: readonly Resource[];
    readonly basePath: string;
    recordingOf(table: TableInfo): ResolvedChangesOptions | null;
  },
): Report {
  return {
    name: "changes",
    method: "GET",
    async answer({ query }) {
      const resource = requireResource(requireParameter(query, "resource"), resources, basePath);
      const id = requireParameter(query, "id");
      const limit = integerParameter(query, "limit", { from: 1, to: maxLimit }) ?? 50;
      const before = integerParameter(query, "before", { from: 1, to: Number.MAX_SAFE_INTEGER });
      const key = parseKey(id, resource.table);
      if (key === null) {
        throw invalidParameter(`Cannot read changes: no row has the id ${id}`);
      }
      // The change log contains even rows that row-level security hides from the database role.
      await requireShownToRole(resource, "record of changes");
      const { table } = resource;
      const recording = recordingOf(table);
      if (recording === null) return notRecorded;
      const { mode, retentionMs, exclude } = recording;
      const { changes, next } = await read(resource, { table, key, exclude, before, limit });
      return {
        changes: changes.map((one) => shown(one, resource)),
        // Changes are kept for at least `keptMs`. Pass `next` as `before` to request older changes.
        ...{ recorded: mode, keptMs: retentionMs, next },
      };
    },
  };
}

const maxLimit = 200;

const notRecorded = { changes: [], recorded: "no", keptMs: null, next: null };

async function read(
  resource: Resource,
  request: Parameters<typeof readRowHistory>[0],
): Promise<RowHistory> {
  const { maxAnswerBytes: maxBytes, queryTimeoutMs: timeoutMs } = resource.readCosts;
  const { signal } = new AbortController();
  try {
    return await readRowHistory(
      request,
      resource,
      { identity: "dashboard", signal, maxBytes, timeoutMs },
    );
  } catch (error) {
    throw databaseProblem(error, "read");
  }
}

function shown({ seq, at, kind, before, after }: PastChange, resource: Resource) {
  const { readable } = resource.fields;
  return {
    sequence: seq,
    at,
    // `truncate` removed all rows of the table. `touch` changed unknown rows of the table.
    operation: kind,
    before: masked(before, readable),
    after: masked(after, readable),
  };
}

/** Returns the readable columns with truncated strings. A GET of the row returns whole strings. */
function masked(row: Row | null, readable: readonly ColumnInfo[]): Row | null {
  if (row === null) return null;
  return Object.fromEntries(
    readable.filter(({ name }) => Object.hasOwn(row, name)).map((column) => {
      const { name } = column;
      const value = safeValue(row[name], column);
      const isLong = typeof value === "string" && value.length > maxText;
      return [name, isLong ? `${value.slice(0, maxText)}…` : value];
    }),
  );
}

const maxText = 2_000;

export interface AccessRight {
  readonly access: Access;
  /** The name of the scope if it is a named policy, else null. */
  readonly policy: string | null;
  readonly rows: "all" | "some" | "none";
  /** The rows' condition in the filter language. Values of hidden columns are masked. */
  readonly condition: string;
  /** The number of rows. Null for `create`, for a single row, or if counting took too long. */
  readonly count: number | null;
  readonly passes?: boolean;
  /** The parts of the condition. `passes` is true if the requested row meets the part. */
  readonly terms?: readonly { readonly condition: string; readonly passes: boolean }[];
}

/** The body is `{ user, resource, id }`, with `id` for one row. `"user": null` means anonymous. */
export function createRightsAction(
  { resources, basePath, parseUser }: {
    readonly resources: readonly Resource[];
    readonly basePath: string;
    readonly parseUser: (value: unknown) => User | null;
  },
): Report {
  return {
    name: "rights",
    method: "POST",
    async answer({ body }): Promise<{ readonly rights: readonly AccessRight[] }> {
      const user = readViewedUser(body, parseUser);
      const resource = requireResource(requireStringMember(body, "resource"), resources, basePath);
      const id = optionalStringMember(body, "id");
      const key = id === null ? null : parseKey(id, resource.table);
      if (id !== null && key === null) {
        throw invalidParameter(`Cannot explain rights: no row has the id ${id}`);
      }
      const row = key === null ? null : keyFilter(key, resource.table);
      const rights = accesses.map((access) => rightTo(access, { user, resource, row }));
      return { rights: await Promise.all(rights) };
    },
  };
}

const accesses: readonly Access[] = ["read", "create", "update", "delete", "subscribe"];

interface Question {
  readonly user: User | null;
  readonly resource: Resource;
  readonly row: Filter | null;
}

async function rightTo(access: Access, question: Question): Promise<AccessRight> {
  const { user, resource, row } = question;
  const { policy, table, undeleted, served } = resource;
  const scope = policy.scopes.get(access);
  const name = user !== null && isPolicy(scope) ? scope.policyName : null;
  const grant = await grantIfAllowed(access, user, resource);
  if (grant === null) return { access, policy: name, rows: "none", condition: "", count: 0 };
  const isShown = (column: ColumnInfo, of: TableInfo) =>
    (of === table ? resource : served.get(of))?.fields.readable.includes(column) ?? false;
  const shown = (filter: Filter) => printMaskedFilter(filter, table, isShown);
  const right = {
    access,
    policy: name,
    rows: grant.rows.kind === "all" ? "all" as const : "some" as const,
    condition: shown(grant.rows),
  };
  const matches = async (filter: Filter) => await count(filter, resource) === 1;
  if (row === null || access === "create") {
    const rows = and(grant.rows, undeleted);
    return { ...right, count: access === "create" ? null : await count(rows, resource) };
  }
  const terms = grant.rows.kind === "and" || grant.rows.kind === "or"
    ? termsOnSameRow(grant.rows)
    : [];
  return {
    ...right,
    count: null,
    passes: await matches(and(row, grant.rows, undeleted)),
    terms: await Promise.all(terms.map(async (term) => ({
      condition: shown(term),
      passes: await matches(and(row, term)),
    }))),
  };
}

async function count(where: Filter, { table, driver, reader }: Resource): Promise<number | null> {
  const { signal } = new AbortController();
  const limits = { identity: "dashboard", signal, maxBytes: 1024, timeoutMs: maxCountMs };
  try {
    return await fetchCount(driver.reads(limits), { kind: "count", table, where }, reader);
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === "too-slow") return null;
    throw error;
  }
}

const maxCountMs = 1_000;
