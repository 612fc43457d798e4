import { assertEquals } from "@std/assert";
import {
  all,
  createApp,
  type Database,
  resource,
  type ResourceDefinition,
  type ResourceOptions,
} from "../../mod.ts";
import type { Observation } from "../../exports/runtime.ts";
import type { TableInfo } from "../../exports/schema.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { quoteIdentifier as quoted } from "../../src/sql/fragment.ts";
import { type EventStream, openEventStream } from "../support/event_stream.ts";
import { testOnDialects } from "../support/http.ts";
import { run } from "../support/scratch.ts";
import { root, sourceFiles } from "../repository/module_graph.ts";
import { aliasesOf, sqlKeywords, systemColumns } from "./column_names.ts";

const letters = Array.from("abcdefghijklmnopqrstuvwxyz");
const shortNames = [...letters, ...letters.flatMap((one) => letters.map((two) => one + two))];
const sources = (...folders: readonly string[]) =>
  folders.flatMap(sourceFiles).map((file) => Deno.readTextFileSync(root + file));
const aliases = aliasesOf(sources("src/sql", "src/compile", "src/db", "src/live", "src/resource"))
  .filter((name) => !systemColumns.has(name));
/** Names in statements that read rows of a table; single letters only where they are in use. */
const nearAliases = [...aliasesOf(sources("src/sql", "src/compile")), "recorded", "w", "r", "at"];
/** The last are names that every table of SQLite has. */
const names = [...new Set([...shortNames, ...aliases, ...sqlKeywords, "rowid", "_rowid_"])];

/** How changes are recorded. */
type Mode = "triggers" | "service";

for (const mode of ["triggers", "service"] as const) {
  testOnDialects(
    `no name of a column shadows an alias of a statement, by ${mode}`,
    async (engine) => {
      const wide = chunks(names, 250).map((columns, index): World => ({
        ...{ prefix: `w${index}`, own: "the key", near: "the near", columns },
      }));
      await withWorlds(await engine.open(), wide, mode);
    },
  );

  testOnDialects(`nor does a key, by ${mode}`, async (engine) => {
    const keyed = nearAliases.map((name, index): World => ({
      ...{ prefix: `k${index}`, own: name, near: name },
      columns: ["number", "words"].filter((column) => column !== name),
    }));
    await withWorlds(await engine.open(), keyed, mode);
  });
}

/** Parents with children, and labels that are linked to the children. */
interface World {
  readonly prefix: string;
  /** The key of all tables but the links. */
  readonly own: string;
  /** The link's column that leads to the child. */
  readonly near: string;
  /** The other columns of each table: a number, a text, a number, … */
  readonly columns: readonly string[];
}

const parent = "the parent";
const far = "the far";

async function createTables({ prefix, own, near, columns }: World, db: Database): Promise<void> {
  const data = columns.map((name, index) =>
    `${quoted(name)} ${isNumber(index) ? "INTEGER" : "VARCHAR(90)"}`
  );
  const refers = (column: string, table: string) =>
    `${quoted(column)} INTEGER REFERENCES "${prefix}${table}"`;
  const create = (table: string, keys: readonly string[], ...constraints: readonly string[]) =>
    run(db, `CREATE TABLE "${prefix}${table}" (${[...keys, ...data, ...constraints].join(", ")})`);
  const key = `${quoted(own)} INTEGER PRIMARY KEY`;
  await create("parents", [key]);
  await create("children", [key, refers(parent, "parents")]);
  await create("labels", [key]);
  await create(
    "links",
    [refers(near, "children"), refers(far, "labels")],
    `PRIMARY KEY (${quoted(near)}, ${quoted(far)})`,
  );
}

function isNumber(index: number): boolean {
  return index % 2 === 0;
}

type Options = ResourceOptions<Row>;

