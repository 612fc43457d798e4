import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { createClient, type LiveList, liveList } from "../../../exports/client.ts";
import { resource } from "../../../src/resource/define/resource_definition.ts";
import type { Engine } from "../../support/engines.ts";
import { type Service, testOnDialects, withService } from "../../support/http.ts";
import { run, runScript } from "../../support/scratch.ts";
import { fastEnvironment } from "../support/fast_environment.ts";
import { until } from "../support/until.ts";

/** The types of columns, each with literals of its values. */
type Columns = readonly (readonly [type: string, literals: readonly string[]])[];

const whole = fc.sample(
  fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.bigInt({ min: -3n, max: 3n }).map((near) => 2n ** 53n + near),
    fc.bigInt({ min: -3n, max: 3n }).map((near) => near - 2n ** 53n),
    fc.bigInt({ min: -20n, max: 20n }),
  ),
  { numRuns: 40, seed: 36 },
).map(String);
const doubles = fc.sample(fc.double({ noNaN: true, noDefaultInfinity: true }), {
  numRuns: 20,
  seed: 36,
}).concat([0.1, 2, -2, 9007199254740992]).map(String);
const decimals = whole.flatMap((one, index) => [one, `${one}.${index}`]);
const infinite = ["'Infinity'", "'-Infinity'", "'NaN'"];
/** The double that is next to each is infinite, or 0. */
const beyondDoubles = ["1e309", "1e309 + 0.1", "-1e309", "-1e400", "1e131071", "1e131071 + 1"]
  .concat(["1e-400", "2e-400", "-1e-400"]);
const years = ["infinity", "-infinity", "2024-01-05", "9999-12-31", "0001-01-01"];
const hours = ["10:00:00", "10:00:00.5", "10:00:00.25", "09:59:59.999999"];
const strings = ["a", "B", "", "😀", "\uffff", "5", "-1.5", "Infinity", "NaN", "ab"]
  .map((one) => `'${one}'`);

const postgres: Columns = [
  ["integer", ["1", "-1", "2147483647", "0"]],
  ["bigint", whole],
  ["numeric", [...decimals, ...infinite, "1e300", "-1e300", "1e-40", ...beyondDoubles]],
  ["numeric(30,3)", decimals],
  ["double precision", [...doubles, ...infinite]],
  ["real", ["1.5", "-1.5", ...infinite]],
  ['text COLLATE "C"', strings],
  ["boolean", ["true", "false"]],
  ["date", years.map((day) => `'${day}'`)],
  ["timestamptz", years.flatMap((day) => moments(day))],
  ["timestamp", years.flatMap((day) => moments(day))],
  ["uuid", ["gen_random_uuid()"]],
  ["mood", ["'sad'", "'happy'", "'fine'"]],
];

/** Of every class that SQLite stores whatever the declared type is. */
const foreign = ["9e999", "-9e999", "'n/a'", "'x'", "''", "2.5", "-7", "9007199254740993"];

const sqlite: Columns = [
  ["INTEGER", [...whole, ...foreign]],
  ["BIGINT", [...whole, ...foreign]],
  ["DECIMAL(30,3)", [...whole, "1.5", "0.1", "-0.1", "1e300", ...foreign]],
  ["REAL", [...doubles, ...foreign]],
  ["INTEGER_OR_ANY", [...whole, ...doubles, ...strings.slice(0, 5), "9e999", "-9e999"]],
  ["FLOATING POINT", [...whole, ...doubles, "'n/a'", "'5x'", "9e999"]],
  ["TEXT", strings],
  ["BOOLEAN", ["0", "1", "5", "'n/a'"]],
  ["DATE", ["'2024-01-05'", "'2023-01-05'", "'n/a'", "''", "7"]],
  ["DATETIME", ["'2024-01-05 10:00:00'", "'2024-01-05 10:00:00.500'", "7"]],
];

function moments(day: string): readonly string[] {
  return day.endsWith("y") ? [`'${day}'`] : hours.map((hour) => `'${day} ${hour}Z'`);
}

testOnDialects(
  "live lists have the order of lists, whatever the columns hold",
  (engine) =>
    withColumns(engine, async ({ app, db }, columns) => {
      const api = createClient<Api>({
        baseUrl: "http://test",
        environment: fastEnvironment(20),
        fetch: (request) => app.fetch(request),
      });
      const orders = columns.flatMap((_, index) => [`c${index}`, `-c${index}`]);
      const open = (): readonly LiveList<Row>[] =>
        orders.map((order) => liveList(api.t, { orderBy: [order as "c0"] }));
      const early = open();
      const leave = early.map((list) => list.subscribe(() => {}));
      const wrong: string[] = [];
      try {
        for (const list of early) await until(list, ({ status }) => status === "live");
        const count = Math.max(...columns.map(([, literals]) => literals.length));
        for (let id = 1; id <= count; id++) {
          // Some rows have nothing, and pools begin at different rows.
          const values = columns.map(([, literals], index) =>
            (id + index) % 17 === 0 ? "NULL" : literals[(id * 7 + index) % literals.length]
          );
          await run(db, `INSERT INTO t VALUES (${id}, ${values.join(", ")})`);
        }
        const late = open();
        leave.push(...late.map((list) => list.subscribe(() => {})));
        for (const [index, order] of orders.entries()) {
          const listed = await api.t.list({ orderBy: [order as "c0"], limit: 1_000 });
          for (const list of [early[index]!, late[index]!]) {
            const { items } = await until(list, (shown) => shown.items.length === count);
            const shown = (rows: readonly Row[]) =>
              rows.map((row) => [row.id, row[order.replace("-", "")]]);
            try {
              assertEquals(shown(items), shown(listed.items));
            } catch (error) {
              wrong.push(`${columns[index >> 1]![0]} ${order}: ${error}`);
            }
          }
        }
      } finally {
        for (const end of leave) end();
      }
      assertEquals(wrong, []);
    }),
);

type Row = { readonly id: number } & Record<string, unknown>;

interface Api {
  t: {
    path: "/api/t";
    key: number;
    row: Row;
    create: never;
    update: never;
    relations: Record<never, never>;
    etag: false;
    procedures: Record<never, never>;
  };
}

async function withColumns(
  engine: Engine,
  work: (service: Service, columns: Columns) => Promise<void>,
): Promise<void> {
  const db = await engine.open();
  const columns = engine.name.includes("sqlite") ? sqlite : postgres;
  if (columns === postgres) {
    await runScript(db.driver, "CREATE TYPE mood AS ENUM ('sad', 'fine', 'happy')");
  }
  const defined = columns.map(([type], index) => `c${index} ${type}`);
  await runScript(db.driver, `CREATE TABLE t (id INTEGER PRIMARY KEY, ${defined.join(", ")})`);
  const { tables: [table] } = await db.introspect();
  if (table === undefined) throw new Error("The table is served");
  await withService({ ...engine, open: () => Promise.resolve(db) }, [], () => ({
    changes: { mode: "triggers" },
    // A hundred streams that start at once may keep a busy machine longer than usual.
    queryTimeoutMs: 60_000,
    subscribe: { maxPerAddress: 1_000 },
    resources: [
      resource(table, {
        id: ["id"],
        auth: { public: { read: true, subscribe: true } },
        pagination: { maxLimit: 1_000 },
      }),
    ],
  }), (service) => work(service, columns));
}
