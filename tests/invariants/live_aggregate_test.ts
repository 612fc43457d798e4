import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { all } from "../../src/filter/builders.ts";
import { rsql } from "../../src/filter/filter_text.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import {
  bigint,
  boolean,
  date,
  decimal,
  integer,
  real,
  text,
  timestamp,
} from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import type { TableInfo } from "../../src/schema/table_info.ts";
import type { Engine } from "../support/engines.ts";
import type { EventStream } from "../support/event_stream.ts";
import { insertRows, type Service, testOnDialects, withService } from "../support/http.ts";
import { repeats } from "../support/repeats.ts";

const trips = table("trips", {
  id: integer().primaryKey(),
  city: text(),
  paid: boolean(),
  day: date(),
  size: integer(),
  far: bigint(),
  fare: decimal({ precision: 9, scale: 2 }),
  open: decimal(),
  speed: real(),
  at: timestamp(),
  deletedAt: text().as("deleted_at"),
  secret: text(),
});
const readable = [
  ...[trips.id, trips.city, trips.paid, trips.day, trips.size, trips.far, trips.fare, trips.open],
  ...[trips.speed, trips.at],
];

// A failure is found again by `SEED=… deno task test tests/invariants`.
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1);

const cities = ["Oslo", "oslo", "Łódź", "", "a'b", "👍"];
const longest = "9223372036854775807";

const values = {
  city: fc.option(fc.constantFrom(...cities), { freq: 6 }),
  paid: fc.option(fc.boolean()),
  day: fc.option(fc.constantFrom("2024-01-01", "2024-02-29", "1999-12-31")),
  size: fc.option(fc.integer({ min: -3, max: 6 })),
  far: fc.option(fc.constantFrom("1", "-2", longest, `-${longest}`)),
  fare: fc.option(fc.integer({ min: -400, max: 400 }).map((cents) => (cents / 100).toFixed(2))),
  open: fc.option(fc.constantFrom("0", "1.5", "1.50", "-0.125", "7")),
  speed: fc.option(fc.constantFrom(0, -1.5, 0.1, 1e6)),
  at: fc.option(fc.constantFrom("2024-01-01T00:00:00.000Z", "2023-05-05T01:02:03.456Z")),
};
const names = ["city", "paid", "day", "size", "far", "fare", "open", "speed", "at"] as const;
const numbers = ["size", "far", "fare", "open"] as const;

const id = fc.integer({ min: 1, max: 25 });

/** The writes between two quiet moments. */
type Write = typeof write extends fc.Arbitrary<infer Value> ? Value : never;
const write = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("create" as const),
      row: fc.record({ id, ...values }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("update" as const),
      id,
      patch: fc.record(values, { requiredKeys: [] }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("delete" as const), id }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("sql" as const),
      text: fc.oneof(
        fc.constantFrom(
          "UPDATE trips SET size = size + 1 WHERE size < 4",
          "UPDATE trips SET deleted_at = 'x' WHERE id % 3 = 0",
          "UPDATE trips SET deleted_at = NULL",
          "UPDATE trips SET city = 'Oslo', fare = fare * 2 WHERE id < 9",
          "UPDATE trips SET secret = 'xyzzy-2'",
          "DELETE FROM trips WHERE id % 5 = 0",
        ),
        fc.tuple(id, id).map(([from, to]) =>
          `UPDATE trips SET id = ${
            100 + to
          } WHERE id = ${from} AND NOT EXISTS (SELECT 1 FROM trips WHERE id = ${100 + to})`
        ),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("empty" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("odd" as const), id }) },
);

const condition = fc.constantFrom(
  ...[
    "size>=1",
    "city==Oslo",
    "city==Oslo;paid==true",
    "day!=2024-01-01",
    "fare==null",
    "fare>0.5",
  ],
  ...["speed<0,size==2", "city=like=*sl*", "open>=1", "far>0", "open==1.234567890123456789"],
);
const having = fc.constantFrom(
  ...["count>1", "sum_size<=3", "sum_fare>=0.10", "avg_size>0.75", "max_day=in=(2024-01-01)"],
  ...["max_fare==null", "sum_far>9223372036854775807", "avg_fare<1;count<9", "min_size<0,count==1"],
);
const question = fc.record({
  groupBy: fc.subarray([...names], { maxLength: 3 }),
  sum: fc.subarray([...numbers]),
  avg: fc.subarray([...numbers]),
  // Sums of doubles are never updated in memory: most queries have none.
  avgOfSpeed: fc.constantFrom(true, false, false, false),
  min: fc.subarray([...names]),
  max: fc.subarray([...names]),
  filter: fc.option(condition),
  having: fc.option(having),
  orderBy: fc.option(fc.constantFrom("-count", "sum_size", "max_day:desc", "-avg_fare,sum_far")),
  limit: fc.constantFrom(2, 1000),
}).map(({ avgOfSpeed, avg, ...asked }): string =>
  `${new URLSearchParams({
    ...{ groupBy: asked.groupBy.join(), sum: asked.sum.join(), min: asked.min.join() },
    ...{ max: asked.max.join(), count: "true", limit: String(asked.limit) },
    avg: [...avg, ...(avgOfSpeed ? ["speed"] : [])].join(),
    ...(asked.filter === null ? {} : { filter: asked.filter }),
    ...(asked.having === null ? {} : { having: asked.having }),
    ...(asked.orderBy === null ? {} : { orderBy: asked.orderBy }),
  })}`
);

