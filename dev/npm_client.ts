/**
 * Packs the client as an npm package: JavaScript modules with their declarations, as `deno pack`
 * creates them from the sources of the client.
 *
 * deno task npm-client
 *
 * writes `npm-client/package`, and beside it the archive for `npm publish` or `npm install`.
 */
import { build, stop } from "esbuild";
import { copyTree, emptied, readJson, run, writeJson } from "./packing.ts";

const root = new URL("../", import.meta.url).pathname;

/** The name of the package. */
export const npmClientName = "@svc/resource-api-client";

const entries = {
  ".": "./exports/client.ts",
  "./react": "./src/client/bindings/react.ts",
  "./vue": "./src/client/bindings/vue.ts",
  "./solid": "./src/client/bindings/solid.ts",
  "./tanstack-db": "./src/client/bindings/tanstack_db.ts",
};

/** The packages that the bindings need. Each binding needs only its own package. */
const peers = {
  "@tanstack/db": "^0.15.0",
  "react": ">=18",
  "solid-js": "^1.6.0",
  "vue": "^3.3.0",
};

/** The sources of the package: the client, and the protocol that it uses. */
const sources = ["exports/client.ts", "src/api", "src/client", "src/protocol"];

/** Writes the package to a folder. Returns the path of the archive. */
export async function packNpmClient(folder: string): Promise<string> {
  const stage = await Deno.makeTempDir({ prefix: "npm-client-" });
  try {
    for (const source of sources) await copyTree(root + source, `${stage}/${source}`);
    await Deno.mkdir(`${stage}/src/filter/match`, { recursive: true });
    await Deno.writeTextFile(`${stage}/src/filter/match/described_filter.ts`, await filters());
    // The solver with option checks is for servers, and imports more than the protocol.
    await Deno.remove(`${stage}/src/client/pow/solve.ts`);
    await Deno.copyFile(`${root}deno.lock`, `${stage}/deno.lock`);
    await Deno.writeTextFile(`${stage}/deno.json`, JSON.stringify(await configuration()));
    const packed = `${stage}/packed.tgz`;
    await run(
      Deno.execPath(),
      ["pack", "-q", "--allow-dirty", "--no-source-maps", "-o", packed],
      stage,
    );
    await Deno.mkdir(folder, { recursive: true });
    await run("tar", ["-xzf", packed], folder);
  } finally {
    await Deno.remove(stage, { recursive: true });
  }
  return await complete(folder);
}

/** Returns the evaluation of filters as one module, because it consists of files of the service. */
async function filters(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [`${root}src/filter/match/described_filter.ts`],
    ...{ bundle: true, minify: true, write: false, legalComments: "none" },
    ...{ format: "iife", globalName: "filters", target: "es2022", platform: "browser" },
  });
  await stop();
  return `// @ts-nocheck
${outputFiles.map(({ text }) => text).join("")}
export type DescribedFilter = unknown;
export const matchesDescribed: (filter: DescribedFilter, row: object) => boolean | null =
  filters.matchesDescribed;
`;
}

/** Returns a configuration for only the sources of the client. */
async function configuration(): Promise<Readonly<Record<string, unknown>>> {
  const { version, license, imports } = await readJson(`${root}deno.json`);
  const names = [...Object.keys(peers), "@types/react"];
  return {
    ...{ name: npmClientName, version, license, exports: entries },
    imports: Object.fromEntries(names.map((name) => [name, imports[name]])),
  };
}

/** Adds the metadata that npm and bundlers need, and removes all other metadata. */
async function complete(folder: string): Promise<string> {
  const place = `${folder}/package`;
  await removeSources(place);
  const { dependencies: _peers, license, ...described } = await readJson(`${place}/package.json`);
  const optional = Object.keys(peers).map((name) => [name, { optional: true }]);
  const manifest = {
    ...described,
    description: "The typed client of resource-api: live lists, optimistic and offline writes",
    license,
    sideEffects: false,
    // `AbortSignal.any` requires this version.
    engines: { node: ">=20.3" },
    peerDependencies: peers,
    peerDependenciesMeta: Object.fromEntries(optional),
  };
  await writeJson(`${place}/package.json`, manifest);
  await Deno.copyFile(`${root}dev/npm_client_readme.md`, `${place}/README.md`);
  await Deno.copyFile(`${root}LICENSE`, `${place}/LICENSE`);
  const archive = `${folder}/svc-resource-api-client-${manifest.version}.tgz`;
  await run("tar", ["-czf", archive, "package"], folder);
  return archive;
}

/** Removes the TypeScript that no module of the package needs. */
async function removeSources(folder: string): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) await removeSources(path);
    else if (/(?<!\.d)\.ts$|^deno\.lock$/.test(name)) await Deno.remove(path);
  }
}

if (import.meta.main) {
  console.log(await packNpmClient(await emptied(`${root}npm-client`)));
}