function definitionsOf({ prefix, near }: World, found: ReadonlyMap<string, TableInfo>) {
  const table = (name: string): TableInfo => {
    const info = found.get(prefix + name);
    if (info === undefined) throw new Error(`There is no table ${prefix}${name}`);
    return info;
  };
  const [parents, children, labels, links] = ["parents", "children", "labels", "links"].map(table);
  if (!parents || !children || !labels || !links) throw new Error("A table is missing");
  const serve = (info: TableInfo, relations: Options["relations"] = {}): ResourceDefinition => {
    const options: Options = {
      id: info.primaryKey.map(({ name }) => name),
      auth: { public: true, create: all, update: all, delete: all },
      etag: {},
      autoRelations: false,
      relations,
      nestedWrites: Object.keys(relations).length > 0,
    };
    return resource(info, options);
  };
  return [
    serve(parents, {
      children: { type: "hasMany", resource: children, foreignKey: parent, filterable: true },
    }),
    serve(children, {
      parent: { type: "belongsTo", resource: parents, foreignKey: parent, filterable: true },
      labels: {
        ...{ type: "manyToMany", resource: labels, through: links, filterable: true },
        ...{ foreignKey: near, references: far },
      },
    }),
    serve(labels),
    serve(links),
  ];
}

async function withWorlds(
  db: Database,
  worlds: readonly World[],
  mode: Mode,
): Promise<void> {
  const observations: Observation[] = [];
  for (const world of worlds) await createTables(world, db);
  const tables = new Map((await db.introspect()).tables.map((table) => [table.name, table]));
  const app = await createApp({
    db,
    changes: { mode },
    secret: "a secret for the tests only",
    bodyLimit: 10_000_000,
    subscribe: { maxPerAddress: 5_000, maxPerUser: 5_000 },
    runtime: systemRuntime((observation) => observations.push(observation)),
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: worlds.flatMap((world) => definitionsOf(world, tables)),
  });
  // The timers of a service keep no process alive, and streams wait for some.
  const alive = setInterval(() => {}, 1_000);
  try {
    for (const world of worlds) {
      await assertUsable(world, new Client(world.prefix, app.fetch), mode);
    }
  } finally {
    assertEquals(observations.filter(({ kind }) => kind === "request_failed"), []);
    clearInterval(alive);
    await app.close();
    await db.close();
  }
}

// deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
type Json = any;
type Row = Record<string, unknown>;

class Client {
  readonly #prefix: string;
  readonly #fetch: (request: Request) => Promise<Response>;

  constructor(prefix: string, fetch: (request: Request) => Promise<Response>) {
    this.#prefix = prefix;
    this.#fetch = fetch;
  }

  async send(status: number, method: string, path: string, body?: unknown): Promise<Json> {
    const answer = await this.#fetch(
      new Request(this.#url(path), {
        method,
        headers: body === undefined ? {} : { "content-type": "application/json" },
        body: body === undefined ? null : JSON.stringify(body),
      }),
    );
    const text = await answer.text();
    assertEquals([path, method, answer.status], [path, method, status], text.slice(0, 500));
    return text.startsWith("{") ? JSON.parse(text) : text;
  }

  get(path: string, query: Readonly<Record<string, string>> = {}): Promise<Json> {
    const search = Object.entries(query).map(([name, value]) =>
      `${name}=${encodeURIComponent(value)}`
    );
    return this.send(200, "GET", `${path}${search.length === 0 ? "" : `?${search.join("&")}`}`);
  }

  follow(path: string, query: string): Promise<EventStream> {
    const request = (signal: AbortSignal) => new Request(this.#url(`${path}?${query}`), { signal });
    return openEventStream((signal) => this.#fetch(request(signal)), () => {});
  }

  #url(path: string): string {
    return `http://test/api/${this.#prefix}${path}`;
  }
}

async function assertUsable(world: World, client: Client, mode: Mode): Promise<void> {
  await assertWritten(world, client);
  // However changes are recorded, these statements are the same.
  if (mode === "triggers") await assertRead(world, client);
  await assertJoined(world, client);
  if (mode === "triggers") await assertReadThrough(world, client);
  if (world.columns.length > 2) await assertFollowed(world, client);
}

/** A row of requests and answers: each number is `id`, each text `t` and `id`. */
function rowOf({ own, columns }: World, id: number, more: Row = {}): Row {
  return { [own]: id, ...more, ...dataOf(columns, id) };
}

function dataOf(columns: readonly string[], id: number): Row {
  return Object.fromEntries(
    columns.map((name, index) => [name, isNumber(index) ? id : `t${id}`]),
  );
}

