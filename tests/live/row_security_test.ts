import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { resource } from "../../src/resource/define/resource_definition.ts";
import type { Clock } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { memorySearch } from "../../src/search/search_adapter.ts";
import {
  docs,
  links,
  owned,
  secured,
  startApp,
  startCommand,
  tables,
  testWithRole,
} from "./row_security_support.ts";

const restricted = {
  "a table forced on its owner": `${tables} ${secured} ${owned}
    ALTER TABLE docs FORCE ROW LEVEL SECURITY;`,
  "a role that does not own the table": `${tables} ${secured}
    GRANT ALL ON docs, links TO ROLE_;`,
  "a policy that restricts another": `${tables} ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
    CREATE POLICY everyone ON docs USING (true);
    CREATE POLICY seen ON docs AS RESTRICTIVE USING (visible);
    GRANT ALL ON docs, links TO ROLE_;`,
  "a partitioned table": `CREATE TABLE docs (id integer PRIMARY KEY, title text, visible boolean)
      PARTITION BY RANGE (id);
    CREATE TABLE docs_low PARTITION OF docs FOR VALUES FROM (0) TO (100);
    INSERT INTO docs VALUES (1, 'tea', true), (2, 'hidden tea', false);
    CREATE TABLE links (id integer PRIMARY KEY, doc_id integer, name text);
    ${secured} GRANT ALL ON docs, links TO ROLE_;`,
};

for (const [name, script] of Object.entries(restricted)) {
  testWithRole(`row level security ends the start of live streams: ${name}`, async (world) => {
    await world.run(script);
    await assertRejects(
      () => startApp(world),
      Error,
      'Cannot serve "docs": live streams would send rows that row level security hides from the ' +
        `role "${world.role}". Set capabilities.enableSubscribe to false`,
    );
    await using started = await startApp(world, {
      search: memorySearch(),
      resources: [
        resource(docs, {
          id: docs.id,
          auth: { public: true },
          capabilities: { enableSubscribe: false },
        }),
      ],
    });
    const { get, notices } = started;
    assertEquals(JSON.parse((await get("/docs")).body).items.length, 1);
    assertEquals((await get("/docs/2")).status, 404);
    assertEquals((await get("/docs/subscribe")).status, 404);
    assertEquals((await get("/docs/search?q=tea")).status, 404);
    assertStringIncludes(notices.join(), 'No search of "docs": row level security applies to');
    await world.run(`INSERT INTO docs SELECT n, 'many', n % 2 = 0 FROM generate_series(3, 99) AS n;
      UPDATE pg_class SET reltuples = 100000, relpages = 1000 WHERE relname LIKE 'docs%'`);
    const { totalCount, totalCountEstimated } = JSON.parse(
      (await get("/docs?limit=1&totalCount=estimated")).body,
    );
    assertEquals([totalCount, totalCountEstimated], [49, undefined]);
  });
}

testWithRole("the command line serves a table with policies without streams", async (world) => {
  await world.run(`${tables} ${secured} ${owned} ALTER TABLE docs FORCE ROW LEVEL SECURITY`);
  const started = await startCommand(world);
  await using _ = started;
  const { get, streams, subscribe } = started;
  assertStringIncludes(
    streams ?? "",
    `Live streams: not of docs, because row level security applies to the role "${world.role}". ` +
      "Live streams show every change",
  );
  assertEquals(JSON.parse((await get("/docs")).body).items.length, 1);
  assertEquals((await get("/docs/subscribe")).status, 404);
  assertEquals((await get("/docs/aggregate/subscribe?metrics=count")).status, 404);
  assertEquals((await get("/docs/search?q=hidden")).status, 404);
  assertEquals((await get("/docs/1/history")).status, 404);
  const including = await subscribe("/links/subscribe?include=doc");
  const snapshot = await including.untilSynced();
  assertEquals(snapshot.length > 0, true);
  await world.run(`UPDATE docs SET title = 'hidden still' WHERE id = 2;
    UPDATE docs SET visible = false, title = 'hidden now' WHERE id = 1;
    INSERT INTO docs VALUES (3, 'hidden new', false);
    INSERT INTO links VALUES (3, 3, 'c')`);
  while (!including.text.includes('"name":"c"')) assert(await including.next() !== null);
  assert(including.text.includes("tea"), including.text);
  assert(!including.text.includes("hidden"), including.text);
  await including.close();
});

