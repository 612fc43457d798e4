/**
 * Installs the packed packages in an empty folder, checks the types of a configuration with
 * TypeScript, and serves with each supported version of Node. Then creates a project with
 * `npm create` for each version, and uses its page in Chromium. The versions of Node come from npm.
 *
 * deno task check-npm
 */
import { assert, assertEquals } from "@std/assert";
import { chromiumForTests } from "../support/chromium.ts";
import { npmFolder } from "./npm_folder.ts";
import { checkNewProject } from "./npm_project.ts";
import { checkService, createShop } from "./npm_service.ts";
import { packNpmClient } from "../../dev/npm_client.ts";
import { scratchFolder } from "../support/scratch.ts";
import { freePort } from "../support/ports.ts";
import { followTeamGuide } from "./npm_team.ts";
import { packedRegistry } from "./packed_registry.ts";

const versions = ["20", "22", "24"];

const folder = await npmFolder([
  ...["typescript@5", "hono@4"],
  ...versions.map((version) => `node${version}@npm:node@${version}`),
], { declarations: true });
if (typeof folder === "string") {
  console.error(folder);
  Deno.exit(1);
}
await using _folder = folder;
const { path } = folder;
assertEquals(await typeErrors("notes.title"), []);
assertEquals(await typeErrors("notes.titel"), ["TS2551"]);
console.log("TypeScript checks a configuration");
for (const version of versions) {
  createShop(folder.path);
  const bin = `${folder.path}/node_modules/node${version}/bin`;
  await checkService(folder.path, { PATH: `${bin}:${Deno.env.get("PATH")}` });
  await Deno.remove(`${folder.path}/shop.db`);
  console.log(
    `Node ${(await output(`${bin}/node`, ["--version"], path)).trim()} serves, streams and stops`,
  );
}
// npm looks for a project in the folders above, too.
await using team = await scratchFolder();
await Deno.mkdir(`${team.path}/packages`);
for (const { name } of Deno.readDirSync(`${path}/packed`)) {
  if (!name.endsWith(".tgz")) continue;
  await Deno.copyFile(`${path}/packed/${name}`, `${team.path}/packages/${name}`);
}
await packNpmClient(`${team.path}/packages`);
await followTeamGuide(team.path, { env: { PORT: String(freePort()) }, isComplete: true });
console.log("A project with the archives, and without a registry, serves its page");
await using registry = await packedRegistry(path);
const browser = await chromiumForTests();
if ("missing" in browser) throw new Error(browser.missing);
for (const version of versions) {
  const project = `${path}/empty-${version}`;
  await Deno.mkdir(project);
  const { elapsed, machine } = await checkNewProject({
    folder: project,
    browser: browser.path,
    env: {
      ...registry.env,
      npm_config_cache: `${project}/npm-cache`,
      PATH: `${path}/node_modules/node${version}/bin:${Deno.env.get("PATH")}`,
      DENO_DIR: `${project}/deno`,
    },
  });
  const seconds = `${elapsed.toFixed(1)} s, ${machine.toFixed(1)} s of processor time`;
  console.log(`Node ${version}: npm create to the first row of the page: ${seconds}`);
  assert(machine < 60, "more than a minute of processor time");
}

/** Returns the standard output of a program. */
async function output(
  program: string,
  args: readonly string[],
  cwd: string,
): Promise<string> {
  const command = new Deno.Command(program, {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1" },
    stderr: "inherit",
  });
  return new TextDecoder().decode((await command.output()).stdout);
}

/** Returns the codes of the errors in a configuration with this column. */
async function typeErrors(column: string): Promise<readonly string[]> {
  const text = `
    import { eq, integer, openDatabase, resource, table, text } from "resource-api";
    import type { ServeConfig } from "resource-api";
    const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
    export default {
      db: await openDatabase("sqlite:notes.db"),
      auth: { middleware: async (c, next) => { c.set("user", { id: "ann" }); await next(); } },
      resources: [resource(notes, { id: notes.id, auth: { read: () => eq(${column}, "a") } })],
    } satisfies ServeConfig;`;
  await Deno.writeTextFile(`${path}/configuration.mts`, text);
  const flags = ["--noEmit", "--strict", "--skipLibCheck", "--target", "esnext"];
  const args = ["tsc", ...flags, "--module", "nodenext", "configuration.mts"];
  return [...(await output("npx", args, path)).matchAll(/error (TS\d+)/g)].map(([, code = ""]) =>
    code
  );
}
