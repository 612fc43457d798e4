import { assertEquals } from "@std/assert";
import {
  exportedFiles,
  moduleGraph,
  type ModuleImports,
  packageName,
  reachable,
  root,
} from "./module_graph.ts";

/** Parts with their own subpath, so that only programs that import it load them. */
const heavy: readonly string[] = [
  "better-sqlite3",
  "postgres",
  "@electric-sql/pglite",
  "stripe",
  "swagger-ui-dist",
  "@modelcontextprotocol/server",
  "@opensearch-project/opensearch",
];

const graph = await moduleGraph();
/** The subpaths that exist for a package, or for the SQLite of the host. */
const ofPackages: readonly string[] = [
  ...["better_sqlite3", "node_sqlite", "postgres", "pglite", "opensearch", "stripe"],
  ...["react", "solid", "tanstack_db", "vue"],
].map((name) => `exports/${name}.ts`);
/** The front page, and the subpaths with seams and types. */
const light = exportedFiles.filter((file) => file !== "cli.ts" && !ofPackages.includes(file));

Deno.test("importing mod.ts loads no driver, no payment client, no search client", () => {
  // Deno downloads the packages of every literal import, also of those in a call.
  const loaded = light.flatMap((file) => [...packagesOf(file, ({ files }) => files)]);
  assertEquals(heavy.filter((name) => loaded.includes(name)), []);
});

Deno.test("importing mod.ts does not load the SQLite of the host", () => {
  const atOnce = ({ files, later }: ModuleImports) => files.filter((path) => !later.includes(path));
  const loaded = light.flatMap((file) => [...packagesOf(file, atOnce)]);
  assertEquals(loaded.includes("node:crypto"), true, "packages are found");
  assertEquals(loaded.includes("node:sqlite"), false);
});

Deno.test("each reader thread loaded the whole dialect of SQLite, which it does not use", () => {
  const loaded = loadedFrom("src/engines/sqlite/driver/reads/serve_reads.ts", runBy);
  assertEquals(loaded.has("src/engines/sqlite/driver/sqlite_file.ts"), true, "files are found");
  assertEquals(loaded.has("src/engines/sqlite/sql/dialect.ts"), false);
});

Deno.test("cli.ts --help and the supervisor of workers loaded the whole service", () => {
  const loaded = loadedFrom("cli.ts", runBy);
  assertEquals(loaded.has("src/cli/workers/supervise_workers.ts"), true, "files are found");
  assertEquals(loaded.has("src/app/app.ts") || loaded.has("src/cli/cli_service.ts"), false);
});

/** The files that run with a file, and before any code of it. */
function runBy({ files, later, types }: ModuleImports): readonly string[] {
  return files.filter((path) => !later.includes(path) && !types.includes(path));
}

/** Files that name Deno, each with the reason why it loads and works without it. */
const mayNameDeno: Readonly<Record<string, string>> = {
  "src/db/file_permission.ts": "in a message",
  "src/kv/deno_kv.ts": "looks for it among the globals",
  "src/kv/open_key_value_store.ts": "in a message",
  "src/listen/listener.ts": "only serve() calls it",
  "src/listen/stop_signals.ts": "only serve() calls it",
  "src/runtime/files/optional_file.ts": "asks isDeno",
  "src/runtime/lock_file.ts": "asks isDeno",
  "src/runtime/spare_descriptors.ts": "asks isDeno",
  "src/runtime/system_runtime.ts": "asks isDeno, and for the cron of the platform",
  "src/runtime/worker_lock.ts": "asks isDeno",
  "src/app/serve.ts": "serve() asks isDeno",
};

Deno.test("mod.ts named Deno in files that load on Node and Bun as well", () => {
  const loaded = [...reachable(graph, ["mod.ts"])];
  const naming = loaded.filter((file) => {
    // Comments and plain texts may name it.
    const code = Deno.readTextFileSync(root + file)
      .replaceAll(/\/\*.*?\*\/|\/\/[^\n]*|"[^"\n]*"/gs, "");
    return /\bDeno\b/.test(code);
  });
  assertEquals(loaded.includes("src/app/app.ts"), true, "files are found");
  assertEquals(naming.sort(), Object.keys(mayNameDeno).sort());
});

/** What a file imports from outside the project, directly and through the files that it imports. */
function packagesOf(
  start: string,
  filesOf: (imports: ModuleImports) => readonly string[],
): ReadonlySet<string> {
  const loaded = [...loadedFrom(start, filesOf)];
  const packages = loaded.flatMap((file) => graph.get(file)?.packages ?? []);
  return new Set(packages.map((specifier) => packageName(specifier) ?? specifier));
}

/** A file, and the files of the project that are loaded with it. */
function loadedFrom(
  start: string,
  filesOf: (imports: ModuleImports) => readonly string[],
): ReadonlySet<string> {
  const seen = new Set<string>();
  const waiting = [start];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const imports = graph.get(file);
    if (seen.has(file) || imports === undefined) continue;
    seen.add(file);
    waiting.push(...filesOf(imports));
  }
  return seen;
}
