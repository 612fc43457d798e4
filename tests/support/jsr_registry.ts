import { cacheWithPackages } from "./published_sources.ts";

const root = new URL("../../", import.meta.url).pathname;

/** A package as JSR describes it: its version, its exports, and its files with their checksums. */
interface PublishedPackage {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

/** A registry on this machine, which Deno uses with `env`, and with a new cache of modules. */
export interface JsrRegistry extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Serves this package, and the stand-ins for `@std/*` that it imports, in the form of JSR
 * (https://jsr.io/docs/api). `deno publish` replaces the names of an import map in the same way.
 * Deno caches the modules in the folder.
 */
export async function jsrRegistry(folder: string): Promise<JsrRegistry> {
  const { imports } = JSON.parse(await Deno.readTextFile(`${root}deno.json`));
  const published = [
    await publish("", ["mod.ts", "cli.ts", "deno.json", "exports", "src"], imports),
  ];
  for (const name of ["crypto", "http", "yaml"]) {
    const folder = `dev/std/${name}/`;
    const modules = [...Deno.readDirSync(root + folder)].map((entry) => entry.name);
    const { imports } = JSON.parse(await Deno.readTextFile(`${root}${folder}deno.json`));
    published.push(await publish(folder, modules, imports));
  }
  const responses = new Map<string, Uint8Array<ArrayBuffer> | string>();
  for (const one of published) {
    for (const [path, body] of await pathsOf(one)) responses.set(path, body);
  }
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const { pathname } = new URL(request.url);
    const body = responses.get(pathname);
    return body === undefined ? new Response(null, { status: 404 }) : new Response(body, {
      headers: {
        "content-type": pathname.endsWith(".ts") ? "text/typescript" : "application/json",
      },
    });
  });
  return {
    env: {
      JSR_URL: `http://127.0.0.1:${server.addr.port}/`,
      DENO_DIR: await cacheWithPackages(folder),
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function publish(
  folder: string,
  parts: readonly string[],
  imports: Readonly<Record<string, string>>,
): Promise<PublishedPackage> {
  const { name, version, exports } = JSON.parse(
    await Deno.readTextFile(`${root}${folder}deno.json`),
  );
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const path of parts.flatMap((part) => filesOf(root + folder, part))) {
    const text = await Deno.readTextFile(root + folder + path);
    files.set(
      `/${path}`,
      new TextEncoder().encode(path.endsWith(".ts") ? unfurl(text, imports) : text),
    );
  }
  return {
    name,
    version,
    exports: typeof exports === "string" ? { ".": exports } : exports,
    files,
  };
}

function filesOf(folder: string, path: string): readonly string[] {
  if (Deno.statSync(folder + path).isFile) return [path];
  return [...Deno.readDirSync(folder + path)].flatMap(({ name }) =>
    filesOf(folder, `${path}/${name}`)
  );
}

/** Replaces names of the import map in import statements, and in literal dynamic imports. */
function unfurl(text: string, imports: Readonly<Record<string, string>>): string {
  return text.replaceAll(/(\bfrom |\bimport |\bimport\()"([^".][^"]*)"/g, (given, before, name) => {
    const [key, target] = Object.entries(imports).filter(([key]) =>
      name === key || name.startsWith(`${key}/`)
    ).sort(([a], [b]) =>
      b.length - a.length
    )[0] ?? [];
    return key === undefined ? given : `${before}"${target}${name.slice(key.length)}"`;
  });
}

/** Returns the responses of the registry for a package, by path. */
async function pathsOf(
  { name, version, exports, files }: PublishedPackage,
): Promise<readonly (readonly [string, Uint8Array<ArrayBuffer> | string])[]> {
  const manifest: Record<string, { size: number; checksum: string }> = {};
  for (const [path, bytes] of files) {
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    manifest[path] = { size: bytes.length, checksum: `sha256-${hash.toHex()}` };
  }
  const [scope, part] = name.slice(1).split("/");
  const about = { scope, name: part, latest: version, versions: { [version]: {} } };
  return [
    [`/${name}/meta.json`, JSON.stringify(about)],
    [`/${name}/${version}_meta.json`, JSON.stringify({ manifest, exports })],
    ...[...files].map(([path, bytes]) => [`/${name}/${version}${path}`, bytes] as const),
  ];
}
