import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { resource } from "../../src/resource/define/resource_definition.ts";
import {
  boolean,
  date,
  decimal,
  integer,
  json,
  real,
  text,
} from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import type { Engine } from "../../src/sql/dialect.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";
import { repeats } from "../support/repeats.ts";

const trips = table("trips", {
  id: integer().primaryKey(),
  city: text(),
  paid: boolean(),
  day: date(),
  size: integer(),
  fare: decimal({ precision: 9, scale: 2 }),
  speed: real(),
  notes: json(),
  secret: text().notNull(),
});
const readable = [
  ...[trips.id, trips.city, trips.paid, trips.day, trips.size, trips.fare],
  ...[trips.speed, trips.notes],
];

// A failure is found again by `SEED=… deno task test tests/invariants`.
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1);

const cities = ["Oslo", "oslo", "Łódź", "", "a'b", "👍"];
const days = ["2024-01-01", "2024-02-29", "1999-12-31"];

const trip = fc.record({
  city: fc.option(fc.constantFrom(...cities), { freq: 6 }),
  paid: fc.option(fc.boolean()),
  day: fc.option(fc.constantFrom(...days)),
  size: fc.option(fc.integer({ min: -3, max: 6 })),
  fare: fc.option(fc.integer({ min: -400, max: 400 }).map((cents) => (cents / 100).toFixed(2))),
  speed: fc.option(fc.double({ min: -1e6, max: 1e6, noNaN: true })),
});

