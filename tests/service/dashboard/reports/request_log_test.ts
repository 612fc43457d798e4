import { assert, assertEquals } from "@std/assert";
import {
  all,
  createApp,
  integer,
  openDatabase,
  resource,
  table,
  text,
  type User,
} from "../../../../mod.ts";
import { openLogFile } from "../../../../src/engines/open_log_file.ts";
import type { Observation } from "../../../../src/runtime/runtime.ts";
import { systemRuntime } from "../../../../src/runtime/system_runtime.ts";
import { requestLogFile } from "../../../../src/service/request_log/request_log.ts";
import {
  type RequestRecord,
  RequestStore,
} from "../../../../src/service/request_log/request_store.ts";
import { createRequestLogReports } from "../../../../src/service/request_log/request_log_reports.ts";
import { engineOfEachDialect } from "../../../support/engines.ts";
import { anyEngine, withDashboard } from "./dashboard_service.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });

const config = () => ({
  resources: [
    resource(notes, { id: notes.id, auth: { public: { read: true }, create: () => all() } }),
  ],
  middleware: [],
});

interface Shown {
  readonly id: number;
  readonly status: number;
  readonly path: string;
}

Deno.test("a request is found by each of its facts, and the log holds no secret of it", () =>
  withDashboard(anyEngine, [notes], config, async ({ app, get, send, report }) => {
    app.hono.get("/reset/:resetToken", (context) => context.text("done"));
    const secrets = { authorization: "Bearer mark-1", cookie: "mark-2=mark-3" };
    await send("POST", "/api/notes", { id: 1, title: "mark-4" }, { "x-user": "ann", ...secrets });
    await get("/api/notes?filter=title==mark-5");
    await get("/api/notes/7", { "x-request-id": "id-1" });
    await get("/reset/mark-6");
    await get("/__service/ui/report/service");
    const { requests, next, lost } = await report("requests");
    assertEquals([next, lost], [null, 0]);
    assertEquals(requests.map((one: Shown) => ({ ...one, id: 0, at: 0, durationMs: 0 })), [
      recorded("GET", "/reset/:resetToken", "/reset/:resetToken", 200, { bytes: null }),
      recorded("GET", "/api/notes/:id", "/api/notes/7", 404, {
        bytes: null,
        problem: "not-found",
        requestId: "id-1",
        detail: "Not found",
      }),
      recorded("GET", "/api/notes", "/api/notes", 200, { bytes: 46 }),
      recorded("POST", "/api/notes", "/api/notes", 201, { user: "ann", bytes: 25 }),
    ]);
    assertEquals(JSON.stringify(requests).includes("mark"), false);
    const [reset, missing, list, created] = requests.map(({ id }: Shown) => id);
    for (
      const [query, expected] of [
        [`id=${list}`, [list]],
        ["status=4", [missing]],
        ["method=POST", [created]],
        ["path=/api/notes/", [missing]],
        ["path=/api/notes%25", []],
        ["route=/api/notes/:id", [missing]],
        ["user=ann", [created]],
        ["request=id-1", [missing]],
        ["problem=not-found", [missing]],
        ["since=99999999999999", []],
        ["until=1", []],
        ["slower=600000", []],
        [`before=${list}`, [created]],
        ["status=2&path=/reset&method=GET", [reset]],
      ] as const
    ) {
      const found = await report(`requests?${query}`);
      assertEquals(found.requests.map(({ id }: Shown) => id), expected, query);
    }
    assertEquals((await get("/__service/ui/report/requests?status=x")).status, 400);
  }));

function recorded(
  method: string,
  route: string,
  path: string,
  status: number,
  others: Readonly<Record<string, unknown>>,
) {
  return {
    ...{ id: 0, at: 0, method, route, path, status, durationMs: 0 },
    ...{ user: null, requestId: null, problem: null, detail: null, ...others },
  };
}

Deno.test("the report has 50 requests a page", () =>
  withDashboard(anyEngine, [notes], config, async ({ get, report }) => {
    for (let id = 1; id <= 60; id++) await get(`/api/notes/${id}`);
    const first = await report("requests");
    const second = await report(`requests?before=${first.next}`);
    const paths = [...first.requests, ...second.requests].map(({ path }: Shown) => path);
    assertEquals(paths, Array.from({ length: 60 }, (_one, index) => `/api/notes/${60 - index}`));
    assertEquals([first.requests.length, second.next], [50, null]);
  }));

