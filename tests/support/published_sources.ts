/** The sources of the project as a registry serves them, for programs that import them by URL. */
const root = new URL("../../", import.meta.url);

/** Where they are served, with the environment of a program that imports them from there. */
export interface PublishedSources extends AsyncDisposable {
  /** The URL of the root. */
  readonly place: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Serves the sources; the modules that a program loads are cached in the folder. */
export async function publishedSources(folder: string): Promise<PublishedSources> {
  const cache = await cacheWithPackages(folder);
  const own = await standIns();
  // Their names come first: those of the packages begin some of them.
  const imports: Record<string, string> = { ...own, ...await packages(), ...own };
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (call) => {
      const { pathname, origin } = new URL(call.url);
      const text = await Deno.readTextFile(new URL(`.${pathname}`, root));
      return pathname.endsWith(".ts")
        ? new Response(asPublished(text, imports).replaceAll('"/dev/', `"${origin}/dev/`), {
          headers: { "content-type": "text/typescript" },
        })
        : new Response(text, { headers: { "content-type": "application/json" } });
    },
  );
  return {
    place: `http://127.0.0.1:${server.addr.port}/`,
    env: { DENO_DIR: cache },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Creates a cache of Deno with the npm packages of this machine, and without any module. */
export async function cacheWithPackages(folder: string): Promise<string> {
  const { npmCache } = JSON.parse(await outputOf(["info", "--json"]));
  await Deno.mkdir(`${folder}/deno`);
  await Deno.symlink(npmCache, `${folder}/deno/npm`);
  return `${folder}/deno`;
}

/** The targets of the project's imports, its stand-ins as files. */
export async function packages(): Promise<Record<string, string>> {
  const { imports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
  return {
    ...imports,
    "@std/assert": "./dev/std/assert/mod.ts",
    "@std/yaml": "./dev/std/yaml/mod.ts",
  };
}

/** What the sources import of `@std/*`, by its path, because jsr.io may be out of reach. */
async function standIns(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of ["crypto", "http", "yaml"]) {
    const at = `dev/std/${name}`;
    const { exports, imports } = JSON.parse(
      await Deno.readTextFile(new URL(`${at}/deno.json`, root)),
    );
    for (const [part, file] of Object.entries<string>(exports)) {
      found[`@std/${name}${part.slice(1)}`] = `/${at}${file.slice(1)}`;
    }
    Object.assign(found, imports);
  }
  return found;
}

/** A registry rewrites the imports of packages in modules to full specifiers. */
function asPublished(text: string, imports: Readonly<Record<string, string>>): string {
  return Object.entries(imports).reduce(
    (text, [name, target]) => text.replaceAll(new RegExp(`"${name}(["/])`, "g"), `"${target}$1`),
    text,
  );
}

async function outputOf(args: readonly string[]): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: [...args] }).output();
  return new TextDecoder().decode(stdout);
}