/** The same condition for the service and, by hand, for SQL. */
interface Condition {
  readonly asked: string;
  readonly sql: (engine: Engine) => string;
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
const either = (asked: string, sql: string): Condition => ({ asked, sql: () => sql });

const rowCondition: fc.Arbitrary<Condition> = fc.oneof(
  fc.integer({ min: -3, max: 6 }).map((n) => either(`size>=${n}`, `size >= ${n}`)),
  fc.constantFrom(...cities).map((city) => either(`city=="${city}"`, `city = ${quoted(city)}`)),
  fc.constantFrom(...days).map((day) => either(`day!=${day}`, `day <> ${quoted(day)}`)),
  fc.constant(either("fare==null", "fare IS NULL")),
  fc.constant(either("speed<0", "speed < 0")),
);

/** On SQLite in whole cents, because its own sum adds doubles. */
const fares = (engine: Engine) =>
  engine === "sqlite" ? "sum(CAST(round(fare * 100) AS INTEGER))" : "sum(fare) * 100";

const groupCondition: fc.Arbitrary<Condition> = fc.oneof(
  fc.integer({ min: 0, max: 9 }).map((n) => either(`count>${n}`, `count(*) > ${n}`)),
  fc.integer({ min: -5, max: 30 }).map((n) => either(`sum_size<=${n}`, `sum(size) <= ${n}`)),
  fc.integer({ min: -800, max: 800 }).map((cents): Condition => ({
    asked: `sum_fare>=${(cents / 100).toFixed(2)}`,
    sql: (engine) => `${fares(engine)} >= ${cents}`,
  })),
  fc.integer({ min: -8, max: 20 }).map((n) =>
    either(`avg_size>${n / 4}`, `sum(size) * 1.0 / count(size) > ${n / 4}`)
  ),
  fc.constantFrom(...cities).map((city) =>
    either(`min_city!="${city}"`, `min(city) <> ${quoted(city)}`)
  ),
  fc.constantFrom(...days).map((day) => either(`max_day=in=(${day})`, `max(day) = ${quoted(day)}`)),
  fc.constant(either("max_fare==null", "max(fare) IS NULL")),
);

const joined = (one: fc.Arbitrary<Condition>): fc.Arbitrary<Condition | null> =>
  fc.option(fc.oneof(
    one,
    fc.tuple(one, one, fc.boolean()).map(([left, right, isAnd]): Condition => ({
      asked: `${left.asked}${isAnd ? ";" : ","}${right.asked}`,
      sql: (engine) => `(${left.sql(engine)} ${isAnd ? "AND" : "OR"} ${right.sql(engine)})`,
    })),
  ));

const keyNames = ["city", "paid", "day", "size", "fare"] as const;

const question = fc.record({
  keys: fc.subarray([...keyNames], { maxLength: 3 }),
  filter: joined(rowCondition),
  having: joined(groupCondition),
  order: fc.option(fc.constantFrom(
    ["-count", "count(*) DESC"] as const,
    ["sum_size", "sum(size) NULLS LAST"] as const,
    ["max_day:desc", "max(day) DESC NULLS LAST"] as const,
  )),
  limit: fc.constantFrom(1, 3, 1000),
});

/** The cells of a group in one form for both sides: texts, but for reals. */
function shownCells(group: Group, keys: readonly string[]): readonly unknown[] {
  return [
    ...keys.map((name) => group.key?.[name] ?? null),
    ...[group.count, group.sum.size, group.sum.fare, group.min.city, group.max.day],
    ...[group.min.paid, group.max.paid, group.min.fare],
  ].map((cell) => cell === null ? null : String(cell));
}

interface Group {
  readonly key: Readonly<Record<string, unknown>> | null;
  readonly count: number;
  readonly sum: Readonly<Record<"size" | "fare" | "speed", unknown>>;
  readonly min: Readonly<Record<"city" | "paid" | "fare", unknown>>;
  readonly max: Readonly<Record<"day" | "paid", unknown>>;
}

const metrics = "count=true&sum=size,fare,speed&min=city,paid,fare&max=day,paid";

function handWritten(
  { keys, filter, having, order, limit }: Question,
  engine: Engine,
): string {
  const isPostgres = engine === "postgres";
  const texts = (name: string) => {
    if (name === "paid") {
      return isPostgres ? "paid::text" : "CASE paid WHEN 1 THEN 'true' WHEN 0 THEN 'false' END";
    }
    if (name === "fare") return isPostgres ? "fare::text" : "printf('%.2f', fare)";
    return isPostgres ? `${name}::text` : `CAST(${name} AS TEXT)`;
  };
  const flag = (name: "min" | "max") => isPostgres ? `${name}(paid::int)` : `${name}(paid)`;
  const cents = fares(engine);
  const columns = [
    ...keys.map((name) =>
      name === "fare" ? `CASE WHEN fare IS NOT NULL THEN ${texts(name)} END` : texts(name)
    ),
    ...["count(*)", "sum(size)", cents, "min(city)", "max(day)"],
    ...[flag("min"), flag("max"), "min(fare)", "sum(speed)"],
  ];
  return `SELECT ${columns.join(", ")} FROM trips
    WHERE ${filter?.sql(engine) ?? "1=1"}
    ${keys.length === 0 ? "" : `GROUP BY ${keys.join(", ")}`}
    HAVING ${having?.sql(engine) ?? "count(*) >= 0"}
    ORDER BY ${
    [...(order === null ? [] : [order[1]]), ...keys.map((key) => `trips.${key} NULLS LAST`), "1"]
      .join(
        ", ",
      )
  }
    LIMIT ${limit}`;
}

type Question = typeof question extends fc.Arbitrary<infer Value> ? Value : never;

const hundredths = (value: unknown) =>
  value === null ? null : (Math.round(Number(value)) / 100).toFixed(2);
const truth = (value: unknown) => value === null ? null : String(Number(value) === 1);
const orNull = (value: unknown) => value === null ? null : String(value);

function sqlCells(row: readonly unknown[], keys: readonly string[]): readonly unknown[] {
  const [count, size, cents, city, day, least, greatest, fare] = row.slice(keys.length);
  return [
    ...row.slice(0, keys.length).map(orNull),
    ...[orNull(count), orNull(size), hundredths(cents), orNull(city), orNull(day)],
    ...[truth(least), truth(greatest), fare === null ? null : Number(fare).toFixed(2)],
  ];
}

async function withTrips(
  engine: Parameters<Parameters<typeof testOnEngines>[1]>[0],
  work: (service: Service) => Promise<void>,
): Promise<void> {
  await withService(engine, [trips], () => ({
    resources: [resource(trips, { id: trips.id, auth: { public: true }, fields: { readable } })],
  }), async (service) => {
    const rows = fc.sample(trip, { seed, numRuns: 150 });
    await insertRows(
      service.db,
      trips,
      rows.map((row, id) => ({ ...row, id, notes: null, secret: `xyzzy-${id}` })),
    );
    await work(service);
  });
}

testOnEngines(
  `aggregates answer what hand-written SQL does, seed ${seed}`,
  (engine) =>
    withTrips(engine, async ({ db, get }) => {
      const property = fc.asyncProperty(question, async (asked) => {
        const { keys, filter, having, order, limit } = asked;
        const query = new URLSearchParams({
          groupBy: keys.join(),
          limit: String(limit),
          ...(filter === null ? {} : { filter: filter.asked }),
          ...(having === null ? {} : { having: having.asked }),
          ...(order === null ? {} : { orderBy: order[0] }),
        });
        const { status, body } = await get(`/api/trips/aggregate?${metrics}&${query}`);
        const text = handWritten(asked, db.dialect.engine);
        const { rows } = await db.driver.query({ text, values: [] });
        assertEquals(status, 200, `${query}`);
        const groups: readonly Group[] = body.groups;
        assertEquals(
          groups.map((group) => shownCells(group, keys)),
          rows.map((row) => sqlCells(row, keys)),
          `${query} ${text}`,
        );
        for (const [index, { sum }] of groups.entries()) {
          // Doubles, which each engine adds in an order and a way of its own.
          const speed = rows[index]?.at(-1) ?? null;
          assertEquals(sum.speed === null, speed === null);
          assert(Math.abs(Number(sum.speed) - Number(speed)) < 1e-3, `${sum.speed} ${speed}`);
        }
      });
      await fc.assert(property, { seed, numRuns: repeats(engine.name === "pglite" ? 150 : 400) });
    }),
);

/** Words that a caller may put anywhere. */
const word = fc.constantFrom(
  ...["city", "paid", "day", "size", "fare", "speed", "notes", "secret", "count", "sum_size"],
  ...["avg_fare", "min_city", "max_notes", "sum_secret", "true", "false", "null", "", " ", "-"],
  ...["id", "__proto__", "constructor", "1", "1e400", "1e9", "-1", "99999999999999999999", "0.1"],
  ...["==", ">", ";", ",", "(", ")", ":desc", ":asc", "=in=", "=contains=", "=isnull=", "%=", '"'],
  ...["count>1", "sum_fare==0.10", "max_day>2024-01-01", "min_paid==true", "\u0000", "👍", "key0"],
);
const parameters = ["groupBy", "count", "sum", "avg", "min", "max", "having", "orderBy", "limit"];

testOnEngines(
  `whatever the parameters hold, an aggregate is 200 or 400, seed ${seed}`,
  (engine) =>
    withTrips(engine, async ({ get }) => {
      const value = fc.oneof(
        { weight: 2, arbitrary: fc.subarray([...keyNames, "speed"]).map((names) => names.join()) },
        fc.array(word, { maxLength: 4 }).map((words) => words.join("")),
        fc.array(word, { maxLength: 3 }).map((words) => words.join()),
        fc.string({ unit: "binary", maxLength: 8 }),
      );
      const query = fc.dictionary(fc.constantFrom(...parameters, "filter"), value, {
        maxKeys: 5,
        noNullPrototype: true,
      });
      const statuses = new Map<number, number>();
      const property = fc.asyncProperty(query, async (asked) => {
        const text = Object.entries(asked)
          .map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`).join("&");
        const { status } = await get(`/api/trips/aggregate?${text}`);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        assertEquals(status === 200 || status === 400, true, `${status} for ${text}`);
      });
      await fc.assert(property, { seed, numRuns: repeats(engine.name === "pglite" ? 300 : 1_500) });
      assertEquals([...statuses.keys()].sort(), [200, 400]);
    }),
);
