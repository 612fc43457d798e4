/** A Postgres server of the tests' own: one cluster in a temporary folder, gone when they end. */
import { runOrThrow } from "./debian_packages.ts";
import { findBinaries, installPostgres, serverOwner } from "./postgres_programs.ts";
import { freePort } from "./ports.ts";

/** A running server, reached by its administrator's URL; or the reason why there is none. */
export type PostgresCluster =
  | { readonly url: string; readonly stop: () => Promise<void> }
  | { readonly missing: string };

/**
 * Starts a cluster from the binaries of this machine, which on Debian as root are installed when
 * they are absent. A server that is there and does not start is an error, not a reason to skip.
 * `dir` is the folder in which that of the cluster is made, where it is not that of the system.
 */
export async function startPostgresCluster(
  { settings = {}, ...options }: {
    readonly dir?: string;
    readonly settings?: Readonly<Record<string, string>>;
  } = {},
): Promise<PostgresCluster> {
  const binaries = await findBinaries() ?? (await installPostgres() ? await findBinaries() : null);
  if (binaries === null) return { missing: "no Postgres binaries, and none could be installed" };
  const folder = await Deno.makeTempDir({ ...options, prefix: "resource-api-postgres-" });
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
      ...["-o", serverOptions(port, settings), "start"],
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

function serverOptions(port: number, more: Readonly<Record<string, string>>): string {
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
    // Most of what a cluster takes, in memory perhaps.
    max_wal_size: "256MB",
    ...more,
  };
  return Object.entries(settings).map(([name, value]) => `-c ${name}='${value}'`).join(" ");
}
