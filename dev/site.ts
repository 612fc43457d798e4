/**
 * Builds the documentation as a static site in `site/`:
 *
 * deno task site
 * deno task site --base /docs/                          # served below a path
 * deno task site --repository https://…/blob/main       # links to sources lead there
 *
 * The sections are those of `docs/README.md`. `reference/` has the exports of the package, as
 * `deno doc` describes them. The task fails if a link or an anchor is broken, or if a page loads a
 * script, a style or a font from another host.
 */
import { parseArgs } from "node:util";
import { dirname } from "node:path";
import { copyTree, emptied, readJson, run, writeJson } from "./packing.ts";
import { adaptReference } from "./site/reference.ts";
import { faultsOfSite } from "./site/check_site.ts";
import { type NavigationEntry, pagePath, readNavigation, sourcesOf } from "./site/navigation.ts";

const root = new URL("../", import.meta.url).pathname;
const output = `${root}site`;

/** The generator, which is no dependency of the project. `dev/site/packages.lock` pins the rest. */
const packages = { vitepress: "npm:vitepress@1.6.4", vue: "npm:vue@3.5.45" };

/** The members of `deno.json` that the site shows. */
interface PackageFile {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
}

const { base, repository } = readOptions();
const { exports, name, version }: PackageFile = await readJson(`${root}deno.json`);
/** The modules of the package with their files. The command line exports nothing. */
const modules = Object.entries(exports).filter(([module]) => module !== "./cli");

await emptied(output);
const folder = await Deno.makeTempDir({ prefix: "resource-api-site-" });
try {
  await writeSources(folder);
  await run(Deno.execPath(), ["install", "--frozen", "--quiet"], folder);
  await run(Deno.execPath(), ["run", "-A", packages.vitepress, "build"], folder);
} finally {
  await Deno.remove(folder, { recursive: true });
}
await writeReference();
const faults = await faultsOfSite(output, base, root);
if (faults.length > 0) {
  console.error(`${faults.slice(0, 50).join("\n")}\nfaults: ${faults.length}`);
  Deno.exit(1);
}
console.log(`The site is in site/. Serve this folder at ${base} of a host.`);

/** Returns the options of the command line, or ends the program with the reason. */
function readOptions(): { readonly base: string; readonly repository: string | null } {
  try {
    const { values: { base, repository } } = parseArgs({
      options: { base: { type: "string", default: "/" }, repository: { type: "string" } },
    });
    if (!/^\/(?:.*\/)?$/.test(base)) {
      throw new Error(`--base must begin and end with a slash, such as /docs/, not "${base}"`);
    }
    if (repository !== undefined && !/^https?:\/\/./.test(repository)) {
      throw new Error(`--repository must be a URL of http or https, not "${repository}"`);
    }
    return { base, repository: repository?.replace(/\/+$/, "") ?? null };
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    Deno.exit(1);
  }
}

/** Writes the folder that VitePress reads: the pages, the theme and the configuration. */
async function writeSources(folder: string): Promise<void> {
  const navigation = readNavigation((source) => Deno.readTextFileSync(root + source));
  const sources = ["docs/README.md", ...sourcesOf(navigation)];
  const pages = Object.fromEntries(sources.map((source) => [source, pagePath(source)]));
  for (const [source, page] of Object.entries(pages)) {
    const copy = `${folder}/pages/${page}`;
    await Deno.mkdir(dirname(copy), { recursive: true });
    await Deno.copyFile(root + source, copy);
  }
  await copyTree(`${root}docs/pictures`, `${folder}/pages/pictures`);
  const sidebar = navigation.map((entry) => toSidebar(entry));
  await writeJson(`${folder}/site.json`, {
    ...{ root, repository, pages, base, version, sidebar },
    outDir: output,
  });
  for (const file of ["config.ts", "links.ts"]) {
    await copyTree(`${root}dev/site/${file}`, `${folder}/.vitepress/${file}`);
  }
  await copyTree(`${root}dev/site/style.css`, `${folder}/.vitepress/theme/style.css`);
  const theme = [
    'import theme from "vitepress/theme-without-fonts";',
    'import "./style.css";',
    "export default theme;",
  ];
  await Deno.writeTextFile(`${folder}/.vitepress/theme/index.js`, theme.join("\n"));
  await writeJson(`${folder}/deno.json`, { imports: packages, nodeModulesDir: "auto" });
  await Deno.copyFile(`${root}dev/site/packages.lock`, `${folder}/deno.lock`);
}

/** Returns an entry as VitePress has it. Headings below a section are closed until needed. */
function toSidebar(entry: NavigationEntry, depth = 0): Record<string, unknown> {
  const { text, source, entries } = entry;
  return {
    text,
    ...(source === undefined ? {} : { link: `/${pagePath(source)}` }),
    ...(entries.length === 0 ? {} : {
      items: entries.map((below) => toSidebar(below, depth + 1)),
      ...(depth === 0 ? {} : { collapsed: true }),
    }),
  };
}

/** Writes the reference of all exports of the package. */
async function writeReference(): Promise<void> {
  const flags = ["doc", "--html", "--name=resource-api", `--output=${output}/reference`];
  await run(Deno.execPath(), [...flags, ...modules.map(([, file]) => file)], root);
  const specifiers = new Map(
    modules.map(([module]) => [module.replace("./", ""), module.replace(".", name)]),
  );
  await adaptReference(`${output}/reference`, { root, repository, home: "../", specifiers });
}
