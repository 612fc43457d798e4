/**
 * Measures the client as a page loads it: bundled by esbuild, minified, and compressed by gzip at
 * its best level. Prints a line for each entry, and fails if an entry exceeds its limit. With
 * `--peers`, installs other clients from npm into a temporary folder, and prints their sizes below
 * the entry with the same abilities.
 */
import { build, stop } from "esbuild";
import { gzipSync } from "node:zlib";

/** A program that imports a part of the client, and its maximum size. */
export interface ClientEntry {
  readonly name: string;
  /** The imports of the program from files of this repository. */
  readonly program: string;
  /** The maximum size, in bytes. */
  readonly limit: number;
  /** Packages that the page loads in any case. */
  readonly external?: readonly string[];
  /** A program that the page loads in any case, so its bytes do not count. */
  readonly beside?: string;
  /** Programs that import other clients with these abilities, by the names of the npm packages. */
  readonly peers?: Readonly<Record<string, string>>;
}

const core = `export { createClient, rsql } from "./exports/client.ts";`;
const live = `export { createClient, rsql, liveList } from "./exports/client.ts";`;

/** The programs that a page loads immediately, and those that it loads later. */
export const clientEntries: readonly ClientEntry[] = [
  {
    name: "core",
    program: core,
    limit: 3_000,
    peers: { remult: `export { remult, Remult, repo } from "remult";` },
  },
  // The plan was 5,000 here and 7,000 below: docs/decisions/0034 explains these sizes.
  {
    name: "with live lists",
    program: live,
    limit: 6_200,
    peers: {
      pocketbase: `export { default } from "pocketbase";`,
      convex: `export { ConvexClient } from "convex/browser";`,
      "@electric-sql/client": `export { Shape, ShapeStream } from "@electric-sql/client";`,
      "@supabase/supabase-js": `export { createClient } from "@supabase/supabase-js";`,
    },
  },
  {
    name: "with live lists, shared tabs and the outbox",
    program: `export { createClient, rsql, liveList, shareTabs, createOutbox } from
      "./exports/client.ts";`,
    limit: 12_500,
    peers: {
      "@tanstack/db @tanstack/electric-db-collection": `export { createCollection } from
        "@tanstack/db"; export { electricCollectionOptions } from
        "@tanstack/electric-db-collection";`,
    },
  },
  {
    name: "accounts, beside requests",
    program: `export { createClient, rsql, createAuth } from "./exports/client.ts";`,
    beside: core,
    limit: 910,
  },
  {
    name: "collections of TanStack DB, beside live lists",
    program: `${live} export * from "./src/client/bindings/tanstack_db.ts";`,
    beside: live,
    limit: 1_290,
    external: ["@tanstack/db"],
  },
  {
    name: "the binding to React, beside live lists",
    program: `${live} export * from "./src/client/bindings/react.ts";`,
    beside: live,
    limit: 1_100,
    external: ["react"],
  },
  {
    name: "solver of proofs of work, loaded when it is needed",
    program: `export { findNonce } from "./src/client/pow/find_nonce.ts";`,
    limit: 6_700,
  },
  {
    name: "evaluation of filters, loaded when a list with a filter needs it",
    program: `export { matchesDescribed } from "./src/filter/match/described_filter.ts";`,
    limit: 9_500,
  },
];

/** Returns the size in bytes of a bundled entry with all its static imports. */
export async function clientSize({ program, external = [], beside }: ClientEntry): Promise<number> {
  const size = await bundledSize(program, external);
  return beside === undefined ? size : size - await bundledSize(beside, external);
}

async function bundledSize(
  program: string,
  external: readonly string[],
  folder = root,
): Promise<number> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: program, resolveDir: folder },
    ...{ bundle: true, minify: true, splitting: true, write: false, metafile: true },
    ...{ format: "esm", target: "es2022", platform: "browser", outdir: "bundle" },
    absWorkingDir: folder,
    external: [...external],
  });
  const wanted = new Set<string>();
  const add = (path: string) => {
    if (wanted.has(path)) return;
    wanted.add(path);
    for (const { path: imported, kind } of metafile.outputs[path]?.imports ?? []) {
      if (kind === "import-statement") add(imported);
    }
  };
  add("bundle/stdin.js");
  const files = outputFiles.filter(({ path }) => wanted.has(path.slice(folder.length)));
  return files.map(({ contents }) => gzipSync(contents, { level: 9 }).length)
    .reduce((sum, size) => sum + size);
}

const root = new URL("..", import.meta.url).pathname;

/** Installs the packages of all peers into a temporary folder, and returns its path. */
async function installPeers(): Promise<string> {
  const folder = `${await Deno.makeTempDir()}/`;
  const names = clientEntries.flatMap(({ peers = {} }) => Object.keys(peers))
    .flatMap((packages) => packages.split(" "));
  const dependencies = Object.fromEntries(names.map((name) => [name, "*"]));
  await Deno.writeTextFile(`${folder}package.json`, JSON.stringify({ dependencies }));
  const { success } = await new Deno.Command(Deno.execPath(), {
    ...{ args: ["install", "--quiet"], cwd: folder },
  }).output();
  if (!success) throw new Error("Cannot install the packages of the peers");
  return folder;
}

if (import.meta.main) {
  const peersFolder = Deno.args.includes("--peers") ? await installPeers() : null;
  let isOver = false;
  for (const entry of clientEntries) {
    const size = await clientSize(entry);
    isOver ||= size > entry.limit;
    console.log(`${entry.name}: ${size} of ${entry.limit} bytes`);
    for (const [name, program] of Object.entries(peersFolder === null ? {} : entry.peers ?? {})) {
      console.log(`  ${name}: ${await bundledSize(program, [], peersFolder ?? root)} bytes`);
    }
  }
  if (peersFolder !== null) await Deno.remove(peersFolder, { recursive: true });
  await stop();
  Deno.exit(isOver ? 1 : 0);
}
