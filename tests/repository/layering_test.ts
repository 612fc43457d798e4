import { existsSync } from "node:fs";
import { assertEquals } from "@std/assert";
import { exportedFiles, moduleGraph, packageName, reachable, root } from "./module_graph.ts";

/** Bottom up: a folder of src imports itself and what its line names. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  problem: ["protocol"],
  options: ["problem"],
  metrics: [],
  api: ["options", "protocol"],
  runtime: ["options", "problem", "protocol"],
  kv: ["runtime", "options", "protocol", "problem"],
  schema: ["options", "protocol", "problem"],
  sql: ["schema", "protocol", "problem"],
  filter: ["sql", "schema", "runtime", "options", "problem"],
  auth: ["filter", "schema", "runtime", "protocol", "problem"],
  plan: ["auth", "filter", "schema", "runtime", "protocol", "problem"],
  compile: ["plan", "filter", "sql", "schema", "problem"],
  db: ["compile", "plan", "filter", "sql", "schema", "runtime", "options", "protocol", "problem"],
  idempotency: ["db", "sql", "schema", "kv", "runtime", "options", "protocol", "problem"],
  guard: ["auth", "idempotency", "kv", "runtime", "options", "protocol", "problem"],
  live: [
    ...["db", "compile", "plan", "auth", "filter", "sql", "schema"],
    ...["runtime", "protocol", "problem"],
  ],
  search: [
    ...["db", "plan", "filter", "sql", "schema", "kv", "runtime", "options"],
    ...["protocol", "problem"],
  ],
  engines: [
    ...["search", "db", "compile", "plan", "filter", "sql", "schema", "kv", "runtime", "options"],
    ...["protocol", "problem"],
  ],
  billing: [
    ...["guard", "idempotency", "engines", "auth", "kv", "runtime", "options", "protocol"],
    ...["problem"],
  ],
  resource: [
    ...["api", "live", "search", "guard", "idempotency", "db", "compile", "plan", "auth", "filter"],
    ...["schema", "kv", "runtime", "options", "protocol", "problem"],
  ],
  identity: [
    ...["resource", "guard", "db", "auth", "schema", "kv", "runtime", "options"],
    ...["protocol", "problem"],
  ],
  openapi: ["resource", "auth", "filter", "schema", "options", "protocol", "problem"],
  mcp: ["openapi", "options", "runtime", "protocol", "problem"],
  service: [
    ...["mcp", "openapi", "resource", "live", "search", "billing", "guard", "idempotency", "db"],
    ...["compile", "plan", "auth", "filter", "sql", "schema", "kv", "runtime", "metrics"],
    ...["options", "protocol", "problem"],
  ],
  client: ["api", "options", "protocol"],
  listen: ["options", "problem", "protocol", "runtime"],
};

/** Folders in which the parts meet: they may import everything below them. */
const meetingPlaces: readonly string[] = ["app", "cli"];

/** Single files that a folder imports beside its line of the table, each with the reason. */
const excusedImports: Readonly<Record<string, string>> = {
  "plan src/sql/fragment.ts": "a position in an order is made of stored values, SqlValue",
  "client src/filter/match/described_filter.ts":
    "a client evaluates filters as the service does, and loads this file on demand",
  "resource src/sql/fragment.ts": "a list passes such positions on, and a write statements",
};

/** Packages that more than one file imports, each with the reason. */
const severalDoors: Readonly<Record<string, string>> = {
  hono: "a framework has several parts: the app's router and the CORS middleware",
};

/** Files that no export reaches yet, each with the reason. */
const notReached: Readonly<Record<string, string>> = {};

const graph = await moduleGraph();

Deno.test("every folder of src imports only what the table of layers allows", () => {
  const wrong: string[] = [];
  for (const [file, { files }] of graph) {
    const from = folderOf(file);
    if (from === null || meetingPlaces.includes(from)) continue;
    const allowed = mayImport[from];
    if (allowed === undefined) wrong.push(`${file}: the table has no folder "${from}"`);
    for (const target of files) {
      const to = folderOf(target);
      if (to === from || (to !== null && allowed?.includes(to))) continue;
      if (Object.hasOwn(excusedImports, `${from} ${target}`)) continue;
      // The next test checks these.
      if (engineOf(target) !== null) continue;
      wrong.push(`${file} imports ${target}`);
    }
  }
  assertEquals(wrong, []);
});

Deno.test("no file outside of src/engines imports a file of one engine", () => {
  const found = [...graph].filter(([file, { files }]) =>
    folderOf(file) !== "engines" && folderOf(file) !== null &&
    files.some((target) => engineOf(target) !== null)
  );
  assertEquals(found.map(([file]) => file), []);
});

Deno.test("docs/architecture.md shows the table of layers, as far as the folders are there", () => {
  const text = Deno.readTextFileSync(`${root}docs/architecture.md`);
  const shown = [...text.matchAll(/^\| `(\w+)` *\| (.*?) *\|$/gm)]
    .map((
      [, folder = "", names = ""],
    ) => [folder, names.split(", ").filter((name) => name !== "")]);
  const present = new Set([...graph.keys()].map(folderOf));
  const expected = Object.entries(mayImport).filter(([folder]) => present.has(folder))
    .map(([folder, names]) => [folder, names.filter((name) => present.has(name))]);
  const anything = meetingPlaces.map((folder) => [folder, ["anything"]]);
  assertEquals(shown, [...expected, ...anything]);
  for (const folder of Object.keys(mayImport).filter((folder) => !present.has(folder))) {
    assertEquals(text.includes(`\`${folder}\``), true, `${folder} is said to be still to come`);
  }
});

