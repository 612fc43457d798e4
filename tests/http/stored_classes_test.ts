import { assertEquals } from "@std/assert";
import { all, resource } from "../../mod.ts";
import type { ColumnInfo, TableInfo } from "../../exports/schema.ts";
import { type Engine, engines } from "../support/engines.ts";
import { type Service, withService } from "../support/http.ts";
import { run, runScript } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

/** A declared type, values that are typical of it, and literals of filters with their SQL. */
interface Declared {
  readonly type: string;
  readonly typical: readonly [string, string];
  readonly literals: Readonly<Record<string, string>>;
  /** Whether rows can be ordered by it while its typical values decide. */
  readonly isUnordered?: true;
}

const [low, high] = [
  "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
  "b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
] as const;
const upper = low.toUpperCase();

const declared: readonly Declared[] = [
  { type: "BOOLEAN", typical: ["1", "0"], literals: { true: "1" } },
  { type: "BOOLEAN", typical: ["'t'", "'f'"], literals: {} },
  {
    type: "DATETIME",
    typical: ["'2024-01-05 10:00:00'", "'2024-02-05 10:00:00.500'"],
    literals: { "2024-01-05T09:00:00Z": "'2024-01-05 09:00:00'" },
  },
  {
    type: "TIMESTAMP",
    typical: ["1704448800", "1704448900"],
    literals: { "2024-01-05T10:00:00Z": "1704448800" },
  },
  {
    type: "DATE",
    typical: ["'2024-01-05'", "'2024-03-05'"],
    literals: { "2024-01-05": "'2024-01-05'" },
  },
  {
    type: "UUID",
    typical: [`'${low}'`, `'${high}'`],
    literals: { [low]: `'${low}'`, [upper]: `'${upper}'` },
  },
  { type: "JSON", typical: ["'{\"a\":1}'", "'[1]'"], literals: {}, isUnordered: true },
  { type: "DECIMAL(8,2)", typical: ["1.25", "12"], literals: { "5": "5", "12.00": "12" } },
  { type: "NUMERIC", typical: ["'a'", "'b'"], literals: { "5": "5", '"a"': "'a'" } },
  { type: "INTEGER", typical: ["3", "7"], literals: { "5": "5" } },
  {
    type: "INTEGER",
    typical: ["'a'", "'b'"],
    literals: { "5": "5", "9007199254740993": "9007199254740993" },
  },
  { type: "REAL", typical: ["1.5", "2"], literals: { "2.5": "2.5" } },
  { type: "FLOATING POINT", typical: ["1.5", "2"], literals: { "2.5": "2.5" } },
  { type: "DECIMAL_TEXT", typical: ["1", "2"], literals: { "5": "5" } },
  { type: "TEXT", typical: ["'a'", "'b'"], literals: { a: "'a'", '"5"': "'5'", '""': "''" } },
  { type: "TEXT", typical: ["x''", "x''"], literals: { a: "'a'", '""': "''" } },
  { type: "BLOB", typical: ["x'61'", "x'62'"], literals: {}, isUnordered: true },
];

/** One of each storage class, and several forms of what the declared types mean. */
const stored = [
  ...["0", "1", "5", "1704448900", "9007199254740993", "2.5", "-1.5", "9e999", "NULL"],
  ...["'n/a'", "'5'", "'A'", "'a'", "''", "'true'", "'1.0'", "'{'", "'[5]'", `'${upper}'`],
  ...["'2024-01-05'", "'2024-01-05 09:00:00'", "'2024-01-05T10:00:00+02:00'", "x''", "x'61'"],
];
const operators = { "==": "=", "!=": "<>", ">": ">", "<=": "<=" };

const moments = {
  "never": (_: Odd) => Promise.resolve(),
  "in the first rows": ({ addStored, addTypical }: Odd) => addStored().then(() => addTypical(30)),
  "after row 200": ({ addStored, addTypical }: Odd) => addTypical(202).then(addStored),
  "while it runs": ({ addTypical }: Odd) => addTypical(4),
  "in an empty table": (_: Odd) => Promise.resolve(),
} as const;

interface Odd {
  addStored(): Promise<void>;
  addTypical(count: number): Promise<void>;
}

