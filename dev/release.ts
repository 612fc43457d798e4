/**
 * Builds all packages of a release from the version in `deno.json`, checks them, and prints the
 * commands that publish them.
 *
 * deno task release            # builds and checks, publishes nothing
 * deno task release --publish  # in the release workflow: runs the commands
 *
 * writes `release/`: one folder and one archive for each npm package.
 */
import { packNpmClient } from "./npm_client.ts";
import { packCreatePackage, packNpmPackage } from "./npm_package.ts";
import { emptied, readJson, run, writeJson } from "./packing.ts";

const root = new URL("../", import.meta.url).pathname;

/** A package of npm, and what it may contain. */
export interface NpmPackage {
  readonly folder: string;
  /** The files that the package may contain. */
  readonly files: RegExp;
  readonly maxBytes: number;
  pack(folder: string): Promise<string>;
}

const always = "package\\.json|README\\.md|LICENSE";
const client: NpmPackage = {
  folder: "client",
  files: new RegExp(`^(${always}|(exports|src)/[\\w/.]+\\.(js|d\\.ts))$`),
  maxBytes: 300_000,
  pack: packNpmClient,
};

/** The packages with commands, in the order of publication: the second depends on the first. */
export const commandPackages = (declarations: boolean): readonly NpmPackage[] => [
  {
    folder: "resource-api",
    files: new RegExp(`^(${always}|bin\\.cjs|THIRD_PARTY_LICENSES|dist/[\\w/.-]+\\.(js|d\\.ts))$`),
    maxBytes: 1_500_000,
    pack: (folder) => packNpmPackage(folder, declarations),
  },
  {
    folder: "create",
    files: new RegExp(`^(${always}|bin\\.cjs)$`),
    maxBytes: 5_000,
    pack: packCreatePackage,
  },
];

/** The description that `npm pack --json` prints for one package. */
export interface PackedPackage {
  readonly name: string;
  readonly version: string;
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

/** Builds and checks the npm packages of a release in a folder. */
export async function buildRelease(
  folder: string,
  packages: readonly NpmPackage[] = [client, ...commandPackages(true)],
): Promise<readonly PackedPackage[]> {
  const { version } = await readJson(`${root}deno.json`);
  const built = [];
  for (const { folder: name, files, maxBytes, pack } of packages) {
    const place = `${folder}/${name}`;
    await pack(place);
    await addRepository(`${place}/package/package.json`);
    const flags = ["pack", "--json", "--pack-destination", folder];
    const [packed]: PackedPackage[] = JSON.parse(await run("npm", flags, `${place}/package`));
    if (packed === undefined) throw new Error(`npm pack printed nothing for ${name}`);
    const faults = await faultsOf(packed, { version, files, maxBytes, place });
    if (faults.length > 0) throw new Error(`Cannot release ${packed.name}: ${faults.join("; ")}`);
    built.push(packed);
  }
  return built;
}

/** npm compares the repository with the one that built a package with provenance. */
async function addRepository(path: string): Promise<void> {
  const [server, name] = ["GITHUB_SERVER_URL", "GITHUB_REPOSITORY"].map((v) => Deno.env.get(v));
  if (server === undefined || name === undefined) return;
  const repository = { type: "git", url: `git+${server}/${name}.git` };
  await writeJson(path, { ...await readJson(path), repository });
}

/** What a package must be: its version, its files and its size. */
export interface Expected extends Pick<NpmPackage, "files" | "maxBytes"> {
  readonly version: string;
  readonly place: string;
}

/** Returns what is wrong with a package: its version, its files, its size, or a path in a file. */
export async function faultsOf(
  packed: PackedPackage,
  { version, files, maxBytes, place }: Expected,
): Promise<readonly string[]> {
  const faults: string[] = [];
  if (packed.version !== version) faults.push(`the version is ${packed.version}, not ${version}`);
  const paths = packed.files.map(({ path }) => path);
  faults.push(
    ...paths.filter((path) => !files.test(path)).map((path) => `${path} must not be in it`),
  );
  faults.push(
    ...["package.json", "README.md", "LICENSE"].filter((path) => !paths.includes(path))
      .map((path) => `${path} is missing`),
  );
  if (packed.size > maxBytes) faults.push(`it has ${packed.size} bytes, more than ${maxBytes}`);
  for (const path of paths) {
    const text = await Deno.readTextFile(`${place}/package/${path}`);
    if (text.includes(root)) faults.push(`${path} contains a path of this machine`);
  }
  const { dependencies = {} } = await readJson(`${place}/package/package.json`);
  for (const [name, range] of Object.entries<string>(dependencies)) {
    if (!/^\d/.test(range)) faults.push(`the dependency ${name} has the range ${range}`);
  }
  return faults;
}

/** Returns the commands that publish a release, in order. */
export function publishCommands(built: readonly PackedPackage[]): readonly (readonly string[])[] {
  return [
    ["deno", "publish"],
    ...built.map(({ filename }) => [
      ...["npm", "publish", `release/${filename}`, "--provenance", "--access", "public"],
    ]),
  ];
}

/** Returns why this process cannot publish, or null. */
async function whyNotPublish(): Promise<string | null> {
  if (!Deno.env.get("ACTIONS_ID_TOKEN_REQUEST_URL")) {
    return "provenance needs the identity token of a workflow: push the tag, and the workflow publishes";
  }
  const { version } = await readJson(`${root}deno.json`);
  const tags = await run("git", ["tag", "--points-at", "HEAD"], root);
  if (!tags.split("\n").includes(`v${version}`)) return `HEAD has no tag v${version}`;
  const changelog = await Deno.readTextFile(`${root}CHANGELOG.md`);
  return changelog.includes(`\n## ${version}`) ? null : `CHANGELOG.md has no section ${version}`;
}

async function release(args: readonly string[]): Promise<number> {
  const publishes = args.includes("--publish");
  const obstacle = publishes ? await whyNotPublish() : null;
  if (obstacle !== null) {
    console.error(`Cannot publish: ${obstacle}`);
    return 1;
  }
  const built = await buildRelease(await emptied(`${root}release`));
  for (const { name, version, size, files } of built) {
    console.log(`${name}@${version}: ${Math.ceil(size / 1000)} kB, ${files.length} files`);
  }
  await run(Deno.execPath(), ["publish", "--dry-run", "--allow-dirty"], root);
  const { name, version } = await readJson(`${root}deno.json`);
  console.log(`${name}@${version}: deno publish --dry-run has no complaint\n`);
  for (const command of publishCommands(built)) {
    console.log(command.join(" "));
    const [program = "", ...rest] = command;
    const path = program === "deno" ? Deno.execPath() : program;
    if (publishes) console.log(await run(path, rest, root));
  }
  return 0;
}

if (import.meta.main) Deno.exit(await release(Deno.args));