Deno.test("docs/architecture.md draws every folder of src, and none that is not there", () => {
  const text = Deno.readTextFileSync(`${root}docs/architecture.md`);
  const drawn: string[] = [];
  let path: readonly string[] = [];
  for (const [, indent = "", name = ""] of text.matchAll(/^((?:[│ ] {3})*)[├└]── (\w+)\/ /gm)) {
    path = [...path.slice(0, indent.length / 4), name];
    drawn.push(path.join("/"));
  }
  const present = new Set([...graph.keys()].flatMap((file) => withParents(pathOfFolder(file))));
  assertEquals(drawn.sort(), [...present].sort());
});

/** Rooms of `src/resource`, bottom to top. A room may import itself and the rooms below it. */
const rooms: readonly string[] = [
  ...["http", "model", "define", "rights", "shape", "read", "write", "import", "live"],
  ...["operations", "run_operation.ts", "routes", "code"],
];

/** Loose files of `src/resource`, which count as one room: the pipeline. */
const pipeline: readonly string[] = ["authorize_related.ts", "run_operation.ts"];

Deno.test("a room of src/resource imports no room above it", () => {
  const upwards: string[] = [];
  for (const [file, { files }] of graph) {
    const from = roomOf(file);
    if (from === null) continue;
    if (!rooms.includes(from)) upwards.push(`${file}: the order has no room "${from}"`);
    for (const target of files) {
      const to = roomOf(target);
      if (to !== null && rooms.indexOf(to) > rooms.indexOf(from)) {
        upwards.push(`${file} imports ${target}`);
      }
    }
  }
  assertEquals(upwards, []);
});

Deno.test("docs/architecture.md shows the rooms of src/resource in their order", () => {
  const text = Deno.readTextFileSync(`${root}docs/architecture.md`);
  const shown = [...text.matchAll(/^\d+\. `([\w.]+?)\/?` /gm)].map(([, room]) => room);
  assertEquals(shown, [...rooms]);
});

Deno.test("no file of src imports itself through other files, not even for types", () => {
  const open = new Set<string>();
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (open.has(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(" → "));
    if (open.has(file) || done.has(file)) return;
    open.add(file);
    for (const target of graph.get(file)?.files ?? []) visit(target, [...path, file]);
    open.delete(file);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  assertEquals(cycles, []);
});

Deno.test("src contains folders only", () => {
  assertEquals([...graph.keys()].filter((file) => /^src\/[^/]*$/.test(file)), []);
});

Deno.test("no folder of src holds more than 22 files", () => {
  const folders = Map.groupBy(
    [...graph.keys()].filter((file) => file.startsWith("src/")),
    pathOfFolder,
  );
  const crowded = [...folders].filter(([, files]) => files.length > 22);
  assertEquals(crowded.map(([folder]) => folder), []);
});

Deno.test("no file below src is out of reach of the exports, but for those that say why", () => {
  const reached = reachable(graph, exportedFiles);
  assertEquals(
    [...graph.keys()].filter((file) => !reached.has(file)).sort(),
    Object.keys(notReached).sort(),
  );
});

Deno.test("each npm package is imported in one file only", () => {
  const doors = new Map<string, string[]>();
  for (const [file, { packages }] of graph) {
    for (const name of new Set(packages.map(packageName))) {
      if (name !== null) doors.set(name, [...doors.get(name) ?? [], file]);
    }
  }
  const wrong = [...doors].filter(([name, files]) =>
    files.length > 1 && !Object.hasOwn(severalDoors, name)
  );
  assertEquals(wrong, []);
});

/** Returns the folder of `src` that contains a file, or null for a file outside of `src`. */
function folderOf(file: string): string | null {
  const [top, folder, rest] = file.split("/");
  if (top !== "src" || folder === undefined) return null;
  return rest === undefined ? null : folder;
}

/** Returns the engine whose folder contains a file, or null for any other file. */
/** The folders of engines. Each of them has a driver. */
const engineNames = new Set(
  [...Deno.readDirSync(`${root}src/engines`)].map(({ name }) => name)
    .filter((name) => existsSync(`${root}src/engines/${name}/driver`)),
);

function engineOf(file: string): string | null {
  const [, name = ""] = /^src\/engines\/(\w+)\//.exec(file) ?? [];
  return engineNames.has(name) ? name : null;
}

/** Returns the room of `src/resource` that contains a file, or null for a file outside of it. */
function roomOf(file: string): string | null {
  const [src, resource, room = ""] = file.split("/");
  if (src !== "src" || resource !== "resource") return null;
  return pipeline.includes(room) ? "run_operation.ts" : room;
}

/** Returns a folder and the folders that contain it; none for the top. */
function withParents(folder: string): readonly string[] {
  const names = folder.split("/").filter((name) => name !== "");
  return names.map((_name, index) => names.slice(0, index + 1).join("/"));
}

/** The folder that a file of src lies in, below `src/`; empty for files directly in it. */
function pathOfFolder(file: string): string {
  return file.split("/").slice(1, -1).join("/");
}
