import { exists, findProgram, runOrThrow } from "./debian_packages.ts";

/** A proxy that the examples configure. */
export type ProxyName = "nginx" | "caddy";

/** The path of a proxy's program, or the reason why there is none. */
export type ProxyProgram = { readonly path: string } | { readonly missing: string };

const places: Readonly<Record<ProxyName, string>> = {
  nginx: "usr/sbin/nginx",
  caddy: "usr/bin/caddy",
};

/**
 * Finds a proxy on this machine, or takes it from its Debian package into `folder`: installed, it
 * would be started as a service of the machine.
 */
export async function proxyForTests(name: ProxyName, folder: string): Promise<ProxyProgram> {
  const found = await findProgram([name]) ??
    (await exists(`/${places[name]}`) ? `/${places[name]}` : null) ??
    await unpack(name, folder);
  return found === null
    ? { missing: `no ${name} on the PATH, and its package could not be downloaded` }
    : { path: found };
}

async function unpack(name: ProxyName, folder: string): Promise<string | null> {
  if (Deno.build.os !== "linux" || !await exists("/usr/bin/apt-get")) return null;
  try {
    await download(name, folder);
    const deb = (await Array.fromAsync(Deno.readDir(folder)))
      .find((entry) => entry.name.startsWith(`${name}_`));
    if (deb === undefined) return null;
    await runOrThrow("dpkg-deb", ["-x", deb.name, name], { cwd: folder });
    const path = `${folder}/${name}/${places[name]}`;
    // A library that it needs may be absent.
    await runOrThrow(path, [name === "nginx" ? "-v" : "version"], {});
    return path;
  } catch (error) {
    console.error(`${name} could not be downloaded: ${error}`);
    return null;
  }
}

/** The lists of packages may be absent, as in an image of a container. */
async function download(name: ProxyName, folder: string): Promise<void> {
  const run = () => runOrThrow("apt-get", ["download", "-q", name], { cwd: folder });
  try {
    await run();
  } catch {
    // Any failure is worth a second attempt with lists of now, whose failure the caller reports.
    await runOrThrow("apt-get", ["update", "-q"], {});
    await run();
  }
}