Deno.test("without a log, the dashboard has no reports of it", () =>
  withDashboard(anyEngine, [notes], () => ({
    ...config(),
    adminUI: { authorize: () => true, requestLog: false },
  }), async ({ get, report }) => {
    const { features } = await report("service");
    assertEquals([features.requests, features.statements], [false, false]);
    for (const name of ["requests", "load", "problems", "statements"]) {
      assertEquals((await get(`/__service/ui/report/${name}`)).status, 404, name);
    }
  }));

for (const engine of engineOfEachDialect) {
  Deno.test({
    name: `a slow statement has its route and its plan, and no value, on ${engine.name}`,
    ignore: engine.ignore !== undefined,
    fn: () =>
      withDashboard(engine, [notes], () => ({
        ...config(),
        runtime: slowRuntime(),
        adminUI: { authorize: () => true, requestLog: { slowStatementMs: 1 } },
      }), async ({ get, send, report, action, db }) => {
        await send("POST", "/api/notes", { id: 77, title: "mark-1" }, { "x-user": "ann" });
        await get("/api/notes?filter=title==mark-2");
        await get("/api/notes/77");
        await get("/api/notes/78");
        const { statements, slowStatementMs } = await report("statements");
        assertEquals(slowStatementMs, 1);
        assertEquals(
          /mark|77/.test(JSON.stringify(statements.map(({ text }: Slow) => text))),
          false,
        );
        const of = (route: string, word: RegExp) =>
          statements.find((one: Slow) => one.route === route && word.test(one.text));
        assertEquals(of("/api/notes/:id", /SELECT/).count, 2);
        for (
          const [route, word, step] of [
            ["/api/notes", /SELECT/, /notes/],
            ["/api/notes/:id", /SELECT/, /SEARCH|Index Scan/],
            ["/api/notes", /INSERT/, /^$|notes/],
          ] as const
        ) {
          const { status, body } = await action("plan", { id: of(route, word).id });
          assertEquals(status, 200, JSON.stringify(body));
          assert(step.test(body.plan.join("\n")), body.plan.join("\n"));
        }
        const before = await db.sql`SELECT count(*) AS n FROM notes`;
        assertEquals(Number(before.rows[0]?.n), 1, "no plan has run its statement");
        for (const id of [0, "SELECT 1", null]) {
          assertEquals((await action("plan", { id })).status, 404);
        }
      }),
  });
}

interface Slow {
  readonly route: string;
  readonly text: string;
}

/** A runtime whose clock advances by 2 ms whenever it is read. */
function slowRuntime() {
  const usual = systemRuntime(() => {});
  let elapsed = 0;
  const clock = { ...usual.clock, elapsedMs: () => elapsed += 2 };
  return { ...usual, clock, cron: undefined };
}

Deno.test("a role that may only read sees requests and problems, and no statement", async () => {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const app = await createApp({
    ...config(),
    db,
    secret: "sixteen or more characters",
    runtime: systemRuntime(() => {}),
    auth: {
      middleware: async (context, next) => {
        const role = context.req.header("x-role");
        if (role !== undefined) context.set("user", { id: role, roles: [role] } as User);
        await next();
      },
    },
    adminUI: { roles: { edit: ["operator"], read: ["viewer"] }, readOnly: true },
  });
  try {
    const ask = async (role: string, path: string, method = "GET") => {
      const body = method === "GET" ? null : '{"id":1}';
      const headers = { "x-role": role, "content-type": "application/json" };
      const url = `http://localhost/__service/ui/${path}`;
      const response = await app.fetch(new Request(url, { method, body, headers }));
      return [response.status, await response.json()];
    };
    for (const name of ["requests", "load", "problems"]) {
      assertEquals((await ask("viewer", `report/${name}`))[0], 200, name);
      assertEquals((await ask("nobody", `report/${name}`))[0], 403, name);
    }
    assertEquals((await ask("viewer", "report/statements"))[0], 403);
    assertEquals((await ask("viewer", "action/plan", "POST"))[0], 403);
    assertEquals((await ask("operator", "report/statements"))[0], 200);
    assertEquals((await ask("operator", "action/plan", "POST"))[0], 404);
    const features = async (role: string) => (await ask(role, "report/service"))[1].features;
    assertEquals((await features("viewer")).statements, false);
    assertEquals((await features("operator")).statements, true);
  } finally {
    await app.close();
  }
});