for (const engine of engines.filter(({ name }) => name.includes("sqlite"))) {
  for (const [moment, begin] of Object.entries(moments)) {
    testUnless(
      engine.ignore ?? null,
      `${engine.name}: lists compare as SQLite does, with values of every class ${moment}`,
      () =>
        withStored(engine, begin, async (service) => {
          if (/while|empty/.test(moment)) await service.addStored();
          for (const index of declared.keys()) await requireLikeSql(service, index);
        }),
    );
  }

  testUnless(
    engine.ignore ?? null,
    `${engine.name}: streams have the rows of lists, with values of every class`,
    () => withStored(engine, moments["while it runs"], requireLikeLists),
  );

  testUnless(
    engine.ignore ?? null,
    `${engine.name}: what a timestamp column holds in another form is compared as it is stored`,
    () =>
      withStored(engine, moments["while it runs"], async ({ get, db }) => {
        await run(db, "INSERT INTO t (id, c2) VALUES (90, '2024-01-05T12:00:00+02:00'), (91, 5)");
        const { body: { items } } = await get("/api/t?select=id,c2&filter=id>=90&orderBy=c2");
        assertEquals(items, [{ id: 91, c2: 5 }, { id: 90, c2: "2024-01-05T10:00:00.000Z" }]);
        // A number in a filter is a moment, in milliseconds.
        const found = await get("/api/t?select=id&filter=c2==5,c2>2024-01-05T10:00:00Z;id>=90");
        assertEquals(found.body.items, [{ id: 90 }]);
      }),
  );
}

type StoredService = Service & Odd & { readonly table: TableInfo };

async function requireLikeSql({ get, db, table }: StoredService, index: number): Promise<void> {
  const column = `c${index}`;
  const { type, literals } = declared[index]!;
  const { kind, databaseType } = table.columns[index + 1]!;
  const label = `${type} ${declared[index]!.typical}, ${databaseType?.shape.kind ?? kind}`;
  const idsOf = async (rest: string) =>
    (await run(db, `SELECT id FROM t ${rest}`)).rows.map(([id]) => Number(id));
  const listed = async (query: Record<string, string>) => {
    const params = new URLSearchParams({ limit: "1000", select: "id", ...query });
    const { status, body } = await get(`/api/t?${params}`);
    assertEquals(status, 200, `${label} ${JSON.stringify([query, body])}`);
    return body.items.map(({ id }: { readonly id: number }) => id);
  };
  // What SQLite decides of a column of bytes or documents has no operator.
  if (kind === "json" || kind === "bytes") {
    assertEquals((await get(`/api/t?orderBy=${column}`)).status, 400);
    return;
  }
  for (const [orderBy, direction] of [[column, ""], [`-${column}`, "DESC"]] as const) {
    const order = await idsOf(`ORDER BY ${column} ${direction} NULLS LAST, id`);
    assertEquals(await listed({ orderBy }), order, label);
    assertEquals(await walked(get, orderBy, order.length > 100 ? 9 : 1), order, label);
  }
  for (const [literal, sql] of Object.entries(literals)) {
    for (const [operator, sign] of Object.entries(operators)) {
      if (kind === "boolean" && operator !== "==" && operator !== "!=") continue;
      const filter = `${column}${operator}${literal}`;
      const want = await idsOf(`WHERE ${column} ${sign} ${sql} ORDER BY id`);
      if (!takes(declared[index]!, table.columns[index + 1]!, literal)) continue;
      assertEquals(await listed({ filter, orderBy: "id" }), want, `${label} ${filter}`);
    }
  }
  const { body } = await get(
    `/api/t/aggregate?groupBy=${column}&count=true&orderBy=${column}&limit=1000`,
  );
  const groups = `SELECT count(*) FROM t GROUP BY ${column} ORDER BY ${column} NULLS LAST`;
  assertEquals(
    body.groups.map((group: { readonly count: number }) => group.count),
    (await run(db, groups)).rows.map(([count]) => Number(count)),
    label,
  );
  const [extremes] = (await get(`/api/t/aggregate?min=${column}&max=${column}`)).body.groups;
  for (const name of ["min", "max"]) {
    const ids = await idsOf(`WHERE ${column} = (SELECT ${name}(${column}) FROM t)`);
    const shown = ids.length === 0
      ? [null]
      : (await get(`/api/t?limit=1000&select=${column}&filter=id=in=(${ids})`)).body.items.map(
        (row: Record<string, unknown>) => row[column],
      );
    assertEquals(shown.includes(extremes[name][column]), true, `${label} ${name}`);
  }
}

