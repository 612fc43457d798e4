/**
 * Measures how the cost of requests grows: `deno task bench:curves [sqlite|postgres[=URL]|all]
 * [part of a name] [most rows]`. Each request is measured in this process without HTTP, and in the
 * same turn the same statements without the service. With `all` and without a part of a name, it
 * writes the pictures of docs/performance.md.
 */
import { startPostgresCluster } from "../tests/support/postgres_cluster.ts";
import { costOf, type Curve, drawCurves, excessGrowth, type Point } from "./curves/curve.ts";
import {
  type Place,
  serveChain,
  serveColumns,
  type Served,
  serveResources,
  serveRows,
  serveTopics,
} from "./curves/services.ts";
import { measure } from "./load.ts";
import { getRequest } from "./note_requests.ts";
import { startWorkers } from "./start_server.ts";

const [wantedEngine = "all", server = ""] = (Deno.args[0] ?? "all").split("=");
const wanted = Deno.args[1] ?? "";
const mostRows = Number(Deno.args[2] ?? 1_000_000);
const pictures = new URL("../docs/pictures/", import.meta.url);

await using opened = new AsyncDisposableStack();
const folder = await Deno.makeTempDir({ prefix: "resource-api-curves-" });
opened.defer(() => Deno.remove(folder, { recursive: true }));
const places = await Promise.all(
  (wantedEngine === "all" ? ["sqlite", "postgres"] as const : [wantedEngine]).map(placeOf),
);

const curves: Curve[] = [];
for (const place of places) {
  await byRows(place);
  await byColumns(place);
  await byDepth(place);
  await bySubscribers(place);
  await byFilters(place);
  await byResources(place);
}
if ("workers".includes(wanted)) await byWorkers();
report();

async function placeOf(engine: string): Promise<Place> {
  if (engine === "sqlite") return { engine, folder, server: "" };
  if (engine !== "postgres") throw new Error(`Unknown engine "${engine}": sqlite, postgres or all`);
  if (server !== "") return { engine, folder, server };
  const cluster = await startPostgresCluster({});
  if ("missing" in cluster) throw new Error(cluster.missing);
  opened.defer(() => cluster.stop());
  return { engine, folder, server: cluster.url };
}

interface Dimension<Size> {
  readonly name: string;
  readonly grows: string;
  readonly place: Place;
  readonly sizes: readonly Size[];
}

/** Measures one curve, unless the command line excludes its name. */
async function curve(
  { name, grows, place, sizes }: Dimension<number>,
  measureAt: (size: number) => Promise<Omit<Point, "size">>,
): Promise<void> {
  if (!name.includes(wanted)) return;
  const points: Point[] = [];
  for (const size of sizes) points.push({ size, ...await measureAt(size) });
  const measured = { name, grows, engine: place.engine, points };
  curves.push(measured);
  console.log(`\n${name}, ${place.engine}, by ${grows}`);
  for (const { size, service, database } of points) {
    const ratio = database === null ? "" : `, database ${micros(database)}`;
    console.log(`  ${size}: service ${micros(service)}${ratio}`);
  }
  console.log(`  grows ${excessGrowth(measured).toFixed(2)} times as much`);
}

function micros(value: number): string {
  return `${value.toFixed(value < 100 ? 1 : 0)} µs`;
}

async function byRows(place: Place): Promise<void> {
  const sizes = [1e3, 1e4, 1e5, 1e6, 1e7].filter((size) => size <= mostRows);
  const names = ["get", "list of 20", "count of 1 percent"].filter((name) => name.includes(wanted));
  if (names.length === 0) return;
  const found = new Map<string, Point[]>(names.map((name) => [name, []]));
  for (const size of sizes) {
    await using served = await serveRows(place, size);
    const columns = "id, owner_id, title, body, status, rank, version, created_at";
    let turn = 0;
    const requests: Readonly<Record<string, readonly [path: () => string, text: () => string]>> = {
      get: [
        () => `/notes/${1 + turn++ * 7919 % size}`,
        () => `SELECT ${columns} FROM notes WHERE id = ${param(place)}`,
      ],
      "list of 20": [
        () => `/notes?filter=rank%3E${turn++ % 900}&orderBy=rank&limit=20`,
        () =>
          `SELECT ${columns} FROM notes WHERE rank > ${param(place)} ORDER BY rank, id LIMIT 21`,
      ],
      "count of 1 percent": [
        () => `/notes/count?filter=rank%3E=990`,
        () => `SELECT count(*) FROM notes WHERE rank >= ${param(place)}`,
      ],
    };
    const value: Readonly<Record<string, () => number>> = {
      get: () => 1 + turn++ * 7919 % size,
      "list of 20": () => turn++ % 900,
      "count of 1 percent": () => 990,
    };
    for (const name of names) {
      const [path, text] = requests[name] ?? [];
      if (path === undefined || text === undefined) continue;
      found.get(name)?.push({
        size,
        service: await costOf(() => served.get(path())),
        database: await costOf(() => raw(served, text(), [value[name]?.() ?? 0])),
      });
    }
  }
  for (const [name, points] of found) {
    await curve({ name, grows: "rows", place, sizes }, (size) => (
      Promise.resolve(points.find((point) => point.size === size) ?? { service: 0, database: 0 })
    ));
  }
}

