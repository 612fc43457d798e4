import { assertEquals } from "@std/assert";
import { eq, none } from "../../mod.ts";
import { insertRows, type Service, testOnEngines } from "../support/http.ts";
import { budget } from "./guard_support.ts";
import {
  ada,
  covers,
  noteLabels,
  related,
  shares,
  tasks,
  withDesk,
} from "./nested_update_support.ts";

const note = "/api/notes/101";

async function statusOf(
  { send }: Pick<Service, "send">,
  body: unknown,
  headers: Record<string, string> = ada,
): Promise<readonly unknown[]> {
  const { status, body: { details } } = await send("PATCH", note, body, headers);
  return [status, details?.path ?? null];
}

testOnEngines(
  "hooks run for the rows that are written, and see what is known of them",
  (engine) => {
    const log: string[] = [];
    const logged = (name: string) => ({
      onBeforeCreate: (_: unknown, data: object) =>
        void log.push(`${name}+ ${JSON.stringify(data)}`),
      onAfterCreate: (_: unknown, row: { id: number }) => void log.push(`${name}+ ${row.id > 0}`),
      onBeforeUpdate: async (
        { current }: { current: () => Promise<{ id: number }> },
        id: unknown,
        patch: object,
      ) => void log.push(`${name} ${id} ${(await current()).id} ${JSON.stringify(patch)}`),
      onAfterUpdate: (_: unknown, row: { id: number }) => void log.push(`${name} ${row.id} done`),
      onBeforeDelete: (_: unknown, id: unknown) => void log.push(`${name}- ${id}`),
      onAfterDelete: (_: unknown, id: unknown) => void log.push(`${name}- ${id} done`),
    });
    const changes = {
      notes: { hooks: logged("note") },
      tasks: { hooks: logged("task") },
      shares: { hooks: logged("share") },
    };
    return withDesk(engine, changes, async ({ db, send }) => {
      await insertRows(db, shares, [{ id: 901, noteId: 101, personId: 103, givenBy: "ada" }]);
      const { status, body } = await send("PATCH", note, {
        ...{ title: "x", author: { create: { name: "n" } } },
        tasks: { connect: [102], disconnect: [101], create: [{ title: "new" }] },
        sharedWith: { set: [101] },
      }, ada);
      assertEquals(status, 200, JSON.stringify(body));
      assertEquals(log, [
        'note 101 101 {"title":"x"}',
        'task 101 101 {"noteId":null}',
        'task 102 102 {"noteId":101}',
        'task+ {"title":"new","noteId":101}',
        "share- 901",
        'share+ {"noteId":101,"personId":101}',
        "note 101 done",
        ...["task 101 done", "task 102 done", "task+ true", "share- 901 done", "share+ true"],
      ]);
      log.length = 0;
      assertEquals(await statusOf({ send }, { tasks: { connect: [102] } }), [200, null]);
      assertEquals(log, ["note 101 101 {}", "note 101 done"], "task 102 is related already");
    });
  },
);

testOnEngines("hooks that change what they were run for make a request begin again", (engine) => {
  let left = 1;
  const hooks: NonNullable<Parameters<typeof withDesk>[1]["tasks"]>["hooks"] = {
    onBeforeUpdate: async ({ db }, id) => {
      if (id !== 101 || left-- <= 0) return;
      await db.sql`UPDATE ${tasks} SET ${tasks.noteId} =
        CASE WHEN ${tasks.noteId} IS NULL THEN 101 END WHERE ${eq(tasks.id, 102)}`;
    },
  };
  return withDesk(engine, { tasks: { hooks } }, async ({ db, send }) => {
    const body = { tasks: { set: [104] } };
    assertEquals(await statusOf({ send }, body), [200, null]);
    assertEquals((await related(db)).free, "101:2 102:2 105:1 106:1");
    await db.sql`UPDATE ${tasks} SET ${tasks.noteId} = 101 WHERE ${eq(tasks.id, 101)}`;
    left = 100;
    assertEquals(await statusOf({ send }, body), [409, null]);
  });
});

