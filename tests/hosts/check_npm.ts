/**
 * Installs the packed packages in an empty folder, and serves with each supported version of Node.
 * Each version comes from npm.
 *
 * deno task check-npm
 */
import { npmFolder } from "./npm_folder.ts";
import { checkService, createShop } from "./npm_service.ts";

const versions = ["20", "22", "24"];

const folder = await npmFolder(versions.map((version) => `node${version}@npm:node@${version}`));
if (typeof folder === "string") {
  console.error(folder);
  Deno.exit(1);
}
await using _folder = folder;
for (const version of versions) {
  createShop(folder.path);
  const bin = `${folder.path}/node_modules/node${version}/bin`;
  const { stdout } = await new Deno.Command(`${bin}/node`, { args: ["--version"] }).output();
  await checkService(folder.path, { PATH: `${bin}:${Deno.env.get("PATH")}` });
  await Deno.remove(`${folder.path}/shop.db`);
  console.log(`Node ${new TextDecoder().decode(stdout).trim()} serves, streams and stops`);
}
