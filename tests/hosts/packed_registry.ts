/** A registry of npm on this machine with the packed packages, for commands that name packages. */
import { buildRelease, type NpmPackage } from "../../dev/release.ts";
import { run } from "../../dev/packing.ts";

/** Where npm installs packages from with `env`: own packages from archives, others from npm. */
export interface PackedRegistry extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
}

/** Packs the packages of a release into a folder, and serves them. Passes on all other requests. */
export async function packedRegistry(
  folder: string,
  packages?: readonly NpmPackage[],
): Promise<PackedRegistry> {
  const packed = `${folder}/packed`;
  const built = await buildRelease(packed, packages);
  const upstream = (await run("npm", ["config", "get", "registry"], folder)).trim();
  const manifests = new Map<string, (origin: string) => unknown>();
  for (const { name, version, filename } of built) {
    const text = await run("tar", ["-xzOf", filename, "package/package.json"], packed);
    const archive = await Deno.readFile(`${packed}/${filename}`);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-512", archive)).toBase64();
    manifests.set(name, (origin: string) => ({
      name,
      "dist-tags": { latest: version },
      versions: {
        [version]: {
          ...JSON.parse(text),
          dist: { tarball: `${origin}/-packed/${filename}`, integrity: `sha512-${hash}` },
        },
      },
    }));
  }
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname, search, origin } = new URL(request.url);
    const manifest = manifests.get(decodeURIComponent(pathname.slice(1)));
    if (manifest !== undefined) return Response.json(manifest(origin));
    if (pathname.startsWith("/-packed/")) {
      return new Response(await Deno.readFile(packed + pathname.replace("/-packed", "")));
    }
    return await fetch(upstream.replace(/\/$/, "") + pathname + search);
  });
  return {
    env: {
      npm_config_registry: `http://127.0.0.1:${server.addr.port}/`,
      npm_config_cache: `${folder}/npm-cache`,
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