testOnEngines(
  "without a right that the body needs it is refused with the path, before any hook has run",
  async (engine) => {
    const ran: string[] = [];
    const hooks = { onBeforeUpdate: () => void ran.push("note") };
    const read = { public: true, create: () => none() } as const;
    const changes = {
      notes: { hooks },
      tasks: { auth: { ...read, update: () => none() } },
      shares: { auth: { ...read, delete: () => none() } },
      covers: { capabilities: { enableUpdate: false, enableCreate: false } },
    };
    await withDesk(engine, changes, async (service) => {
      const cases: readonly (readonly [unknown, number, string])[] = [
        [{ tasks: { connect: [102] } }, 403, "tasks.connect.0"],
        [{ tasks: { set: [] } }, 403, "tasks.set"],
        [{ tasks: { create: [{ title: "t" }] } }, 403, "tasks.create.0"],
        [{ sharedWith: { connect: [101] } }, 403, "sharedWith.connect.0"],
        [{ sharedWith: { disconnect: [101] } }, 403, "sharedWith.disconnect.0"],
        [{ sharedWith: { set: [] } }, 403, "sharedWith.set"],
        [{ sharedWith: { create: [{ name: "n" }] } }, 403, "sharedWith.create.0"],
        [{ cover: { connect: 1 } }, 422, "cover.connect"],
        [{ cover: { create: { url: "u" } } }, 422, "cover.create"],
      ];
      for (const [body, status, path] of cases) {
        assertEquals(await statusOf(service, body), [status, path], JSON.stringify(body));
      }
      assertEquals([await statusOf(service, { title: "x" }, {}), ran], [[401, null], []]);
    });
    // A foreign key that no body may change is not changed by a relation.
    const fixed = {
      notes: { fields: { immutable: ["authorId"] as const } },
      tasks: { fields: { writable: ["title"] as const } },
      shares: { capabilities: { enableCreate: false, enableDelete: false } },
    };
    await withDesk(engine, fixed, async (service) => {
      for (
        const [body, path] of [
          [{ author: { connect: 101 } }, null],
          [{ tasks: { connect: [102] } }, "tasks.connect.0"],
          [{ tasks: { set: [] } }, "tasks.set"],
          [{ sharedWith: { connect: [101] } }, "sharedWith.connect.0"],
          [{ sharedWith: { set: [] } }, "sharedWith.set"],
        ] as const
      ) assertEquals(await statusOf(service, body), [422, path], JSON.stringify(body));
      const created = { tasks: { create: [{ title: "t" }] } };
      assertEquals(await statusOf(service, created), [200, null], "a new row takes its key");
    });
  },
);

testOnEngines(
  "a scope along the relation holds for a child before and after it is moved",
  (engine) => {
    const tasksOf101 = { tasks: { auth: { public: true, update: () => eq(tasks.noteId, 101) } } };
    return withDesk(engine, tasksOf101, async (service) => {
      assertEquals(await statusOf(service, { tasks: { connect: [102] } }), [
        403,
        "tasks.connect.0",
      ]);
      const moved = await statusOf(service, { title: "x", tasks: { disconnect: [104, 101] } });
      assertEquals(moved, [403, "tasks.disconnect.0"]);
      assertEquals((await related(service.db)).note, "101:103:1");
    });
  },
);

testOnEngines(
  "of writers with the same tag one changes the relations, and others are 412 and change nothing",
  (engine) =>
    withDesk(engine, {}, async ({ db, get, send }) => {
      const etag = (await get(note, ada)).headers.get("etag") ?? "";
      const answers = await Promise.all([101, 102, 103].flatMap((label) => [
        send("PATCH", note, { labels: { set: [label] } }, { ...ada, "if-match": etag }),
        send("PATCH", note, { tasks: { disconnect: [101] }, labels: { set: [label] } }, {
          ...{ ...ada, "if-match": etag },
        }),
      ]));
      assertEquals(answers.map(({ status }) => status).sort(), [200, 412, 412, 412, 412, 412]);
      const winner = answers.find(({ status }) => status === 200);
      assertEquals(winner?.headers.get("etag"), 'W/"2"');
      const { labels } = await related(db);
      assertEquals(labels, String(winner?.body.labels[0].id));
    }),
);

testOnEngines(
  "writers on the same links and children take turns, from both ends, and none is lost",
  (engine) =>
    withDesk(engine, {}, async ({ db, send }) => {
      // One that has met others three times is a 409, and one that has waited too long a 503: both
      // have written nothing, and may be sent again. How often depends on the machine.
      const patch = async (path: string, body: unknown, again = 20): Promise<number> => {
        const { status } = await send("PATCH", path, body, ada);
        const metOthers = status === 409 || status === 503;
        return metOthers && again > 0 ? await patch(path, body, again - 1) : status;
      };
      const bodies = [
        { labels: { connect: [101, 102, 103] }, tasks: { connect: [102, 101] } },
        { tasks: { disconnect: [101, 102] }, labels: { disconnect: [103, 101] } },
        { labels: { set: [103, 104], create: [] } },
        { labels: { set: [101] }, author: { connect: 103 } },
      ];
      const answers = await Promise.all([
        ...[0, 1, 2, 3].flatMap(() => bodies.map((body) => patch(note, body))),
        ...[101, 103].flatMap((label) => [
          patch(`/api/labels/${label}`, { notes: { connect: [101] } }),
          patch(`/api/labels/${label}`, { notes: { disconnect: [101] } }),
          patch(`/api/labels/${label}`, { notes: { set: [101, 103] } }),
        ]),
      ]);
      assertEquals(answers.filter((status) => status !== 200), []);
      const { note: version } = await related(db);
      assertEquals(version?.split(":").at(-1), "17");
      await send("PATCH", note, { labels: { set: [] } }, ada);
      const both = await Promise.all(
        [0, 1, 2, 3].flatMap(() => [
          patch(note, { labels: { connect: [102] } }),
          patch("/api/labels/102", { notes: { connect: [101] } }),
        ]),
      );
      assertEquals(both, Array(8).fill(200));
      assertEquals((await related(db)).labels, "102");
    }),
);

