import type { Driver } from "../../db/driver.ts";
import { engineOf } from "../../db/engine/engine.ts";
import { invalidParameter, Problem } from "../../problem/problem.ts";
import { type Clock, createYieldTurn } from "../../runtime/runtime.ts";
import {
  type DashboardOperator,
  integerParameter,
  memberOf,
  type Report,
} from "../dashboard/report.ts";
import { quantile } from "./load_buckets.ts";
import {
  maxBatch,
  maxGroups,
  maxStatementLength,
  type RequestRecord,
  type RequestStore,
} from "./request_store.ts";

export function createRequestLogReports(
  store: RequestStore,
  databases: Iterable<Driver>,
  clock: Clock,
): readonly Report[] {
  const report = (name: string, answer: Report["answer"]): Report => ({
    ...{ name, method: "GET" },
    answer(request) {
      store.flush();
      return answer(request);
    },
  });
  return [
    report("requests", ({ query }) => readRequests(query, store, clock)),
    report("load", ({ query }) => readLoad(query.get("span") ?? "hour", store, clock)),
    report("problems", () => {
      const problems = store.file.rows(`SELECT code, status, count, firstAt, lastAt, method, path,
        detail FROM problems ORDER BY lastAt DESC, rowid DESC LIMIT ${maxGroups}`);
      // False if old groups of problems may have been removed to make room for newer groups.
      return { problems, isComplete: problems.length < maxGroups };
    }),
    report("statements", ({ operator }) => {
      requireSqlReader(operator);
      const statements = store.file.rows(`SELECT id, database, route, text, count, longestMs, lastAt
        FROM statements ORDER BY longestMs DESC, id LIMIT ${maxGroups}`);
      return { statements, slowStatementMs: store.options.slowStatementMs };
    }),
    createPlanAction(store, databases),
  ];
}

interface ShownRequest extends RequestRecord {
  readonly id: number;
}

type Test<Wanted> = (one: ShownRequest, wanted: Wanted) => boolean;

const textTests: ReadonlyMap<string, Test<string>> = new Map<string, Test<string>>([
  ["method", ({ method }, wanted) => method === wanted],
  ["path", ({ path }, wanted) => path.startsWith(wanted)],
  ["route", ({ route }, wanted) => route === wanted],
  ["user", ({ user }, wanted) => user === wanted],
  ["request", ({ requestId }, wanted) => requestId === wanted],
  ["problem", ({ problem }, wanted) => problem === wanted],
]);

const numberTests: ReadonlyMap<string, Test<number>> = new Map<string, Test<number>>([
  ["id", ({ id }, wanted) => id === wanted],
  ["status", ({ status }, wanted) => Math.floor(status / 100) === wanted],
  ["since", ({ at }, wanted) => at >= wanted],
  ["until", ({ at }, wanted) => at <= wanted],
  ["slower", ({ durationMs }, wanted) => durationMs >= wanted],
  ["before", ({ id }, wanted) => id < wanted],
]);

function testsOf(query: URLSearchParams): readonly ((one: ShownRequest) => boolean)[] {
  return [...query].filter(([, text]) => text !== "").flatMap(([name, text]) => {
    const test = textTests.get(name);
    if (test !== undefined) return [(one: ShownRequest) => test(one, text)];
    const ofNumber = numberTests.get(name);
    const wanted = ofNumber && integerParameter(query, name, anyNumber);
    return ofNumber && wanted ? [(one: ShownRequest) => ofNumber(one, wanted)] : [];
  });
}

const anyNumber = { from: 1, to: Number.MAX_SAFE_INTEGER };

