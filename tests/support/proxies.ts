import { canInstallOnDebian, exists, findProgram, runOrThrow } from "./debian_packages.ts";

/** A proxy that the examples configure. */
export type ProxyName = "nginx" | "caddy" | "haproxy" | "apache";

/** A proxy's program with its environment, or the reason why there is none. */
export type ProxyProgram =
  | {
    readonly path: string;
    /** The folder that contains `usr/`: the root, or a folder of unpacked packages. */
    readonly root: string;
    readonly env: Readonly<Record<string, string>>;
  }
  | { readonly missing: string };

/** The Debian package and the program of each proxy. */
const places: Readonly<Record<ProxyName, readonly [pack: string, place: string]>> = {
  nginx: ["nginx", "usr/sbin/nginx"],
  caddy: ["caddy", "usr/bin/caddy"],
  haproxy: ["haproxy", "usr/sbin/haproxy"],
  // The package `apache2` would add the configuration and the service of the machine.
  apache: ["apache2-bin", "usr/sbin/apache2"],
};

/**
 * Finds a proxy on this machine, or takes it from its Debian package into `folder`: installed, it
 * would be started as a service of the machine.
 */
export async function proxyForTests(name: ProxyName, folder: string): Promise<ProxyProgram> {
  const [pack, place] = places[name];
  const program = place.slice(place.lastIndexOf("/") + 1);
  const found = await findProgram([program]) ?? (await exists(`/${place}`) ? `/${place}` : null);
  if (found !== null) return { path: found, root: "", env: {} };
  return await unpack(pack, place, `${folder}/${name}`) ??
    { missing: `no ${program} on the PATH, and its package could not be downloaded` };
}

async function unpack(pack: string, place: string, folder: string): Promise<ProxyProgram | null> {
  if (!await canInstallOnDebian()) return null;
  const path = `${folder}/${place}`;
  const env = { LD_LIBRARY_PATH: await libraryPath(`${folder}/usr/lib`) };
  if (await exists(path)) return { path, root: folder, env };
  try {
    await download(pack, `${folder}/packages`);
    for await (const { name } of Deno.readDir(`${folder}/packages`)) {
      if (!name.endsWith(".deb")) continue;
      await runOrThrow("dpkg-deb", ["-x", `${folder}/packages/${name}`, folder], {});
    }
    const unpacked = { LD_LIBRARY_PATH: await libraryPath(`${folder}/usr/lib`) };
    // A library that it needs may be absent.
    await runOrThrow(path, [pack === "caddy" ? "version" : "-v"], { env: unpacked });
    return { path, root: folder, env: unpacked };
  } catch (error) {
    console.error(`${pack} could not be downloaded: ${error}`);
    return null;
  }
}

/** The folders of libraries, which are named after the processor, such as `x86_64-linux-gnu`. */
async function libraryPath(folder: string): Promise<string> {
  if (!await exists(folder)) return "";
  const entries = await Array.fromAsync(Deno.readDir(folder));
  return entries.filter(({ name }) => name.endsWith("-linux-gnu"))
    .map(({ name }) => `${folder}/${name}`).join(":");
}

/** Downloads a package, and the packages that it needs and that are not installed. */
async function download(pack: string, folder: string): Promise<void> {
  await Deno.mkdir(`${folder}/partial`, { recursive: true });
  const args = ["install", "-q", "-y", "--no-install-recommends", "--download-only"]
    .concat(["-o", `Dir::Cache::archives=${folder}`, "-o", "Debug::NoLocking=1", pack]);
  try {
    await runOrThrow("apt-get", args, {});
  } catch {
    // The lists of packages may be absent, as in an image of a container, or outdated.
    await runOrThrow("apt-get", ["update", "-q"], {});
    await runOrThrow("apt-get", args, {});
  }
}
