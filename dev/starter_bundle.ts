/**
 * Bundles the files of `examples/starter` into the module from which the command `init` writes a
 * project. A test of the repository fails if the module is outdated.
 *
 * deno task starter-bundle
 */
import { gzipSync } from "node:zlib";

const root = new URL("../", import.meta.url).pathname;

/** Files that the commands of a project write. */
const ignored = /^(?:data|dist|node_modules|\.env|deno\.lock|package-lock\.json)$/;

/** Returns the files of the starter by their paths, in the order of their names. */
export function starterSources(folder = ""): Readonly<Record<string, string>> {
  const entries = [...Deno.readDirSync(`${root}examples/starter/${folder}`)]
    .filter(({ name }) => !ignored.test(name))
    .sort((left, right) => left.name < right.name ? -1 : 1);
  return Object.fromEntries(entries.flatMap(({ name, isDirectory }) => {
    const path = folder + name;
    return isDirectory
      ? Object.entries(starterSources(`${path}/`))
      : [[path, Deno.readTextFileSync(`${root}examples/starter/${path}`)]];
  }));
}

if (import.meta.main) {
  const gzip = gzipSync(JSON.stringify(starterSources()), { level: 9 }).toString("base64");
  await Deno.writeTextFile(
    `${root}src/cli/init/bundled_starter.ts`,
    `// Written by \`deno task starter-bundle\` from examples/starter.

/** The files of a new project by their paths: JSON in gzip in base64. */
export const bundledStarter =
  "${gzip}";
`,
  );
}
