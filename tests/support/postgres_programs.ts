/** The programs of a Postgres on this machine, and the user that they run as. */

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

/** Whether the package went in. The packaging's own cluster is not created: it would only idle. */
export async function installOnDebian(): Promise<boolean> {
  if (Deno.build.os !== "linux" || Deno.uid() !== 0) return false;
  if (!await exists("/usr/bin/apt-get")) return false;
  const settings = "/etc/postgresql-common/createcluster.conf";
  if (!await exists(settings)) {
    await Deno.mkdir("/etc/postgresql-common", { recursive: true });
    await Deno.writeTextFile(settings, "create_main_cluster = false\n");
  }
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  try {
    await runOrThrow("apt-get", ["update", "-q"], { env });
    await runOrThrow("apt-get", [
      ...["install", "-y", "-q", "--no-install-recommends"],
      ...["-o", "DPkg::Options::=--force-confold", "postgresql"],
    ], { env });
    return true;
  } catch (error) {
    // Without a package mirror the Postgres tests are skipped, with this reason above the count.
    console.error(`Postgres could not be installed: ${error}`);
    return false;
  }
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

export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return false;
    }
    throw error;
  }
}

/** Nothing is piped: the server that `pg_ctl` starts would keep the pipe open. */
export async function runOrThrow(
  program: string,
  args: readonly string[],
  options: Pick<Deno.CommandOptions, "cwd" | "env" | "uid" | "gid">,
): Promise<void> {
  const command = new Deno.Command(program, {
    ...options,
    args: [...args],
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  });
  const { code } = await command.output();
  if (code !== 0) throw new Error(`${program} ended with exit code ${code}`);
}
