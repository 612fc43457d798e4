/** A Postgres server that a test stops, crashes, copies and promotes. */
import { runOrThrow } from "./debian_packages.ts";
import { findBinaries, serverOwner } from "./postgres_programs.ts";
import { freePort } from "./ports.ts";
import { childrenOf } from "./process_tree.ts";

/** One server over one folder, on a port that it keeps. */
export interface MortalPostgres extends AsyncDisposable {
  /** Of its administrator. */
  readonly url: string;
  /** The process ids of the running server: its first process, then the processes that it started. */
  processes(): readonly number[];
  start(): Promise<void>;
  /** Ends it in good order. */
  stop(): Promise<void>;
  /** Ends it at once: what was not yet written is lost, and the next start recovers. */
  crash(): Promise<void>;
  /** Another server that follows this one, running; gone when it is disposed of. */
  createStandby(): Promise<MortalPostgres>;
  /** Makes a standby a server of its own. */
  promote(): Promise<void>;
}

const binaries = await findBinaries(["initdb", "pg_ctl", "pg_basebackup"]);

/** Why no server can be started here; null where one can. */
export const missingPostgres: string | null = binaries === null ? "no Postgres binaries" : null;

/** Makes a server and starts it. A commit is on disk when it is answered, unless set otherwise. */
export async function startMortalPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<MortalPostgres> {
  const machine = await machineOf(settings);
  await machine.run("initdb", [
    ...["-D", machine.data, "-U", "postgres", "-A", "trust", "--no-sync"],
    ...["-E", "UTF8", "--locale=C.UTF-8"],
  ]);
  return await started(machine);
}

interface Machine {
  readonly folder: string;
  readonly data: string;
  readonly port: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly run: (program: string, args: readonly string[]) => Promise<void>;
}

async function machineOf(settings: Readonly<Record<string, string>>): Promise<Machine> {
  if (binaries === null) throw new Error("There are no Postgres binaries");
  const folder = await Deno.makeTempDir({ prefix: "resource-api-postgres-" });
  const owner = await serverOwner();
  if (owner !== null) await Deno.chown(folder, owner.uid, owner.gid);
  return {
    folder,
    data: `${folder}/data`,
    port: freePort(),
    settings,
    run: (program, args) => runOrThrow(`${binaries}/${program}`, args, { cwd: folder, ...owner }),
  };
}

async function started(machine: Machine): Promise<MortalPostgres> {
  const { folder, data, port, settings, run } = machine;
  const all = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    // A process that dies loses what it holds; what it gave the kernel is safe without it.
    fsync: "off",
    shared_buffers: "32MB",
    ...settings,
  };
  const options = Object.entries(all).map(([name, value]) => `-c ${name}='${value}'`).join(" ");
  const control = (...args: readonly string[]) =>
    run("pg_ctl", ["-D", data, "-l", `${folder}/log`, "-w", "-t", "60", ...args]);
  let isRunning = false;

  async function start(): Promise<void> {
    await control("-o", options, "start");
    isRunning = true;
  }

  async function stop(mode: "fast" | "immediate"): Promise<void> {
    if (isRunning) await control("-m", mode, "stop");
    isRunning = false;
  }

  await start();
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    processes() {
      const [first = ""] = Deno.readTextFileSync(`${data}/postmaster.pid`).split("\n");
      return [Number(first), ...childrenOf(Number(first))];
    },
    start,
    stop: () => stop("fast"),
    crash: () => stop("immediate"),
    async createStandby() {
      const standby = await machineOf(settings);
      await standby.run("pg_basebackup", [
        ...["-h", "127.0.0.1", "-p", String(port), "-U", "postgres", "-D", standby.data],
        ...["-X", "stream", "-c", "fast", "-R", "--no-sync"],
      ]);
      return await started(standby);
    },
    promote: () => control("promote"),
    async [Symbol.asyncDispose]() {
      await stop("immediate");
      await Deno.remove(folder, { recursive: true });
    },
  };
}
