import type { ResolvedChangesOptions } from "../../../db/changes/changes_options.ts";
import { databaseProblem } from "../../../db/database_error.ts";
import {
  type PastChange,
  readRowHistory,
  type RowHistory,
} from "../../../db/changes/logged_change.ts";
import { parseKey } from "../../../plan/key.ts";
import { Problem } from "../../../problem/problem.ts";
import type { Resource } from "../../../resource/model/resource.ts";
import { requireShownToRole } from "../../../resource/live/create_live_view.ts";
import { safeValue } from "../../../schema/safe_numbers.ts";
import type { ColumnInfo, Row, TableInfo } from "../../../schema/table_info.ts";
import { integerParameter, type Report, requireParameter, requireResource } from "../report.ts";

export interface RowHistoryReportDependencies {
  readonly resources: readonly Resource[];
  readonly basePath: string;
  /** Returns how the changes of a table are recorded, or null if they are not recorded. */
  recordingOf(table: TableInfo): ResolvedChangesOptions | null;
}

/** Creates the report of one row's changes. Parameters: `resource`, `id`, `limit`, `before`. */
export function createRowHistoryReport(
  { resources, basePath, recordingOf }: RowHistoryReportDependencies,
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
        throw new Problem("invalid-parameter", `Cannot read changes: no row has the id ${id}`);
      }
      // Changes of all rows are recorded, also of rows that row-level security hides from the role.
      await requireShownToRole(resource, "record of changes");
      const { table } = resource;
      const recording = recordingOf(table);
      if (recording === null) return notRecorded;
      const { mode, retentionMs, exclude } = recording;
      const { changes, next } = await read(resource, { table, key, exclude, before, limit });
      return {
        changes: changes.map((one) => shown(one, resource)),
        // Changes are kept at least this long. `next` is `before` for a request of older changes.
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

/** Returns the readable columns with truncated strings. A GET of the row returns all. */
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
