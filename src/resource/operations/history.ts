import type { Grant } from "../../auth/authorize.ts";
import { type Key, parseKey } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import { writeJson } from "../../schema/exact_json.ts";
import { parseLimit } from "../http/query_parameters.ts";
import { limitedReply } from "../http/json_reply.ts";
import { pageRowsPart } from "../http/response_byte_budget.ts";
import type { Operation, ResourceRequest } from "../model/operation.ts";
import type { Resource } from "../model/resource.ts";
import { notFound } from "../rights/not_found_or_forbidden.ts";
import {
  currentSeq,
  historyContext,
  type HistoryPosition,
  type VisibleVersion,
  visibleVersions,
} from "./visible_versions.ts";

interface HistoryPlan {
  readonly segment: string;
  readonly key: Key;
  readonly grant: Grant;
  readonly limit: number;
  readonly from: HistoryPosition;
}

interface HistoryOutcome extends Pick<HistoryPlan, "key" | "grant"> {
  readonly versions: readonly VisibleVersion[];
  readonly next: HistoryPosition | null;
}

export const history: Operation<ReturnType<typeof parseHistory>, HistoryPlan, HistoryOutcome> = {
  name: "history",
  access: "read",
  takesBody: false,
  parse: parseHistory,

  plan({ segment, limit, cursor }, grant, resource) {
    const key = parseKey(segment, resource.table);
    if (key === null) throw notFound(resource, segment);
    const start = { before: currentSeq, compared: currentSeq };
    const from = cursor === null ? start : openPosition(cursor, key, resource);
    return { segment, key, grant, limit, from };
  },

  /**
   * Of consecutive versions that look the same to the caller, returns only the oldest: a later one
   * would reveal when a hidden value was changed, and which user has changed it.
   */
  async execute(plan, call) {
    const { key, grant, limit } = plan;
    const versions: VisibleVersion[] = [];
    const found = (next: HistoryPosition | null) => ({ versions, next, key, grant });
    let candidate: VisibleVersion | null = null;
    let [parts, size] = [0, 0];
    let last: number | null = null;
    for await (const { versions: some, oldest, bytes, next } of visibleVersions(plan, call)) {
      for (const version of some) {
        if (candidate !== null && !looksSame(candidate, version)) versions.push(candidate);
        candidate = version;
        if (versions.length === limit) return found({ before: version.seq, compared: version.seq });
      }
      last = oldest ?? last;
      size += bytes;
      if (next !== null && (parts++ === maxParts || size > maxBytes)) {
        return found({ before: next, compared: candidate?.seq ?? null });
      }
    }
    // Without an earlier version, it is unknown if this update has changed a visible value.
    const isUnknown = candidate?.op === "update" && candidate.seq === last;
    const unknown = isUnknown ? { at: null, user: null, operation: null } : {};
    if (candidate !== null) versions.push({ ...candidate, ...unknown });
    return found(null);
  },

  shape({ versions, next, key, grant: { user } }, _intent, resource) {
    const seal = (text: string, kind: string) =>
      resource.sealer.seal(text, historyContext(kind, key, resource));
    const items = versions.map(({ op, seq, at, user: writer, operation, shown }) => ({
      // The id is sealed, because `seq` counts the writes of all tables.
      version: op === "delete" ? null : seal(String(seq).padStart(16, "0"), "version"),
      at: at === null ? null : new Date(at).toISOString(),
      // Anonymous callers learn no ids of users, except in the dashboard.
      user: user === null && !resource.allowsPreview ? null : writer,
      operation,
      row: op === "delete" ? null : shown,
    }));
    const nextCursor = next === null ? null : seal(JSON.stringify(next), "history");
    const page = { items, nextCursor, hasMore: next !== null };
    const { maxAnswerBytes: limit } = resource.readCosts;
    return limitedReply(200, page, { limit, counted: null, part: pageRowsPart });
  },
};

/** The maximum number of parts that one request reads. A part has at most 100 versions. */
const maxParts = 10;
/** The size of row images, in bytes, after which a request reads no further part. */
const maxBytes = 4 * 1024 * 1024;

function parseHistory({ segment, query }: ResourceRequest, { page }: Resource) {
  const limit = parseLimit(query.get("limit") ?? null, page);
  return { segment, limit, cursor: query.get("cursor") ?? null };
}

function looksSame(one: VisibleVersion, other: VisibleVersion): boolean {
  return one.op !== "delete" && other.op !== "delete" &&
    writeJson(one.shown) === writeJson(other.shown);
}

function openPosition(cursor: string, key: Key, resource: Resource): HistoryPosition {
  const text = resource.sealer.open(cursor, historyContext("history", key, resource));
  // The cast is safe: only `shape` seals strings with this context.
  if (text !== null) return JSON.parse(text) as HistoryPosition;
  throw new Problem(
    "cursor-invalid",
    "Cannot continue from this cursor: it is damaged, or belongs to another row",
  );
}
