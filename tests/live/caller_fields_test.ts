import { assertEquals } from "@std/assert";
import { all, integer, resource, table, text } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { handClock } from "../db/hand_clock.ts";
import { engines } from "../support/engines.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";
import { untilIdle } from "./hub_support.ts";

const staff = table("staff", {
  id: integer().primaryKey(),
  name: text().notNull(),
  salary: integer().notNull(),
  version: integer().notNull().default(1),
});
const shifts = table("shifts", {
  id: integer().primaryKey(),
  staffId: integer().notNull().as("staff_id"),
  code: text().notNull(),
});

const chief = { "x-user": "chief" };
const clerk = { "x-user": "clerk" };

/** The users who see everything, which a test may change. */
const chiefs = new Set<string>();

const definitions = [
  resource(staff, {
    id: staff.id,
    auth: { public: true, update: () => all() },
    etag: { versionField: staff.version },
    fields: {
      readable: (user) =>
        chiefs.has(user?.id ?? "")
          ? [staff.id, staff.name, staff.salary, staff.version]
          : [staff.id, staff.name],
    },
  }),
  resource(shifts, {
    id: shifts.id,
    auth: { public: true, update: () => all() },
    fields: {
      readable: (user) =>
        chiefs.has(user?.id ?? "") ? [shifts.id, shifts.staffId, shifts.code] : [
          shifts.id,
          shifts.staffId,
        ],
    },
    relations: { staff: { type: "belongsTo", resource: staff, foreignKey: shifts.staffId } },
  }),
];

async function withStaff(
  engine: (typeof engines)[number],
  work: (service: Service) => Promise<void>,
  config: object = {},
): Promise<void> {
  chiefs.clear();
  chiefs.add("chief");
  await withService(
    engine,
    [staff, shifts],
    () => ({ resources: definitions, ...config }),
    async (service) => {
      await insertRows(service.db, staff, [{ id: 1, name: "Ann", salary: 10, version: 1 }]);
      await insertRows(service.db, shifts, [{ id: 1, staffId: 1, code: "night" }]);
      await work(service);
    },
  );
}

testOnEngines(
  "streams share frames only where their users see the same, tags included",
  (engine) =>
    withStaff(engine, async ({ send, subscribe }) => {
      const open = async (path: string, headers = {}) => {
        const stream = await subscribe(path, headers);
        return { stream, first: (await stream.untilSynced())[0]?.data.items[0] };
      };
      const streams = [
        await open("/api/staff/subscribe", chief),
        await open("/api/staff/subscribe", clerk),
        await open("/api/staff/subscribe"),
        await open("/api/staff/subscribe?select=name", chief),
        await open("/api/staff/subscribe?select=name", clerk),
        await open("/api/shifts/subscribe?include=staff", chief),
        await open("/api/shifts/subscribe?include=staff", clerk),
      ];
      const [all, some, none, named, someNamed, shift, someShift] = streams.map(({ first }) =>
        first
      );
      assertEquals(all, { id: 1, name: "Ann", salary: 10, version: 1, _etag: 'W/"1"' });
      const { _etag: tag, ...rest } = some;
      assertEquals(rest, { id: 1, name: "Ann" });
      assertEquals(none, some);
      assertEquals([named._etag, someNamed._etag], ['W/"1"', tag]);
      assertEquals(shift.staff.salary, 10);
      assertEquals(someShift, { id: 1, staffId: 1, staff: { id: 1, name: "Ann" } });
      await send("PATCH", "/api/staff/1", { name: "Amy" }, chief);
      const changed = [];
      for (const { stream } of streams) changed.push((await stream.take(1))[0]?.data.item);
      assertEquals(changed[0], { id: 1, name: "Amy", salary: 10, version: 2, _etag: 'W/"2"' });
      assertEquals(changed[1], { id: 1, name: "Amy", _etag: changed[4]._etag });
      assertEquals(changed[2], changed[1]);
      assertEquals(changed[3]._etag, 'W/"2"');
      assertEquals(changed[5].staff, { id: 1, name: "Amy", salary: 10, version: 2 });
      assertEquals(changed[6], { id: 1, staffId: 1, staff: { id: 1, name: "Amy" } });
      for (const { stream } of streams) await stream.close();
    }),
);

testOnEngines(
  "a stream does not filter by what is withheld, aggregates it, or shows it after a reconnection",
  (engine) =>
    withStaff(engine, async ({ get, subscribe }) => {
      for (
        const query of [
          "/subscribe?filter=salary>5",
          "/aggregate/subscribe?max=salary",
          "/aggregate/subscribe?groupBy=salary",
          "/aggregate/subscribe?groupBy=id&having=min_salary>1",
          "/aggregate/subscribe?filter=salary>5",
        ]
      ) {
        assertEquals([query, (await get(`/api/staff${query}`, clerk)).status], [query, 400]);
        await (await subscribe(`/api/staff${query}`, chief)).close();
      }
      // The token of a stream with all fields is worth nothing for one with some.
      const stream = await subscribe("/api/staff/subscribe", chief);
      await stream.untilSynced();
      const token = await stream.untilToken();
      await stream.close();
      const resumed = await subscribe("/api/staff/subscribe", { ...clerk, "last-event-id": token });
      const [event, page] = await resumed.take(2);
      assertEquals([event?.type, page?.data.items[0].salary], ["invalidate", undefined]);
      await resumed.close();
    }),
);

const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

Deno.test("a stream ends when its user has other fields, also those of included rows", async () => {
  const { clock, advance } = handClock();
  const runtime = { ...systemRuntime(() => {}), clock, cron: undefined };
  await withStaff(sqlite, async ({ send, subscribe }) => {
    const rows = await subscribe("/api/staff/subscribe", chief);
    const included = await subscribe("/api/shifts/subscribe?include=staff&select=id", chief);
    const counted = await subscribe("/api/staff/aggregate/subscribe?max=salary", chief);
    const other = await subscribe("/api/staff/subscribe", clerk);
    await rows.untilSynced();
    await included.untilSynced();
    await other.untilSynced();
    await counted.take(1);
    advance(60_000);
    await untilIdle();
    chiefs.clear();
    advance(60_000);
    await untilIdle();
    for (const stream of [rows, included, counted]) {
      const [last] = await stream.take(1);
      assertEquals([last?.type, last?.data.reason], ["invalidate", "auth_expired"]);
    }
    await send("PATCH", "/api/staff/1", { name: "Amy", salary: 99 }, chief);
    assertEquals((await other.take(1))[0]?.data.item.name, "Amy");
    for (const stream of [rows, included, counted, other]) await stream.close();
  }, { runtime });
});

Deno.test("a stream ends when the function of its fields fails", async () => {
  const { clock, advance } = handClock();
  const observed: string[] = [];
  const runtime = {
    ...systemRuntime(({ kind }) => observed.push(kind)),
    clock,
    cron: undefined,
  };
  let isBroken = false;
  await withService(sqlite, [staff], () => ({
    resources: [
      resource(staff, {
        id: staff.id,
        auth: { public: true },
        fields: {
          readable: () => {
            if (isBroken) throw new Error("the roles cannot be read");
            return [staff.id];
          },
        },
      }),
    ],
    runtime,
  }), async ({ subscribe }) => {
    const stream = await subscribe("/api/staff/subscribe");
    await stream.untilSynced();
    isBroken = true;
    advance(60_000);
    await untilIdle();
    assertEquals((await stream.take(1))[0]?.data.reason, "auth_expired");
    assertEquals(observed.includes("stream_failed"), true);
    await stream.close();
  });
});