async function byColumns(place: Place): Promise<void> {
  const sizes = [5, 20, 50, 100, 200];
  await curve({ name: "list of 20 by columns", grows: "columns", place, sizes }, async (size) => {
    await using served = await serveColumns(place, size);
    return {
      service: await costOf(() => served.get(`/wide_${size}?limit=20`)),
      database: await costOf(() => (
        raw(served, `SELECT * FROM wide_${size} ORDER BY id LIMIT 21`)
      )),
    };
  });
}

async function byDepth(place: Place): Promise<void> {
  const name = "list of 20 with included rows";
  await curve({ name, grows: "levels (+1)", place, sizes: [1, 2, 3, 4] }, async (size) => {
    await using served = await serveChain(place);
    const include = ["", "&include=below", "&include=below.below", "&include=below.below.below"];
    const statements = Array.from({ length: size }, (_, depth) => {
      const [from, to] = [1, 20 * 3 ** depth];
      const ids = Array.from({ length: to }, (_, index) => from + index);
      return depth === 0
        ? "SELECT * FROM level_0 ORDER BY id LIMIT 21"
        : `SELECT * FROM level_${depth} WHERE id IN (${ids.join(", ")})`;
    });
    return {
      service: await costOf(() => served.get(`/a?limit=20${include[size - 1]}`)),
      database: await costOf(async () => {
        for (const statement of statements) await raw(served, statement);
      }),
    };
  });
}

async function bySubscribers(place: Place): Promise<void> {
  for (const isForAll of [true, false]) {
    const name = isForAll ? "event to all streams" : "event to one of the streams";
    const sizes = [1, 10, 100, 1_000, 10_000];
    await curve({ name, grows: "streams", place, sizes }, async (size) => {
      await using served = await serveTopics(place);
      const streams: ReadableStreamDefaultReader<Uint8Array>[] = [];
      for (let stream = 0; stream < size; stream++) {
        const topic = isForAll || stream === 0 ? 1 : 2 + stream % 999;
        const query = `filter=topic==${topic}&skipExisting=true`;
        const url = `http://localhost/api/topics/subscribe?${query}`;
        const { body, status } = await served.fetch(new Request(url));
        if (body === null || status !== 200) throw new Error(`A stream has the status ${status}`);
        streams.push(body.getReader());
      }
      // Each stream begins with events of its state, which end before the first change.
      const receiving = isForAll ? streams : streams.slice(0, 1);
      for (const reader of receiving) await reader.read();
      let turn = 0;
      const service = await costOf(async () => {
        const body = JSON.stringify({ name: `name ${turn++}` });
        const headers = { "content-type": "application/json" };
        const url = "http://localhost/api/topics/1";
        const arrived = Promise.all(receiving.map((reader) => reader.read()));
        const response = await served.fetch(new Request(url, { method: "PATCH", headers, body }));
        if (!response.ok) throw new Error(await response.text());
        await response.body?.cancel();
        await arrived;
      }, size > 1_000 ? 3 : 5);
      await Promise.all(streams.map((reader) => reader.cancel()));
      return { service, database: null };
    });
  }
}

async function byFilters(place: Place): Promise<void> {
  const sizes = [1, 10, 100, 1_000, 10_000];
  await curve(
    { name: "list by one of many filters", grows: "filters", place, sizes },
    async (size) => {
      await using served = await serveRows(place, 1e4);
      let turn = 0;
      const columns = "id, owner_id, title, body, status, rank, version, created_at";
      const text = `SELECT ${columns} FROM notes WHERE id > ${param(place)} ORDER BY id LIMIT 6`;
      return {
        service: await costOf(() => served.get(`/notes?filter=id%3E${turn++ % size}&limit=5`)),
        database: await costOf(() => raw(served, text, [turn++ % size])),
      };
    },
  );
}

async function byResources(place: Place): Promise<void> {
  const sizes = [1, 10, 100, 1_000];
  await curve({ name: "get by resources", grows: "resources", place, sizes }, async (size) => {
    await using served = await serveResources(place, size);
    const text = `SELECT id, name FROM t0 WHERE id = ${param(place)}`;
    return {
      service: await costOf(() => served.get("/t0/7")),
      database: await costOf(() => raw(served, text, [7])),
    };
  });
}

/** Measures the cost of a get by workers: 1 s divided by the rate. */
async function byWorkers(): Promise<void> {
  const place: Place = { engine: "sqlite", folder, server: "" };
  await curve(
    { name: "get by workers", grows: "workers", place, sizes: [1, 2, 3, 4] },
    async (size) => {
      await using server = await startWorkers(size);
      const load = { port: server.port, connections: 32, status: 200, request: getRequest };
      await measure({ ...load, durationMs: 1_000 });
      return { service: 1e6 / await measure({ ...load, durationMs: 2_000 }), database: null };
    },
  );
}

function param({ engine }: Place): string {
  return engine === "postgres" ? "$1" : "?";
}

/** Runs a statement of the database itself, and writes its rows as JSON. */
async function raw({ db }: Served, text: string, values: readonly number[] = []): Promise<string> {
  const { rows } = await db.query({ text, values: [...values] });
  return JSON.stringify(rows);
}

function report(): void {
  if (wantedEngine !== "all" || wanted !== "") return;
  Deno.mkdirSync(pictures, { recursive: true });
  for (const name of new Set(curves.map((one) => one.name))) {
    const file = new URL(`${name.replaceAll(/[^a-z0-9]+/g, "-")}.svg`, pictures);
    Deno.writeTextFileSync(file, drawCurves(curves.filter((one) => one.name === name)));
  }
}