/** Leaves parents 1 to 4, of which 4 has the values of 9, so that they differ from its key. */
async function assertWritten(world: World, client: Client): Promise<void> {
  const { own, columns } = world;
  const row = (id: number) => rowOf(world, id);
  assertEquals(await client.send(201, "POST", "parents", row(1)), row(1));
  const batch = { items: [row(2), row(3), row(4)] };
  assertEquals(await client.send(201, "POST", "parents/batch", batch), batch);
  const changed = { ...row(9), [own]: 4 };
  assertEquals(await client.send(200, "PATCH", "parents/4", dataOf(columns, 9)), changed);
  assertEquals(await client.send(200, "PUT", "parents/4", row(4)), row(4));
  const replaced = { items: [{ ...row(8), [own]: 4 }] };
  assertEquals(await client.send(200, "PUT", "parents/batch", replaced), replaced);
  const upserted = { items: [{ ...row(7), [own]: 4 }, row(5), row(6)] };
  assertEquals(await client.send(200, "POST", "parents/batch/upsert", upserted), upserted);
  const patch = { filter: `${own.includes(" ") ? columns[0] : own}==7`, patch: dataOf(columns, 9) };
  await client.send(200, "PATCH", "parents/batch", patch);
  await client.send(204, "DELETE", "parents/5");
  await client.send(200, "DELETE", "parents/batch", { filter: `${columns[0]}==6` });
  await client.send(200, "PATCH", "parents/4", dataOf(columns, 9));
  assertEquals(await client.get("parents/4"), changed);
  const { items } = await client.get("parents");
  assertEquals(items, [row(1), row(2), row(3), changed]);
}

/** `a==1;b==t1`, each name prefixed by `path`. */
function equal(values: Row, path = ""): string {
  return Object.entries(values).map(([name, value]) => `${path}${name}==${value}`).join(";");
}

/** As many at a time as an order may name. */
async function assertRead({ columns, own }: World, client: Client): Promise<void> {
  const values = (names: readonly string[], id: number) =>
    Object.fromEntries(names.map((name) => [name, dataOf(columns, id)[name]]));
  for (const names of chunks(columns, 8)) {
    const [low, high] = [values(names, 1), values(names, 2)];
    const [filter, select] = [equal(high), names.join()];
    const orderBy = names.map((name) => `-${name}`).join();
    assertEquals(await client.get("parents", { filter, orderBy, select }), {
      ...{ items: [high], nextCursor: null, hasMore: false },
    });
    const page = await client.get("parents", { orderBy, select, limit: "3" });
    const { items } = await client.get("parents", { orderBy, select, cursor: page.nextCursor });
    assertEquals(items, [low]);
    const { groups } = await client.get("parents/aggregate", {
      ...{ groupBy: select, count: "true", min: select, max: select, having: "count==1" },
      ...{ filter: `(${filter}),(${equal(low)})`, orderBy: `max_${names[0]}` },
    });
    assertEquals(groups, [low, high].map((key) => ({ key, count: 1, min: key, max: key })));
  }
  assertEquals((await client.get("parents/count")).count, 4);
  const numbers = columns.filter((_name, index) => isNumber(index)).join();
  const sums = await client.get("parents/aggregate", { sum: numbers, avg: numbers });
  assertEquals(new Set(Object.values(sums.groups[0].sum)), new Set([15]));
  assertEquals(new Set(Object.values(sums.groups[0].avg)), new Set([3.75]));
  if (own.includes(" ")) return;
  assertEquals((await client.get("parents", { filter: `${own}=in=(2,3)` })).items.length, 2);
}