async function perform(write: Write, { db, send }: Service): Promise<void> {
  const path = "/api/trips";
  const query = (text: string) => db.driver.query({ text, values: [] });
  switch (write.kind) {
    case "create":
      await send("POST", path, { ...write.row, secret: "xyzzy-1" });
      break;
    case "update":
      await send("PATCH", `${path}/${write.id}`, write.patch);
      break;
    case "delete":
      await send("DELETE", `${path}/${write.id}`);
      break;
    case "sql":
      await query(write.text);
      break;
    case "odd":
      // No value of its column's kind.
      await query(
        db.dialect.engine === "sqlite"
          ? `UPDATE trips SET size = 1.5, open = 'many', paid = 7 WHERE id = ${write.id}`
          : `UPDATE trips SET open = 'NaN', speed = 'NaN' WHERE id = ${write.id}`,
      );
      break;
    case "empty":
      await query(db.dialect.engine === "sqlite" ? "DELETE FROM trips" : "TRUNCATE trips");
  }
}

/** Reads until the last event is the expected one; fails where it never comes. */
async function untilSame(last: string, wanted: string, stream: EventStream): Promise<string> {
  let shown = last;
  while (shown !== wanted) {
    const timer = Promise.withResolvers<null>();
    const timeout = setTimeout(() => timer.resolve(null), 5_000);
    const event = await Promise.race([stream.next(), timer.promise]);
    clearTimeout(timeout);
    // The difference says more than a missing event.
    if (event === null) assertEquals(shown, wanted);
    shown = JSON.stringify({ ...event?.data, type: undefined });
  }
  return shown;
}

const owned = rsql`id>2`;
const policy = {
  auth: {
    ...{ read: () => owned, subscribe: () => owned, create: () => all() },
    ...{ update: () => all(), delete: () => all() },
  },
};

testOnDialects(
  `whenever all is quiet, a live aggregate says what the aggregate does, seed ${seed}`,
  (engine) =>
    withService(engine, [trips], () => ({
      subscribe: { maxPerUser: 1_000, maxPerAddress: 1_000 },
      resources: [
        resource(trips, {
          id: trips.id,
          ...policy,
          fields: { readable, writable: [...readable, trips.secret] },
          softDelete: { field: trips.deletedAt },
        }),
      ],
    }), (service) => requireSame(service, engine.name, (row) => row)),
);

/** Of SQLite the one that folds letters; the libraries of PGlite have none of a language. */
const collations: Readonly<Record<string, string>> = {
  postgres: '"en-x-icu"',
  pglite: '"default"',
};

testOnDialects(
  `so it does of a table of another program, whose texts have another collation, seed ${seed}`,
  (engine) => {
    const found: TableInfo[] = [];
    const foreign: Engine = {
      ...engine,
      async open(options) {
        const db = await engine.open(options);
        const collation = collations[engine.name] ?? "NOCASE";
        await db.driver.query({
          text: `CREATE TABLE trips (id INTEGER PRIMARY KEY, city VARCHAR(20) COLLATE ${collation},
            paid BOOLEAN, day DATE, size INTEGER, far BIGINT, fare DECIMAL(9,2), open NUMERIC,
            speed DOUBLE PRECISION, at TIMESTAMP, deleted_at TEXT, secret TEXT)`,
          values: [],
        });
        found.push(...(await db.introspect()).tables);
        return db;
      },
    };
    return withService(foreign, [], () => ({
      changes: { mode: "triggers" },
      subscribe: { maxPerUser: 1_000, maxPerAddress: 1_000 },
      resources: found.map((table) =>
        resource<Record<string, unknown>, unknown>(table, {
          id: "id",
          ...policy,
          fields: { readable: ["id", ...names] },
          softDelete: { field: "deleted_at" },
        })
      ),
    }), (service) => requireSame(service, engine.name, shorter));
  },
);

/** There the long integers are numbers, and those of a JSON have 53 bits. */
function shorter<T>(row: T): T | { readonly far: number } {
  const far = typeof row === "object" && row !== null && "far" in row ? row.far : null;
  return typeof far === "string"
    ? { ...row, far: far.length < 9 ? Number(far) : 2 ** 53 - 1 }
    : row;
}

/** Writes, and at each quiet moment compares the last events of streams with new queries. */
async function requireSame(
  service: Service,
  engine: string,
  toBody: (row: unknown) => unknown,
): Promise<void> {
  const { db, observations } = service;
  const rows = fc.sample(fc.record(values), { seed, numRuns: 12 });
  await insertRows(db, trips, rows.map((row, index) => ({ ...row, id: 2 * index + 1 })));
  const user = { "x-user": "ada" };
  const asUser: Service = {
    ...service,
    send: (method, path, body) => service.send(method, path, toBody(body), user),
  };
  const questions = fc.sample(question, { seed, numRuns: repeats(engine === "pglite" ? 20 : 40) });
  const subscribed = [];
  for (const query of questions) {
    const stream = await service.subscribe(`/api/trips/aggregate/subscribe?${query}`, user);
    subscribed.push({ query, stream, last: "" });
  }
  const steps = fc.sample(fc.array(write, { minLength: 1, maxLength: 5 }), { seed, numRuns: 25 });
  for (const writes of [[], ...steps]) {
    for (const one of writes) await perform(one, asUser);
    for (const one of subscribed) {
      const { status, body } = await service.get(`/api/trips/aggregate?${one.query}`, user);
      assertEquals(status, 200, one.query);
      one.last = await untilSame(one.last, JSON.stringify(body), one.stream).catch((cause) => {
        throw new Error(`${one.query} after ${JSON.stringify(writes)}`, { cause });
      });
    }
  }
  const expected = ["notice", "value_does_not_fit", "deprecated"];
  assertEquals(observations.filter(({ kind }) => !expected.includes(kind)), []);
  for (const { stream } of subscribed) await stream.close();
}