testWithRole("streams follow a table whose policies do not apply to the role", async (world) => {
  await world.run(`${tables} ${secured} ${owned}`);
  for (
    const change of ["", "ALTER ROLE ROLE_ BYPASSRLS; ALTER TABLE docs FORCE ROW LEVEL SECURITY"]
  ) {
    await world.run(change);
    await using started = await startApp(world);
    assertStringIncludes(
      started.notices.join("\n"),
      `"docs" has row level security, which does not apply to the role "${world.role}": every row ` +
        "is served by the scopes alone",
    );
    const stream = await started.subscribe("/docs/subscribe");
    assertEquals((await stream.untilSynced()).length > 0, true);
    assert(stream.text.includes("hidden tea"));
    await stream.close();
  }
});

testWithRole("policies that are enabled without effect are reported once", async (world) => {
  await world.run(`${tables} ${owned}`);
  const { clock, pass } = quickClock();
  await using started = await startApp(world, {}, clock);
  const reports = () => started.notices.filter((text) => text.includes("row level security"));
  assertEquals(reports(), []);
  await world.run(secured);
  const stream = await started.subscribe("/docs/subscribe");
  while (reports().length === 0) {
    pass(61_000);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  pass(61_000);
  pass(61_000);
  await stream.untilSynced();
  assertEquals(reports(), [
    `"docs" has row level security, which does not apply to the role "${world.role}": every row is ` +
    "served by the scopes alone",
  ]);
  await stream.close();
});

testWithRole("a stream ends once policies apply to the role, and none begins", async (world) => {
  await world.run(`${tables} ${secured} ${owned}`);
  const { clock, pass } = quickClock();
  await using started = await startApp(world, { search: memorySearch() }, clock);
  const { get, subscribe } = started;
  assertEquals((await get("/docs/search?q=hidden")).status, 200);
  const streams = [
    await subscribe("/docs/subscribe"),
    await subscribe("/docs/aggregate/subscribe?metrics=count"),
  ];
  await streams[0]?.untilSynced();
  await streams[1]?.next();
  await world.run("ALTER TABLE docs FORCE ROW LEVEL SECURITY");
  pass(61_000);
  for (const stream of streams) {
    const events = await stream.untilEnd();
    assertEquals(events.at(-1)?.data, { type: "invalidate", reason: "auth_expired" });
  }
  await world.run("INSERT INTO docs VALUES (3, 'hidden new', false)");
  for (const path of ["/docs/subscribe?skipExisting=true", "/docs/search?q=hidden"]) {
    const { status, body } = await get(path);
    assertEquals(status, 404, body);
    assertStringIncludes(body, 'the database hides a part of \\"docs\\" from the service');
  }
  await world.run("ALTER TABLE docs NO FORCE ROW LEVEL SECURITY");
  pass(61_000);
  const open = async () => (await get("/docs/search?q=hidden")).status === 200;
  while (!await open()) await new Promise((resolve) => setTimeout(resolve, 20));
});

const switches = {
  "a table is forced": {
    before: `${secured} ${owned}`,
    on: "ALTER TABLE docs FORCE ROW LEVEL SECURITY",
  },
  "policies are enabled": {
    before: `${secured} ${owned} ALTER TABLE docs FORCE ROW LEVEL SECURITY;
      ALTER TABLE docs DISABLE ROW LEVEL SECURITY`,
    on: "ALTER TABLE docs ENABLE ROW LEVEL SECURITY",
  },
  "a table has another owner": {
    before: `${secured} ${owned}`,
    on: "ALTER TABLE docs OWNER TO CURRENT_USER; GRANT SELECT, TRIGGER ON docs TO ROLE_",
  },
  "a role loses its exemption": {
    before: `${secured} ${owned} ALTER TABLE docs FORCE ROW LEVEL SECURITY;
      ALTER ROLE ROLE_ BYPASSRLS`,
    on: "ALTER ROLE ROLE_ NOBYPASSRLS",
  },
};

for (const [name, { before, on }] of Object.entries(switches)) {
  testWithRole(`nothing is sent that was written after ${name}`, async (world) => {
    await world.run(`${tables} ${before}`);
    await using started = await startApp(world);
    const streams = [
      await started.subscribe("/docs/subscribe"),
      await started.subscribe("/docs/subscribe?filter=title=icontains=hidden"),
      await started.subscribe("/docs/aggregate/subscribe?count=true"),
    ];
    await streams[0]?.untilSynced();
    await streams[1]?.untilSynced();
    await streams[2]?.next();
    await world.run("INSERT INTO docs VALUES (3, 'shown hidden', true)");
    for (const stream of streams) await stream.next();
    await world.run(`${on}; INSERT INTO docs VALUES (4, 'hidden secret', false)`);
    for (const stream of streams) {
      assertEquals((await stream.untilEnd()).map(({ data }) => data), [
        { type: "invalidate", reason: "auth_expired" },
      ]);
      assert(!stream.text.includes("secret"));
    }
    // Until the rights were read again, a stream begins and ends at once.
    for (let status = 200; status !== 404;) {
      const response = await started.get("/docs/subscribe");
      assert(!response.body.includes("hidden"), response.body);
      status = response.status;
      // The connection that reads the rights needs turns of the event loop.
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  });
}

for (const [name, { before, on }] of Object.entries(switches)) {
  testWithRole(`streams that include rows obey policies once ${name}`, async (world) => {
    await world.run(`${tables} ${before}`);
    await using started = await startApp(world, {
      resources: [
        resource(docs, { id: docs.id, auth: { public: true } }),
        resource(links, {
          id: links.id,
          auth: { public: true },
          relations: {
            doc: { type: "belongsTo", resource: docs, foreignKey: links.docId },
          },
        }),
      ],
    });
    const stream = await started.subscribe("/links/subscribe?include=doc");
    await stream.untilSynced();
    // The statement that reads the related rows is prepared on each connection.
    await world.run("UPDATE docs SET title = 'hidden before' WHERE id = 2");
    while (!stream.text.includes("hidden before")) assert(await stream.next() !== null);
    await Promise.all(Array.from({ length: 20 }, () => started.get("/links?include=doc")));
    await world.run(`${on};
    UPDATE docs SET title = 'secret tea' WHERE id = 2;
    INSERT INTO docs VALUES (3, 'secret tea', false), (4, 'last tea', true);
    INSERT INTO links VALUES (3, 3, 'c'), (4, 4, 'd')`);
    while (!stream.text.includes("last tea")) assert(await stream.next() !== null);
    assert(!stream.text.includes("secret"), stream.text);
    await stream.close();
  });
}

testWithRole("an aggregate of before is given to no stream that begins later", async (world) => {
  await world.run(`${tables} ${secured} ${owned}`);
  await using started = await startApp(world);
  const path = "/docs/aggregate/subscribe?max=title";
  const first = await started.subscribe(path);
  await first.next();
  await world.run("ALTER TABLE docs FORCE ROW LEVEL SECURITY");
  const second = await started.subscribe(path);
  const events = await second.untilEnd();
  assertEquals(events.map(({ data }) => data), [{ type: "invalidate", reason: "auth_expired" }]);
  await first.untilEnd();
});

testWithRole("streams do not send a column that the role may not read", async (world) => {
  await world.run(`${tables} GRANT SELECT (id, title), INSERT, UPDATE ON docs TO ROLE_;`);
  await assertRejects(
    () => startApp(world),
    Error,
    `Cannot serve "docs": live streams would send "visible", which the role "${world.role}" may ` +
      "not read. GRANT SELECT on it",
  );
});

/** The time of the system, with jumps: timers whose time has come by then run. */
function quickClock(): { readonly clock: Clock; readonly pass: (ms: number) => void } {
  const { clock } = systemRuntime(() => {});
  let skipped = 0;
  const timers = new Set<{ readonly at: number; readonly work: () => void; cancel: () => void }>();
  const after = (delayMs: number, work: () => void) => {
    const timer = { at: clock.elapsedMs() + skipped + delayMs, work: run, cancel: () => {} };
    function run() {
      timer.cancel();
      if (timers.delete(timer)) work();
    }
    timers.add(timer);
    timer.cancel = clock.after(delayMs, run);
    return () => {
      timer.cancel();
      timers.delete(timer);
    };
  };
  return {
    clock: { ...clock, elapsedMs: () => clock.elapsedMs() + skipped, after },
    pass(ms) {
      skipped += ms;
      const now = clock.elapsedMs() + skipped;
      for (const timer of [...timers]) if (timer.at <= now) timer.work();
    },
  };
}