/** Children 1 and 2 of the parent 1, embedded, with a label each and one for both. */
async function assertJoined(world: World, client: Client): Promise<void> {
  const { near, columns } = world;
  const row = (id: number, more: Row = {}) => rowOf(world, id, more);
  for (const id of [1, 2, 3]) await client.send(201, "POST", "labels", row(id));
  const child = (id: number) => row(id, { [parent]: 1 });
  for (const id of [1, 2]) {
    const nested = {
      ...child(id),
      labels: [row(id), row(3)].map(({ [world.own]: key }) => ({ [world.own]: key })),
    };
    await client.send(201, "POST", "children", nested);
  }
  const made = row(11, { children: [row(12), row(13)] });
  await client.send(201, "POST", "parents", made);
  await client.send(201, "POST", "children", { ...row(14), parent: row(15) });
  const links = (await client.get("links", { orderBy: `${far},${near}` })).items;
  assertEquals(links.map((link: Row) => [link[near], link[far]]), [[1, 1], [2, 2], [1, 3], [2, 3]]);
  for (const link of links) {
    await client.send(200, "PATCH", `links/${link[near]},${link[far]}`, dataOf(columns, 5));
  }
  const options = `limit:1;orderBy:-${columns[0]}`;
  for (const include of ["parent,labels", `parent,labels(${options})`]) {
    const { items } = await client.get("children", { include, filter: `parent.${columns[0]}==1` });
    assertEquals(items.map((item: Row) => item.parent), [row(1), row(1)]);
    const labels = items.map((item: { labels: Row[] }) =>
      item.labels.map((label) => label[columns[0] ?? ""])
    );
    assertEquals(labels, include === "parent,labels" ? [[1, 3], [2, 3]] : [[3], [3]]);
  }
  for (const include of ["children", `children(${options})`, "children(include:labels)"]) {
    const [first, other] = (await client.get("parents", { include })).items;
    assertEquals([first.children.length, other.children.length], [
      include.includes("limit") ? 1 : 2,
      0,
    ]);
  }
}

/** What is read through relations, as many names at a time as a filter may take. */
async function assertReadThrough({ columns }: World, client: Client): Promise<void> {
  for (const names of chunks(columns, 8)) {
    const label = Object.fromEntries(names.map((name) => [name, dataOf(columns, 2)[name]]));
    const select = names.join();
    const linked = await client.get("children", { filter: equal(label, "labels."), select });
    assertEquals(linked.items, [label]);
    const filter = equal(label, "children.labels.");
    assertEquals((await client.get("parents", { filter, select })).items.length, 1);
  }
}

async function assertFollowed(world: World, client: Client): Promise<void> {
  const { columns, own } = world;
  const [number = "", words = number] = columns;
  // Ranges of introspected texts are evaluated by the database, those of numbers in memory.
  const filter = encodeURIComponent(`${words}>"0";${number}>=0`);
  const plain = await client.follow("children/subscribe", `filter=${filter}`);
  const stream = await client.follow("children/subscribe", "include=parent,labels");
  const groups = await client.follow(
    "children/aggregate/subscribe",
    `groupBy=${number}&max=${number}`,
  );
  await plain.untilSynced();
  await stream.untilSynced();
  await groups.next();
  const row = rowOf(world, 21, { [parent]: 2 });
  const changed = { ...row, ...dataOf(columns, 22) };
  const before = rowOf(world, 2);
  const after = { ...rowOf(world, 23), [own]: 2 };
  const received = async (stream: EventStream) => {
    // One by one: two changes before one evaluation are one event.
    const { type, data: { item = {} } } = await stream.next() ?? { type: "the end", data: {} };
    const { _etag, parent, labels, ...rest } = item;
    return [type, rest, parent, labels];
  };
  await client.send(201, "POST", "children", row);
  assertEquals(await received(plain), ["added", row, undefined, undefined]);
  assertEquals(await received(stream), ["added", row, before, []]);
  await client.send(200, "PATCH", "children/21", dataOf(columns, 22));
  assertEquals(await received(plain), ["changed", changed, undefined, undefined]);
  assertEquals(await received(stream), ["changed", changed, before, []]);
  await client.send(200, "PATCH", "parents/2", dataOf(columns, 23));
  assertEquals(await received(stream), ["changed", changed, after, []]);
  await client.send(204, "DELETE", "children/21");
  assertEquals(await received(plain), ["removed", {}, undefined, undefined]);
  await client.send(201, "POST", "children", rowOf(world, 31));
  const isThere = ({ data }: { readonly data: Json }) =>
    data.groups.some(({ max }: { readonly max: Row }) => max[number] === 31);
  let event = await groups.next();
  while (event !== null && !isThere(event)) event = await groups.next();
  assertEquals(event?.type, "aggregate");
  for (const one of [plain, stream, groups]) await one.close();
}

function chunks<T>(list: readonly T[], size: number): T[][] {
  return Array.from(
    { length: Math.ceil(list.length / size) },
    (_, index) => list.slice(index * size, (index + 1) * size),
  );
}
