/**
 * Installs the packed packages in an empty folder, checks the types of a configuration with
 * TypeScript, and serves with each supported version of Node. Each version comes from npm.
 *
 * deno task check-npm
 */
import { assertEquals } from "@std/assert";
import { npmFolder } from "./npm_folder.ts";
import { checkService, createShop } from "./npm_service.ts";

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
  const { stdout } = await new Deno.Command(`${bin}/node`, { args: ["--version"] }).output();
  await checkService(folder.path, { PATH: `${bin}:${Deno.env.get("PATH")}` });
  await Deno.remove(`${folder.path}/shop.db`);
  console.log(`Node ${new TextDecoder().decode(stdout).trim()} serves, streams and stops`);
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
  const { stdout } = await new Deno.Command("npx", {
    args: ["tsc", ...flags, "--module", "nodenext", "configuration.mts"],
    cwd: path,
  }).output();
  return [...new TextDecoder().decode(stdout).matchAll(/error (TS\d+)/g)].map(([, code = ""]) =>
    code
  );
}
