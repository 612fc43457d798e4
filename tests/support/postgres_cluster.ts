/** A Postgres server of the tests' own: one cluster in a temporary folder, gone when they end. */

/** A running server, reached by its administrator's URL; or the reason why there is none. */
export type PostgresCluster =
  | { readonly url: string; readonly stop: () => Promise<void> }
  | { readonly missing: string };

/**
 * Starts a cluster from the binaries of this machine, which on Debian as root are installed when
 * they are absent. A server that is there and does not start is an error, not a reason to skip.
 */
export async function startPostgresCluster(): Promise<PostgresCluster> {
  const binaries = await findBinaries() ?? (await installOnDebian() ? await findBinaries() : null);
  if (binaries === null) return { missing: "no Postgres binaries, and none could be installed" };
  const folder = await Deno.makeTempDir({ prefix: "resource-api-postgres-" });
  try {
    const owner = await serverOwner();
    if (owner !== null) await Deno.chown(folder, owner.uid, owner.gid);
    const run = (program: string, args: readonly string[]) =>
      runOrThrow(`${binaries}/${program}`, args, { cwd: folder, ...owner });
    await run("initdb", [
      ...["-D", `${folder}/data`, "-U", "postgres", "-A", "trust", "--no-sync"],
      ...["-E", "UTF8", "--locale=C.UTF-8"],
    ]);
    const port = freePort();
    await run("pg_ctl", [
      ...["-D", `${folder}/data`, "-l", `${folder}/log`, "-w", "-t", "60"],
      ...["-o", serverOptions(port), "start"],
    ]);
    return {
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      stop: async () => {
        await run("pg_ctl", ["-D", `${folder}/data`, "-m", "immediate", "-w", "stop"]);
        await Deno.remove(folder, { recursive: true });
      },
    };
  } catch (error) {
    await Deno.remove(folder, { recursive: true });
    throw error;
  }
}

/** The folder that holds both `initdb` and `pg_ctl`; Debian keeps them off the PATH. */
async function findBinaries(): Promise<string | null> {
  const folders = (Deno.env.get("PATH") ?? "").split(":").filter((folder) => folder !== "");
  const debian = "/usr/lib/postgresql";
  if (await exists(debian)) {
    const versions = await Array.fromAsync(Deno.readDir(debian), (entry) => Number(entry.name));
    versions.sort((left, right) => right - left);
    folders.push(...versions.map((version) => `${debian}/${version}/bin`));
  }
  for (const folder of folders) {
    if (await exists(`${folder}/initdb`) && await exists(`${folder}/pg_ctl`)) return folder;
  }
  return null;
}

/** Whether the package went in. The packaging's own cluster is not created: it would only idle. */
async function installOnDebian(): Promise<boolean> {
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
async function serverOwner(): Promise<{ uid: number; gid: number } | null> {
  if (Deno.uid() !== 0) return null;
  const lines = (await Deno.readTextFile("/etc/passwd")).split("\n");
  const line = lines.find((line) => line.startsWith("postgres:")) ??
    lines.find((line) => line.startsWith("nobody:"));
  if (line === undefined) throw new Error("There is no user to run Postgres as");
  const [, , uid, gid] = line.split(":");
  return { uid: Number(uid), gid: Number(gid) };
}

function serverOptions(port: number): string {
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    // No socket file: two clusters on one machine would otherwise clash over its name.
    unix_socket_directories: "",
    max_connections: 300,
    shared_buffers: "64MB",
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
  };
  return Object.entries(settings).map(([name, value]) => `-c ${name}='${value}'`).join(" ");
}

function freePort(): number {
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

/** Nothing is piped: the server that `pg_ctl` leaves behind would keep the pipe open. */
async function runOrThrow(
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