testOnEngines("what is connected and left out costs as its own resource", (engine) => {
  const costs = {
    tasks: { cost: { update: 2, create: 3 } },
    shares: { cost: { create: 5, delete: 4 } },
  };
  const config = { kv: ":memory:", abuseProtection: { budget: budget(30) } };
  return withDesk(engine, costs, async ({ db, send }) => {
    await insertRows(db, shares, [{ id: 901, noteId: 101, personId: 103, givenBy: "ada" }]);
    const left = async (body: unknown) => {
      const { status, headers } = await send("PATCH", note, body, ada);
      return [status, headers.get("ratelimit")];
    };
    assertEquals(await left({ title: "x" }), [200, `"budget";r=29`]);
    // One for the note, two for each task that is named, two for the one that is left out.
    assertEquals(await left({ tasks: { set: [104] } }), [200, `"budget";r=24`]);
    assertEquals(await left({ tasks: { create: [{ title: "t" }] } }), [200, `"budget";r=20`]);
    assertEquals(await left({ labels: { connect: [101], disconnect: [102] } }), [
      ...[200, `"budget";r=17`],
    ]);
    assertEquals(await left({ sharedWith: { set: [101] } }), [200, `"budget";r=7`]);
    assertEquals((await left({ sharedWith: { set: [103] } }))[0], 429);
    assertEquals((await related(db)).shares, "101:ada");
  }, config);
});

testOnEngines("the gate of a resource was evaded by connecting its rows", (engine) => {
  const pow = { secret: "a secret for the tests only", difficulty: 4 };
  const gate = { covers: { pow: { difficulty: 7, operations: ["update" as const] } } };
  return withDesk(engine, gate, async ({ db, send }) => {
    await insertRows(db, covers, [{ id: 1, noteId: null, url: "u" }]);
    const free = await send("PATCH", note, { cover: { create: { id: 2, url: "v" } } }, ada);
    assertEquals(free.status, 200);
    const refused = await send("PATCH", note, { cover: { connect: 1 } }, ada);
    assertEquals([refused.status, refused.headers.get("service-pow-difficulty")], [428, "7"]);
  }, { kv: ":memory:", abuseProtection: { pow } });
});

testOnEngines(
  "streams see what relations change, and a repeated request is answered once",
  (engine) =>
    withDesk(engine, {}, async ({ db, send, subscribe }) => {
      const ofTasks = await subscribe("/api/tasks/subscribe?filter=noteId==101", ada);
      const ofNotes = await subscribe("/api/notes/subscribe?include=labels&filter=id==101", ada);
      await Promise.all([ofTasks.untilSynced(), ofNotes.untilSynced()]);
      const body = {
        tasks: { connect: [102], disconnect: [101] },
        labels: { connect: [101], create: [{ name: "new" }] },
      };
      const headers = { ...ada, "idempotency-key": "k", "service-optimistic-id": "mine" };
      const first = await send("PATCH", note, body, headers);
      assertEquals([first.status, first.body._optimisticId], [200, "mine"]);
      const events = (await ofTasks.take(2)).map(({ type, data }) => [type, data.id]);
      assertEquals(events.sort(), [["added", 102], ["removed", 101]]);
      const [changed] = await ofNotes.take(1);
      assertEquals([changed?.type, changed?.data.item.labels.length], ["changed", 2]);
      const again = await send("PATCH", note, body, headers);
      assertEquals([again.status, again.body], [200, first.body]);
      assertEquals((await related(db)).note, "101:103:2");
      await Promise.all([ofTasks.close(), ofNotes.close()]);
    }, { kv: ":memory:" }),
);

testOnEngines(
  "the number of statements does not grow with the rows of a relation",
  (engine) =>
    withDesk(engine, {}, async ({ db, send }, statements) => {
      await insertRows(db, noteLabels, [{ noteId: 102, labelId: 101 }]);
      const run = async (body: unknown) => {
        statements.length = 0;
        const answer = await send("PATCH", note, body, ada);
        assertEquals(answer.status, 200, JSON.stringify(answer.body));
        return statements.length;
      };
      const one = await run({ labels: { set: [101] }, tasks: { connect: [102] } });
      await run({ labels: { set: [] }, tasks: { disconnect: [102] } });
      const many = await run({
        labels: { set: [101, 102, 103, 104] },
        tasks: { connect: [101, 102] },
      });
      assertEquals(many, one);
    }),
);
