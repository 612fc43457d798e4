/**
 * Packs the command line as the npm package `resource-api`: each source file as a JavaScript
 * module, and a launcher that starts the command line with npm's package `deno`.
 *
 * deno task npm-package
 *
 * writes `npm-package/package`, and beside it the archive for `npm publish` or `npm install`.
 */
import { build, type Metafile, type Plugin, stop } from "esbuild";
import { isBuiltin } from "node:module";
import { dirname, join, relative } from "node:path";
import { addPackaging, copyTree, emptied, readJson, run, writeJson } from "./packing.ts";

const root = new URL("../", import.meta.url).pathname;

/** Packages whose code is part of the package. Users install all other packages as they need them. */
const inlined = [
  ...["hono", "deno-std", "postgres", "jose", "zod", "@opentelemetry/api"],
  ...["@modelcontextprotocol/server", "@modelcontextprotocol/core"],
];

/**
 * Writes the package to a folder. Returns the path of the archive. `declarations` adds the types of
 * the library, whose creation takes most of the time.
 */
export async function packNpmPackage(folder: string, declarations = true): Promise<string> {
  const place = `${folder}/package`;
  const packages = await Deno.makeTempDir({ prefix: "npm-package-" });
  try {
    await linkPackages(packages);
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: ["cli.ts", "mod.ts", "exports", "src"].flatMap((path) => filesBelow(root, path)),
      outbase: root,
      outdir: `${place}/dist`,
      chunkNames: "inlined/[name]-[hash]",
      ...{ bundle: true, splitting: true, format: "esm", platform: "neutral", target: "es2024" },
      ...{ conditions: ["deno", "node", "import"], mainFields: ["module", "main"] },
      ...{ nodePaths: [packages], metafile: true, legalComments: "none", logLevel: "warning" },
      logOverride: { "ignored-bare-import": "silent" },
      plugins: [modules],
    });
    await writeLicences(place, packages, metafile);
  } finally {
    await stop();
    await Deno.remove(packages, { recursive: true });
  }
  await renameComputedPaths(`${place}/dist`);
  if (declarations) await writeDeclarations(`${place}/dist`);
  return await complete(folder);
}

/** Creates a folder of packages, for esbuild, from Deno's cache. */
async function linkPackages(folder: string): Promise<void> {
  const { npmPackages }: { npmPackages: Record<string, NpmPackage> } = JSON.parse(
    await run(Deno.execPath(), ["info", "--json", "cli.ts"], root),
  );
  for (const name of inlined) {
    const found = Object.values(npmPackages).filter((one) => one.name === name);
    const [only] = found;
    if (only === undefined || found.length > 1) {
      throw new Error(`Cannot include ${name}: deno.lock has ${found.length} versions`);
    }
    await Deno.mkdir(dirname(`${folder}/${name}`), { recursive: true });
    await Deno.symlink(only.localPath, `${folder}/${name}`);
  }
}

interface NpmPackage {
  readonly name: string;
  readonly localPath: string;
}

/** Keeps each file of the project a module, and includes the code of the packages in `inlined`. */
const modules: Plugin = {
  name: "modules",
  setup(build) {
    build.onResolve({ filter: /.*/ }, ({ path, kind, importer, pluginData, ...from }) => {
      if (kind === "entry-point" || pluginData === "resolved") return null;
      if (isBuiltin(path)) return { path: path.replace(/^(?!node:)/, "node:"), external: true };
      const ofProject = relative(root, importer);
      if (path.startsWith(".")) {
        const isModule = /^(src|exports)\/|^\w+\.ts$/.test(ofProject) && path.endsWith(".ts");
        return isModule ? { path: path.replace(/\.ts$/, ".js"), external: true } : null;
      }
      const standIn = /^@std\/([\w-]+)\/?(.*)$/.exec(path);
      if (standIn !== null) {
        const [, name, part = ""] = standIn;
        return { path: `${root}dev/std/${name}/${part.replaceAll("-", "_") || "mod"}.ts` };
      }
      const found = path.replace(/^@hono\/hono/, "hono");
      return inlined.some((name) => found === name || found.startsWith(`${name}/`))
        ? build.resolve(found, { ...from, kind, importer, pluginData: "resolved" })
        : { path: found, external: true };
    });
    // The command line reads only its version.
    build.onLoad({ filter: /^.*\/deno\.json$/ }, async ({ path }) => {
      const { version } = await readJson(path);
      return { contents: JSON.stringify({ version }), loader: "json" };
    });
  },
};

/** Renames modules that the code imports by a variable: esbuild only renames literal imports. */
async function renameComputedPaths(folder: string): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) await renameComputedPaths(path);
    else {
      const text = await Deno.readTextFile(path);
      const renamed = text.replaceAll(/"(\.{1,2}\/[\w./-]+)\.ts"/g, (given, module) => {
        const exists = fileExists(join(folder, `${module}.js`));
        return exists ? `"${module}.js"` : given;
      });
      if (renamed !== text) await Deno.writeTextFile(path, renamed);
    }
  }
}

