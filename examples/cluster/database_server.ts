import postgres from "postgres";
import { until } from "./until.ts";
import type { Processes } from "./processes.ts";

export interface DatabaseServerOptions {
  readonly address: string;
  /** The folder of the data. */
  readonly data: string;
  /** The folder that contains `postgres`, `initdb` and `pg_basebackup`. */
  readonly programs: string;
  readonly owner: { readonly uid: number; readonly gid: number } | null;
  readonly processes: Processes;
  readonly startedBy: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
  /** Returns a file of the example. */
  configuration(file: string): Promise<string>;
}

/** A Postgres server, which is the primary or the standby. */
export class DatabaseServer {
  readonly address: string;
  readonly #options: DatabaseServerOptions;

  constructor(options: DatabaseServerOptions) {
    this.address = options.address;
    this.#options = options;
  }

  /** Creates an empty primary. */
  async create(): Promise<void> {
    const { data } = this.#options;
    await this.#runProgram("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync"]);
    await this.#start();
  }

  /** Replaces the data by a copy of the primary's, and follows the primary. */
  async follow(primary: string): Promise<void> {
    const { data } = this.#options;
    await Deno.remove(data, { recursive: true }).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
    await this.#runProgram("pg_basebackup", [
      ...["-h", primary, "-U", "replicator", "-D", data],
      ...["-X", "stream", "-c", "fast", "-R", "--no-sync"],
    ]);
    await this.#start();
  }

  /** Waits for a standby. From then on, a COMMIT waits for the standby. */
  async waitForStandby(): Promise<void> {
    const states = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'";
    await this.run("postgres", async (sql) => {
      await until(async () => (await sql.unsafe(states)).length > 0);
      await this.#writeSynchronous("*");
      await sql.unsafe("SELECT pg_reload_conf()");
      const synchronous = `${states} AND sync_state = 'sync'`;
      await until(async () => (await sql.unsafe(synchronous)).length > 0);
    });
  }

  /** Makes a standby receive nothing more from the primary. */
  async stopFollowing(): Promise<void> {
    await this.run("postgres", async (sql) => {
      await sql.unsafe("ALTER SYSTEM SET primary_conninfo = ''");
      await sql.unsafe("SELECT pg_reload_conf()");
      await until(async () => (await sql`SELECT 1 FROM pg_stat_wal_receiver`).length === 0);
    });
  }

  /** Makes a standby the primary. */
  async promote(): Promise<void> {
    await this.run("postgres", (sql) => sql.unsafe("SELECT pg_promote()"));
  }

  /** Ends the server without a chance to finish anything. */
  async kill(): Promise<void> {
    await this.#options.processes.stop(this.#name, "SIGKILL");
  }

  /** Runs statements as the administrator. */
  async run<T>(database: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
    const url = `postgres://postgres@${this.address}/${database}`;
    const sql = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 5 });
    try {
      return await work(sql);
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  get #name(): string {
    return `postgres ${this.address}`;
  }

  async #start(): Promise<void> {
    const { data, configuration, processes, programs, owner, startedBy, settings } = this.#options;
    for (const file of ["postgresql.conf", "pg_hba.conf"]) {
      const text = await configuration(file);
      const own = text.replace(/listen_addresses = '.*'/, `listen_addresses = '${this.address}'`);
      await Deno.writeTextFile(`${data}/${file}`, own);
    }
    // A standby that becomes the primary has no standby.
    await this.#writeSynchronous("");
    const more = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const [path = "", ...args] = [...startedBy, `${programs}/postgres`, "-D", data, ...more];
    processes.start(this.#name, { path }, args, startedBy.length > 0 ? {} : { ...owner });
    await until(async () => (await this.run("postgres", (sql) => sql`SELECT 1`)).length === 1);
  }

  async #writeSynchronous(names: string): Promise<void> {
    const { data, owner } = this.#options;
    const file = `${data}/synchronous.conf`;
    await Deno.writeTextFile(file, `synchronous_standby_names = '${names}'\n`);
    if (owner !== null) await Deno.chown(file, owner.uid, owner.gid);
  }

  async #runProgram(name: string, args: readonly string[]): Promise<void> {
    const { programs, processes, owner } = this.#options;
    await processes.run({ path: `${programs}/${name}` }, args, { ...owner, cwd: "/" });
  }
}
