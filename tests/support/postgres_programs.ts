/** The programs of a Postgres on this machine, and the user that they run as. */
import { canInstallOnDebian, exists, installOnDebian } from "./debian_packages.ts";

/** The folder that holds all these programs; Debian keeps them off the PATH. */
export async function findBinaries(
  programs: readonly string[] = ["initdb", "pg_ctl"],
): Promise<string | null> {
  const folders = (Deno.env.get("PATH") ?? "").split(":").filter((folder) => folder !== "");
  const debian = "/usr/lib/postgresql";
  if (await exists(debian)) {
    const versions = await Array.fromAsync(Deno.readDir(debian), (entry) => Number(entry.name));
    versions.sort((left, right) => right - left);
    folders.push(...versions.map((version) => `${debian}/${version}/bin`));
  }
  for (const folder of folders) {
    const found = await Promise.all(programs.map((name) => exists(`${folder}/${name}`)));
    if (found.every((isThere) => isThere)) return folder;
  }
  return null;
}

/** Installs Postgres where it is possible. The packaging's own cluster is not created. */
export async function installPostgres(): Promise<boolean> {
  if (!await canInstallOnDebian()) return false;
  const settings = "/etc/postgresql-common/createcluster.conf";
  if (!await exists(settings)) {
    await Deno.mkdir("/etc/postgresql-common", { recursive: true });
    await Deno.writeTextFile(settings, "create_main_cluster = false\n");
  }
  return await installOnDebian(["postgresql"]);
}

/** `initdb` refuses root: then the server belongs to `postgres`, else to `nobody`. */
export async function serverOwner(): Promise<{ uid: number; gid: number } | null> {
  if (Deno.uid() !== 0) return null;
  const lines = (await Deno.readTextFile("/etc/passwd")).split("\n");
  const line = lines.find((line) => line.startsWith("postgres:")) ??
    lines.find((line) => line.startsWith("nobody:"));
  if (line === undefined) throw new Error("There is no user to run Postgres as");
  const [, , uid, gid] = line.split(":");
  return { uid: Number(uid), gid: Number(gid) };
}