Deno.test("two processes share a file, and a restart continues it", async () => {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/log.sqlite`;
  const options = () => ({ ...config(), adminUI: { authorize: () => true, requestLog: { file } } });
  try {
    await withDashboard(anyEngine, [notes], options, async (first) => {
      await withDashboard(anyEngine, [notes], options, async (second) => {
        await first.get("/api/notes/1");
        await second.get("/api/notes/2");
        // Each report writes the records of its own process.
        await first.report("requests");
        const { requests } = await second.report("requests");
        assertEquals(requests.map(({ path }: Shown) => path), ["/api/notes/2", "/api/notes/1"]);
      });
    });
    await withDashboard(anyEngine, [notes], options, async ({ report }) => {
      assertEquals((await report("requests")).requests.length, 2);
      const { problems: [{ code, count, path }] } = await report("problems");
      assertEquals([code, count, path], ["not-found", 2, "/api/notes/:id"]);
      const { points } = await report("load?span=hour");
      assertEquals(points.reduce((sum: number, { requests }: Point) => sum + requests, 0), 2);
    });
    assertEquals((await Deno.stat(file)).mode! & 0o777, 0o600);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

interface Point {
  readonly requests: number;
}

Deno.test("a file of another program stays as it is, and the log is then in memory", async () => {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/other.db`;
  try {
    const other = await openDatabase(`node-sqlite:${file}`);
    await other.createTables([notes]);
    await other.close();
    const seen: Observation[] = [];
    await withDashboard(anyEngine, [notes], () => ({
      ...config(),
      observe: (one) => void seen.push(one),
      adminUI: { authorize: () => true, requestLog: { file } },
    }), async ({ get, report }) => {
      await get("/api/notes/1");
      assertEquals((await report("requests")).requests.length, 1);
    });
    const messages = seen.map((one) => one.kind === "notice" ? one.message : "");
    assert(messages.some((message) => message.includes("it is a file of another program")));
    const again = await openDatabase(`node-sqlite:${file}`);
    assertEquals((await again.introspect()).tables.map(({ name }) => name), ["notes"]);
    await again.close();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

const limits = {
  ...{ file: ":memory:", maxRequests: 100_000, maxBytes: 33_554_432 },
  ...{ maxAgeMs: 3_600_000, slowStatementMs: 100 },
};

/** A store in memory, whose clock the test sets. */
function openStore(options: Partial<typeof limits> = {}) {
  const state = { now: 1_800_000_000_000 };
  const timers: (() => void)[] = [];
  const clock = {
    now: () => state.now,
    elapsedMs: () => state.now,
    after: (_delay: number, work: () => void) => (timers.push(work), () => {}),
  };
  const file = openLogFile(":memory:", requestLogFile);
  const store = new RequestStore(file, { ...limits, ...options }, { clock, observe: () => {} });
  const reports = createRequestLogReports(store, [], clock);
  // deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
  const report = async (name: string, query = ""): Promise<any> =>
    await reports.find((one) => one.name === name)?.answer({
      query: new URLSearchParams(query),
      body: null,
      operator: { user: null, isReadOnly: true, isViewer: false, isAdministrator: false },
    });
  const add = (record: Partial<RequestRecord> = {}) =>
    store.add({
      ...{ at: state.now, method: "GET", route: "/api/notes", path: "/api/notes", status: 200 },
      ...{
        durationMs: 1,
        user: null,
        requestId: null,
        bytes: 0,
        problem: null,
        detail: null,
        ...record,
      },
    });
  return { store, file, state, timers, add, report, [Symbol.dispose]: () => store.close() };
}

Deno.test("the log keeps the newest requests by number, age and bytes", async () => {
  using log = openStore({ maxRequests: 1_000, maxBytes: 1_048_576 });
  const kept = () => Number(log.file.rows("SELECT sum(size) AS n FROM batches")[0]?.n);
  for (let id = 0; id < 4_000; id++) {
    log.add({ path: `/${id}` });
    if (id % 100 === 0) log.store.flush();
  }
  log.store.flush();
  // A sweep deletes batches of 100 requests here, after each twentieth of the number.
  assert(kept() > 900 && kept() <= 1_000 + 1_000 / 20 + 100, `${kept()}`);
  assertEquals((await log.report("requests")).requests[0].path, "/3999");
  using large = openStore({ maxBytes: 1_048_576 });
  for (let id = 0; id < 60_000; id++) {
    large.add({ path: "/".padEnd(300, "x"), user: "u".repeat(200) });
    if (id % 500 === 0) large.store.flush();
  }
  const pages = large.file.rows(
    "SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size",
  );
  // A sweep follows each twentieth of the number of requests, 5,000 of 560 bytes here.
  assert(Number(pages[0]?.bytes) < 1_048_576 + 5_500 * 640, `${pages}`);
  log.state.now += 3_600_001;
  assertEquals((await log.report("requests")).requests, []);
});

Deno.test("records that wait for too long are lost, and counted", async () => {
  using log = openStore();
  for (let id = 0; id < 5_003; id++) log.add();
  assertEquals(log.timers.length, 1, "one timer writes a batch");
  assertEquals(
    [(await log.report("requests")).lost, (await log.report("load")).points.at(-1).lost],
    [3, 3],
  );
  assertEquals((await log.report("load")).points.at(-1).requests, 5_000);
});

Deno.test("a batch waits while another process writes the file", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/log.sqlite`;
  try {
    const timers: (() => void)[] = [];
    const seen: Observation[] = [];
    const clock = {
      ...systemRuntime(() => {}).clock,
      after: (_delay: number, work: () => void) => (timers.push(work), () => {}),
    };
    const observe = (one: Observation) => void seen.push(one);
    const store = new RequestStore(openLogFile(path, requestLogFile), limits, { clock, observe });
    const other = openLogFile(path, requestLogFile);
    const record = {
      ...{ at: clock.now(), method: "GET", route: "", path: "/", status: 200, durationMs: 1 },
      ...{ user: "a\0b", requestId: null, bytes: 0, problem: null, detail: null },
    };
    store.add(record);
    other.transaction(() => timers.shift()?.());
    assertEquals(other.rows("SELECT * FROM batches"), []);
    timers.shift()?.();
    assertEquals(other.rows("SELECT size FROM batches"), [{ size: 1 }]);
    assertEquals([timers.length, seen], [0, []]);
    other.close();
    store.close();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("charts count an hour, a day and a month, and durations to within ten percent", async () => {
  using log = openStore();
  for (let ms = 1; ms <= 100; ms++) log.add({ durationMs: ms });
  log.add({ status: 404 });
  log.add({ status: 500, at: log.state.now - 60_000 });
  log.add({ at: log.state.now - 20 * 3_600_000 });
  log.add({ at: log.state.now - 20 * 24 * 3_600_000 });
  const total = async (span: string) =>
    (await log.report("load", `span=${span}`)).points
      .reduce((sum: number, { requests }: Point) => sum + requests, 0);
  assertEquals(await Promise.all(["hour", "day", "month"].map(total)), [102, 103, 104]);
  const { points, stepMs } = await log.report("load", "span=hour");
  assertEquals([points.length, stepMs], [60, 60_000]);
  const { p50, p95, clientErrors, requests } = points.at(-1);
  assertEquals([requests, clientErrors, points.at(-2).serverErrors], [101, 1, 1]);
  assert(Math.abs(p50 - 50) <= 5 && Math.abs(p95 - 95) <= 9.5, `${p50} ${p95}`);
  assertEquals(points[0].p50, null);
});

Deno.test("problems and statements have 200 groups, and the oldest group is forgotten", async () => {
  using log = openStore({ maxRequests: 1 });
  for (let route = 0; route <= 200; route++) {
    log.state.now++;
    log.add({ route: `/${route}`, status: 404, problem: "not-found", detail: "No" });
    const statement = { database: "db", route: `/${route}`, text: "SELECT 1", parameters: 0 };
    log.store.addStatement({ ...statement, durationMs: 200 });
    log.store.flush();
  }
  const { problems, isComplete } = await log.report("problems");
  const { statements } = await log.report("statements");
  assertEquals([problems.length, statements.length, isComplete], [200, 200, false]);
  assertEquals([problems[0].path, problems.at(-1).path], ["/200", "/1"]);
});
