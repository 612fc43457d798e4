/** What the faults of the nemesis act on. */
import postgres from "postgres";
import { DatabaseSync } from "node:sqlite";
import { sleep } from "../../src/runtime/runtime.ts";
import { type PostgresProxy, postgresProxy } from "../db/postgres_proxy.ts";
import type { Chance } from "../live/checker/chance.ts";
import { type MortalPostgres, startMortalPostgres } from "../support/mortal_postgres.ts";
import { type Pgbouncer, pgbouncerForTests, startPgbouncer } from "../support/pgbouncer.ts";
import { Member } from "./fleet.ts";

export type Engine = "sqlite" | "postgres";

/** A running service with its database. */
export interface World {
  readonly chance: Chance;
  readonly members: readonly Member[];
  readonly place: PostgresPlace | SqlitePlace;
  /** Waits for a time up to `maxMs`, which the seed decides. */
  hold(maxMs: number): Promise<void>;
  /** Marks a time in which no member can use its database. */
  outage(work: () => Promise<void>): Promise<void>;
  /** Declares that acknowledged writes may be lost: an asynchronous standby takes over. */
  permitLoss(): void;
}

/** A database of the world. The nemesis reads it without the service. */
export interface Place {
  readonly url: string;
  /** The URL of the database for a member that has a pooler. */
  readonly poolerUrl: string | null;
  query(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Resolves once no transaction of the service runs. */
  untilQuiet(): Promise<void>;
}

/** Few connections, so that others can take all of them. */
const settings = { max_connections: "80", wal_writer_delay: "10s" };
const role = "app";
const database = "nemesis";

/** A server that faults stop, replace and cut off. */
export class PostgresPlace implements Place, AsyncDisposable {
  server: MortalPostgres;
  readonly proxy: PostgresProxy;
  readonly pooler: Pgbouncer | null;
  readonly url: string;
  readonly poolerUrl: string | null;
  readonly #old: MortalPostgres[] = [];

  constructor(server: MortalPostgres, proxy: PostgresProxy, pooler: Pgbouncer | null) {
    this.server = server;
    this.proxy = proxy;
    this.pooler = pooler;
    this.url = urlOf(proxy.url);
    this.poolerUrl = pooler === null ? null : urlOf(pooler.url);
  }

  static async open(): Promise<PostgresPlace> {
    const server = await startMortalPostgres(settings);
    const places: PostgresPlace[] = [];
    const proxy = postgresProxy(() => (places[0]?.server ?? server).url);
    const found = await pgbouncerForTests();
    const pooler = "path" in found ? await startPgbouncer(found.path, proxy.url, role) : null;
    const place = new PostgresPlace(server, proxy, pooler);
    places.push(place);
    await place.administer(async (sql) => {
      await sql.unsafe(`CREATE ROLE ${role} LOGIN`);
      await sql.unsafe(`CREATE DATABASE ${database} OWNER ${role}`);
    }, "postgres");
    return place;
  }

  /** Runs statements as the administrator, without the proxy. */
  async administer<T>(work: (sql: postgres.Sql) => Promise<T>, name = database): Promise<T> {
    const url = new URL(this.server.url);
    url.pathname = name;
    const sql = postgres(url.href, { max: 1, onnotice: () => {} });
    try {
      return await work(sql);
    } finally {
      await sql.end();
    }
  }

  async query(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return await this.administer((sql) => sql.unsafe(text));
  }

  async untilQuiet(): Promise<void> {
    const text = `SELECT 1 AS n FROM pg_stat_activity WHERE usename = '${role}'
      AND (state <> 'idle' OR query_start > now() - interval '100 ms')`;
    for (let tries = 0; tries < 300; tries++) {
      if ((await this.query(text)).length === 0) return;
      await sleep(50);
    }
    // A reader of the change log that never rests is not a fault of this check.
  }

  /** Replaces the server by its standby, without its help. */
  async failOver(standby: MortalPostgres): Promise<void> {
    const { server } = this;
    await server.crash();
    await standby.promote();
    this.server = standby;
    this.#old.push(server);
    this.proxy.cut();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pooler?.[Symbol.asyncDispose]();
    await this.proxy[Symbol.asyncDispose]();
    for (const one of [this.server, ...this.#old]) await one[Symbol.asyncDispose]();
  }
}

function urlOf(server: string): string {
  const url = new URL(server);
  url.username = role;
  url.pathname = database;
  return url.href;
}

/** A file that faults lock and starve. */
export class SqlitePlace implements Place, AsyncDisposable {
  readonly file: string;
  readonly url: string;
  readonly poolerUrl = null;
  /** The folders of the database and of the key-value store. */
  readonly folders: { readonly database: string; readonly store: string };

  constructor(folders: { readonly database: string; readonly store: string }) {
    this.folders = folders;
    this.file = `${folders.database}/nemesis.db`;
    this.url = `sqlite:${this.file}`;
  }

  query(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    using file = new DatabaseSync(this.file, { timeout: 5_000 });
    return Promise.resolve(file.prepare(text).all());
  }

  untilQuiet(): Promise<void> {
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Starts the processes of the service: one with workers, and one or two alone. */
export async function startMembers(
  { url, poolerUrl }: Place,
  store: string,
): Promise<readonly Member[]> {
  const env = { NEMESIS_DB: url, NEMESIS_KV: store };
  const members = [
    new Member(2, env),
    new Member(1, poolerUrl === null ? env : { ...env, NEMESIS_POOLER: poolerUrl }),
  ];
  await Promise.all(members.map((member) => member.start()));
  return members;
}