function fileExists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Writes the declarations that `deno pack` creates from the sources, next to the modules. */
async function writeDeclarations(folder: string): Promise<void> {
  const stage = await Deno.makeTempDir({ prefix: "npm-package-" });
  try {
    const sources = ["deno.json", "deno.lock", "mod.ts", "cli.ts", "exports", "src", "dev/std"];
    for (const path of [...sources, "dashboard/deno.json"]) {
      await copyTree(root + path, `${stage}/${path}`);
    }
    const flags = ["pack", "-q", "--allow-dirty", "--no-source-maps", "-o", "packed.tgz"];
    await run(Deno.execPath(), flags, stage);
    await run("tar", ["-xzf", "packed.tgz"], stage);
    const packed = `${stage}/package`;
    const paths = ["mod.d.ts", "cli.d.ts", "exports", "src"]
      .flatMap((path) => filesBelow(packed, path)).filter((path) => path.endsWith(".d.ts"));
    for (const path of paths) {
      const text = await Deno.readTextFile(`${packed}/${path}`);
      await Deno.writeTextFile(`${folder}/${path}`, text.replaceAll('"@hono/hono', '"hono'));
    }
  } finally {
    await Deno.remove(stage, { recursive: true });
  }
}

function filesBelow(folder: string, path: string): readonly string[] {
  if (Deno.statSync(`${folder}/${path}`).isFile) return [path];
  return [...Deno.readDirSync(`${folder}/${path}`)]
    .flatMap(({ name }) => filesBelow(folder, `${path}/${name}`));
}

/** Writes the licences of the packages whose code is part of the package. */
async function writeLicences(place: string, packages: string, { inputs }: Metafile): Promise<void> {
  const included = inlined.filter((name) => {
    const { pathname } = new URL(`file://${Deno.realPathSync(`${packages}/${name}`)}/`);
    return Object.keys(inputs).some((path) => join(root, path).startsWith(pathname));
  });
  const licences = [];
  for (const name of included) {
    const { license, version } = await readJson(`${packages}/${name}/package.json`);
    const [file] = [...Deno.readDirSync(`${packages}/${name}`)].map((entry) => entry.name)
      .filter((file) => /^licen[cs]e/i.test(file));
    const text = file === undefined ? "" : await Deno.readTextFile(`${packages}/${name}/${file}`);
    licences.push(`${name} ${version} (${license})\n\n${text}`);
  }
  await Deno.writeTextFile(
    `${place}/THIRD_PARTY_LICENSES`,
    licences.join(`\n${"-".repeat(80)}\n\n`),
  );
}

/** Adds the launcher and the metadata for npm. Returns the path of the archive. */
async function complete(folder: string): Promise<string> {
  const place = `${folder}/package`;
  const { version, license, exports, imports } = await readJson(`${root}deno.json`);
  const subpaths = Object.entries<string>(exports).map(([subpath, path]) => {
    const module = path.replace("./", "./dist/").replace(/\.ts$/, "");
    return [subpath, { types: `${module}.d.ts`, default: `${module}.js` }];
  });
  await writeJson(`${place}/package.json`, {
    name: "resource-api",
    version,
    description: "An HTTP API with live streams from the tables of a SQLite or Postgres database",
    license,
    type: "module",
    bin: { "resource-api": "bin.cjs" },
    exports: { ...Object.fromEntries(subpaths), "./bin.cjs": "./bin.cjs" },
    files: ["bin.cjs", "dist", "THIRD_PARTY_LICENSES"],
    engines: { node: ">=20" },
    // The version that runs the tests.
    dependencies: { deno: await testedVersion() },
    // For the types of middleware and routes. The code of Hono is part of the package.
    peerDependencies: { hono: imports["@hono/hono"].replace("npm:hono@", "") },
    peerDependenciesMeta: { hono: { optional: true } },
  });
  await addPackaging("resource-api", place);
  const archive = `${folder}/resource-api-${version}.tgz`;
  await run("tar", ["-czf", archive, "package"], folder);
  return archive;
}

async function testedVersion(): Promise<string> {
  const [, version] = /^version=([\d.]+)$/m.exec(await Deno.readTextFile(`${root}.ci/run`)) ?? [];
  if (version === undefined) throw new Error("Cannot find the version of Deno in .ci/run");
  return version;
}

/** Writes the package that starts the command `init`. Returns the path of the archive. */
export async function packCreatePackage(folder: string): Promise<string> {
  const place = `${folder}/package`;
  const { version, license } = await readJson(`${root}deno.json`);
  await Deno.mkdir(place, { recursive: true });
  await writeJson(`${place}/package.json`, {
    name: "create-resource-api",
    version,
    description: "Creates a project of resource-api: npm create resource-api my-app",
    license,
    bin: { "create-resource-api": "bin.cjs" },
    files: ["bin.cjs"],
    engines: { node: ">=20" },
    dependencies: { "resource-api": version },
  });
  await addPackaging("create-resource-api", place);
  const archive = `${folder}/create-resource-api-${version}.tgz`;
  await run("tar", ["-czf", archive, "package"], folder);
  return archive;
}

if (import.meta.main) {
  console.log(await packNpmPackage(await emptied(`${root}npm-package`)));
}
