import { exists, findProgram, runOrThrow } from "./debian_packages.ts";

/** The path of promtool, from its Debian package in `folder` where need be; or why there is none. */
export async function promtoolForTests(
  folder: string,
): Promise<{ readonly path: string } | { readonly missing: string }> {
  const found = await findProgram(["promtool"]);
  if (found !== null) return { path: found };
  const missing = { missing: "no promtool on the PATH, and its package could not be downloaded" };
  if (Deno.build.os !== "linux" || !await exists("/usr/bin/apt-get")) return missing;
  const download = () => runOrThrow("apt-get", ["download", "-q", "prometheus"], { cwd: folder });
  try {
    // The lists of packages may be absent, as in an image of a container.
    await download().catch(async () => {
      await runOrThrow("apt-get", ["update", "-q"], {});
      await download();
    });
    const files = await Array.fromAsync(Deno.readDir(folder));
    const deb = files.find(({ name }) => name.startsWith("prometheus_"))?.name ?? "";
    await runOrThrow("dpkg-deb", ["-x", deb, "unpacked"], { cwd: folder });
    const path = `${folder}/unpacked/usr/bin/promtool`;
    await runOrThrow(path, ["--version"], {});
    return { path };
  } catch (error) {
    console.error(`promtool could not be downloaded: ${error}`);
    return missing;
  }
}
