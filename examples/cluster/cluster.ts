/** Starts, replaces and ends the processes of the example on one machine. */
import { SignJWT } from "jose";
import { DatabaseServer } from "./database_server.ts";
import { Processes, type Program } from "./processes.ts";
import { until } from "./until.ts";

export interface ClusterOptions {
  /** A new folder for the data and the logs. */
  readonly folder: string;
  readonly programs: {
    /** The folder that contains `postgres`, `initdb` and `pg_basebackup`. */
    readonly postgres: string;
    readonly nginx: Program;
    readonly pgbouncer: Program;
  };
  /** The user of all processes except the services. Null: the user of this process. */
  readonly owner: { readonly uid: number; readonly gid: number } | null;
  /** The addresses in the files → the addresses to use instead. */
  readonly addresses?: Readonly<Record<string, string>>;
  /** Whether a COMMIT waits for the standby. Default: true. */
  readonly isSynchronous?: boolean;
  /** More settings of Postgres. */
  readonly settings?: Readonly<Record<string, string>>;
  /** A program that starts the server 127.0.0.2 as the owner, with its arguments. */
  readonly startedBy?: readonly string[];
}

const files = new URL("./", import.meta.url).pathname;
const cli = new URL("../../cli.ts", import.meta.url).pathname;
const serviceNames = ["127.0.0.4", "127.0.0.5"] as const;

export class Cluster implements AsyncDisposable {
  readonly #options: ClusterOptions;
  readonly #processes: Processes;
  readonly #jwtSecret = crypto.randomUUID();
  readonly #env: Readonly<Record<string, string>>;
  #primary: DatabaseServer;
  #standby: DatabaseServer;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.#processes = new Processes(options.folder);
    const server = (name: string, startedBy: readonly string[]) =>
      new DatabaseServer({
        ...{ address: this.addressOf(name), startedBy, processes: this.#processes },
        ...{ programs: options.programs.postgres, owner: options.owner },
        data: `${options.folder}/${name}`,
        configuration: (file) => this.#read(file),
        settings: options.settings ?? {},
      });
    this.#primary = server("127.0.0.2", options.startedBy ?? []);
    this.#standby = server("127.0.0.3", []);
    this.#env = {
      POSTGRES_SERVERS: `${this.#primary.address},${this.#standby.address}`,
      POOLER: `${this.addressOf("127.0.0.6")}:6432`,
      // Both services need the same secrets.
      SERVICE_SECRET: crypto.randomUUID(),
      JWT_SECRET: this.#jwtSecret,
    };
  }

  /** The URL of nginx. */
  get url(): string {
    return `http://${this.addressOf("127.0.0.1")}:8080`;
  }

  /** The URLs of the services, without nginx. */
  get services(): readonly string[] {
    return serviceNames.map((name) => `http://${this.addressOf(name)}:8000`);
  }

  get primary(): DatabaseServer {
    return this.#primary;
  }

  get standby(): DatabaseServer {
    return this.#standby;
  }

  /** Returns the address that is used in place of an address of the files. */
  addressOf(name: string): string {
    return this.#options.addresses?.[name] ?? name;
  }

  /** Returns a token that proves that a request is from this user. */
  async tokenOf(user: string): Promise<string> {
    return await new SignJWT().setProtectedHeader({ alg: "HS256" }).setSubject(user)
      .setExpirationTime("1 day").sign(new TextEncoder().encode(this.#jwtSecret));
  }

  async start(): Promise<void> {
    const { folder, owner, programs } = this.#options;
    if (owner !== null) await Deno.chown(folder, owner.uid, owner.gid);
    await this.#primary.create();
    await this.#primary.run("postgres", async (sql) => {
      await sql.unsafe("CREATE ROLE app LOGIN");
      await sql.unsafe("CREATE ROLE replicator LOGIN REPLICATION");
      for (const name of ["shop", "shop_kv"]) await sql.unsafe(`CREATE DATABASE ${name} OWNER app`);
    });
    await this.#startStandby();
    await this.#writePrimary();
    await Deno.writeTextFile(`${folder}/pgbouncer.ini`, await this.#read("pgbouncer.ini"));
    const asOwner = { ...owner, cwd: folder };
    this.#processes.start("pgbouncer", programs.pgbouncer, ["-q", "pgbouncer.ini"], asOwner);
    await untilConnected(this.addressOf("127.0.0.6"), 6432);
    const setUp = ["run", "-A", "--no-check", `${files}create_tables.ts`];
    await this.#processes.run({ path: Deno.execPath() }, setUp, { env: this.#env });
    for (const name of serviceNames) await this.#startService(name);
    await Deno.writeTextFile(
      `${folder}/nginx.conf`,
      this.#nginxFile(await this.#read("nginx.conf")),
    );
    const args = ["-p", folder, "-e", "stderr", "-c", `${folder}/nginx.conf`, "-g", "daemon off;"];
    this.#processes.start("nginx", programs.nginx, args, asOwner);
    await untilConnected(this.addressOf("127.0.0.1"), 8080);
  }

  /** Replaces both services, one after the other. */
  async restartServices(): Promise<void> {
    for (const name of serviceNames) {
      await this.#processes.stop(name, "SIGTERM");
      await this.#startService(name);
    }
  }

  /** Makes the standby the primary. The old primary must not accept writes any more. */
  async failOver(): Promise<void> {
    await this.#standby.promote();
    [this.#primary, this.#standby] = [this.#standby, this.#primary];
    await this.#writePrimary();
    this.#processes.signal("pgbouncer", "SIGHUP");
  }

  /** Replaces the old primary by a standby of the new one. */
  async rejoin(): Promise<void> {
    await this.#standby.kill();
    await this.#startStandby();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#processes[Symbol.asyncDispose]();
  }

  async #startStandby(): Promise<void> {
    await this.#standby.follow(this.#primary.address);
    if (this.#options.isSynchronous ?? true) await this.#primary.waitForStandby();
  }

  /** Starts a service, and resolves when it is ready. */
  async #startService(name: (typeof serviceNames)[number]): Promise<void> {
    const host = this.addressOf(name);
    const args = ["run", "-A", "--no-check", cli, "--config", `${files}service.config.ts`]
      .concat(["--host", host, "--port", "8000"]);
    this.#processes.start(name, { path: Deno.execPath() }, args, { env: this.#env });
    await until(async () => {
      const response = await fetch(`http://${host}:8000/readyz`);
      await response.body?.cancel();
      return response.ok;
    });
  }

  async #writePrimary(): Promise<void> {
    const text = (await this.#read("primary.ini"))
      .replace(this.addressOf("127.0.0.2"), this.#primary.address);
    await Deno.writeTextFile(`${this.#options.folder}/primary.ini`, text);
  }

  /** Returns a file of the example, with the addresses to use. */
  async #read(name: string): Promise<string> {
    const text = await Deno.readTextFile(files + name);
    return Object.entries(this.#options.addresses ?? {}).reduce(
      (replaced, [from, to]) => replaced.replaceAll(from, to),
      text,
    );
  }

  /** Adds what a package of nginx sets for the whole machine: the folders of its files. */
  #nginxFile(text: string): string {
    const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${this.#options.folder}/nginx_${name};`);
    const own = `access_log off; ${folders.join(" ")}`;
    return `pid ${this.#options.folder}/nginx.pid;\n${text.replace("http {", `http { ${own}`)}`;
  }
}

async function untilConnected(hostname: string, port: number): Promise<void> {
  await until(async () => {
    (await Deno.connect({ hostname, port })).close();
    return true;
  });
}