/** Returns the recorded requests, 50 a page, with the last response first. */
async function readRequests(query: URLSearchParams, store: RequestStore, clock: Clock) {
  const tests = testsOf(query);
  const since = integerParameter(query, "since", anyNumber) ?? 0;
  const oldest = Math.max(since, clock.now() - store.options.maxAgeMs);
  const found: ShownRequest[] = [];
  const yieldTurn = createYieldTurn(clock);
  const last = integerParameter(query, "id", anyNumber) ??
    integerParameter(query, "before", anyNumber) ?? Number.MAX_SAFE_INTEGER;
  for (let batch = Math.floor(last / idsOfBatch); found.length <= pageSize;) {
    const [row] = store.file.rows(
      "SELECT id, records FROM batches WHERE id <= ? AND at >= ? ORDER BY id DESC LIMIT 1",
      ...[batch, oldest],
    );
    if (row === undefined) break;
    batch = Number(row.id) - 1;
    // The cast is safe: the store has written these records.
    const records = JSON.parse(String(row.records)) as readonly RequestRecord[];
    const shown = records.map((one, index) => ({
      id: Number(row.id) * idsOfBatch + index,
      ...one,
    }));
    found.push(
      ...shown.filter((one) => one.at >= oldest && tests.every((test) => test(one))).toReversed(),
    );
    await yieldTurn();
  }
  const [lost] = store.file.rows(
    "SELECT coalesce(sum(count), 0) AS lost FROM load WHERE widthMs = 3600000 AND kind = 0",
  );
  const requests = found.slice(0, pageSize);
  return { requests, next: found.length > pageSize ? requests.at(-1)?.id : null, ...lost };
}

const pageSize = 50;
/** The id of a request is the id of its batch, times this number, plus the place in the batch. */
const idsOfBatch = 2 * maxBatch;

const charts: ReadonlyMap<string, readonly [widthMs: number, stepMs: number, points: number]> =
  new Map([
    ["hour", [60_000, 60_000, 60]],
    ["day", [60_000, 900_000, 96]],
    ["month", [3_600_000, 21_600_000, 120]],
  ]);

function readLoad(span: string, { file }: RequestStore, clock: Clock) {
  const chart = charts.get(span);
  if (chart === undefined) {
    throw invalidParameter("Cannot read the report: span must be hour, day or month");
  }
  const [widthMs, stepMs, length] = chart;
  const now = clock.now();
  const first = now - now % stepMs - (length - 1) * stepMs;
  const points = Array.from({ length }, (_one, index) => ({
    at: first + index * stepMs,
    kinds: [0, 0, 0, 0, 0, 0],
    buckets: new Map<number, number>(),
  }));
  const rows = file.rows(
    "SELECT at, kind, bucket, count FROM load WHERE widthMs = ? AND at >= ?",
    ...[widthMs, first],
  );
  for (const row of rows) {
    const [kind, bucket, count] = [Number(row.kind), Number(row.bucket), Number(row.count)];
    const point = points[Math.floor((Number(row.at) - first) / stepMs)];
    if (point === undefined) continue;
    point.kinds[kind] = (point.kinds[kind] ?? 0) + count;
    if (kind > 0) point.buckets.set(bucket, (point.buckets.get(bucket) ?? 0) + count);
  }
  return {
    stepMs,
    points: points.map(({ at, kinds: [lost = 0, ...kinds], buckets }) => ({
      at,
      requests: kinds.reduce((sum, count) => sum + count),
      ...{ clientErrors: kinds[3], serverErrors: kinds[4], lost },
      ...{ p50: quantile(buckets, 0.5), p95: quantile(buckets, 0.95) },
    })),
  };
}

function createPlanAction({ file }: RequestStore, databases: Iterable<Driver>): Report {
  return {
    name: "plan",
    method: "POST",
    async answer({ operator, body }) {
      requireSqlReader(operator);
      const id = memberOf(body, "id");
      // The client sends an id and no SQL, so only statements of the service are explained.
      const [{ database, text, parameters } = {}] = typeof id !== "number"
        ? []
        : file.rows("SELECT database, text, parameters FROM statements WHERE id = ?", id);
      const driver = [...databases].find(({ label }) => label === database);
      if (driver === undefined || typeof text !== "string") {
        throw new Problem("not-found", "Cannot read the plan: the log no longer has the statement");
      }
      if (text.length >= maxStatementLength || !planned.test(text)) {
        throw new Problem(
          "conflict",
          "Cannot read the plan: the statement is too long or has none",
        );
      }
      return {
        plan: await engineOf(driver).plan(driver, { text, parameters: Number(parameters) }),
      };
    },
  };
}

const planned = /^\s*(?:SELECT|WITH|INSERT|UPDATE|DELETE)\b/i;

function requireSqlReader({ isViewer }: DashboardOperator): void {
  if (!isViewer) return;
  throw new Problem("forbidden", "Cannot read statements with a role that may only read");
}