/** Whether a literal has the meaning of the SQL: for another kind it is a text, or refused. */
function takes({ type }: Declared, column: ColumnInfo, literal: string): boolean {
  const isAny = column.databaseType !== undefined;
  if (literal.startsWith('"')) return isAny || column.kind === "text";
  if (type === "TIMESTAMP") return column.timestampFormat === "epoch-seconds";
  return type === "DATETIME" ? column.kind === "timestamp" : type !== "BOOLEAN" || !isAny;
}

async function requireLikeLists(service: StoredService): Promise<void> {
  const { db, get, subscribe, addStored, table } = service;
  const alive = setInterval(() => {}, 60_000);
  const streams = [];
  for (const [index, { literals }] of declared.entries()) {
    const isBoolean = table.columns[index + 1]!.kind === "boolean";
    for (const literal of Object.keys(literals)) {
      if (!takes(declared[index]!, table.columns[index + 1]!, literal)) continue;
      for (const operator of Object.keys(operators).slice(0, isBoolean ? 2 : 4)) {
        // The last row ends each stream.
        const filter = encodeURIComponent(`c${index}${operator}${literal},id==999`);
        const user = { "x-user": `u${streams.length}` };
        const stream = await subscribe(`/api/t/subscribe?select=id&filter=${filter}`, user);
        const [synced] = await stream.untilSynced();
        streams.push({ filter, stream, rows: new Set(idsIn(synced?.data.items)) });
      }
    }
  }
  await addStored();
  for (const id of stored.keys()) {
    if (id % 3 > 0) continue;
    const next = stored[(id + 7) % stored.length];
    const set = declared.map((_, index) => `c${index} = ${next}`);
    await run(db, `UPDATE t SET ${set.join(", ")} WHERE id = ${id + 5}`);
  }
  await run(db, "INSERT INTO t (id) VALUES (999)");
  for (const { filter, stream, rows } of streams) {
    while (!rows.has(999)) {
      const [event] = await stream.take(1);
      if (event?.type === "removed") rows.delete(event.data.id);
      else rows.add(event?.data.item.id);
    }
    const { body } = await get(`/api/t?limit=1000&select=id&orderBy=id&filter=${filter}`);
    assertEquals([...rows].sort((a, b) => a - b), idsIn(body.items), decodeURIComponent(filter));
  }
  clearInterval(alive);
  for (const { stream } of streams) await stream.close();
}

function idsIn(items: readonly { readonly id: number }[]): readonly number[] {
  return items.map(({ id }) => id);
}

async function walked(
  get: Service["get"],
  orderBy: string,
  limit: number,
): Promise<readonly number[]> {
  const ids: number[] = [];
  for (let cursor = "";;) {
    const { body } = await get(
      `/api/t?select=id&limit=${limit}&orderBy=${orderBy}&cursor=${cursor}`,
    );
    ids.push(...idsIn(body.items));
    if (body.nextCursor === null) return ids;
    cursor = body.nextCursor;
  }
}

async function withStored(
  engine: Engine,
  begin: (odd: Odd) => Promise<void>,
  work: (service: StoredService) => Promise<void>,
): Promise<void> {
  const db = await engine.open();
  const columns = declared.map(({ type }, index) => `c${index} ${type}`);
  await runScript(db.driver, `CREATE TABLE t (id INTEGER PRIMARY KEY, ${columns.join(", ")})`);
  const insert = async (valueOf: (one: Declared) => string | undefined) => {
    await run(db, `INSERT INTO t VALUES (NULL, ${declared.map(valueOf).join(", ")})`);
  };
  const odd: Odd = {
    addStored: async () => {
      for (const value of stored) await insert(() => value);
    },
    addTypical: async (count) => {
      for (let row = 0; row < count; row++) await insert(({ typical }) => typical[row % 2]);
    },
  };
  await begin(odd);
  const { tables: [table] } = await db.introspect();
  if (table === undefined) throw new Error("The table is served");
  await withService(
    { ...engine, open: () => Promise.resolve(db) },
    [],
    () => ({
      changes: { mode: "triggers" },
      subscribe: { maxPerAddress: 1_000 },
      resources: [
        resource(table, {
          id: ["id"],
          auth: { public: { read: true, subscribe: true }, create: () => all() },
          pagination: { maxLimit: 1_000 },
        }),
      ],
    }),
    (service) => work({ ...service, ...odd, table }),
  );
}
