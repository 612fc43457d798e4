/** What the faults of the nemesis act on. */
import postgres from "postgres";
import { DatabaseSync } from "node:sqlite";
import { sleep } from "../../src/runtime/runtime.ts";
import { type PostgresProxy, postgresProxy } from "../db/postgres_proxy.ts";
import type { Chance } from "../live/checker/chance.ts";
import { type MortalPostgres, startMortalPostgres } from "../support/mortal_postgres.ts";
import { type Pgbouncer, pgbouncerForTests, startPgbouncer } from "../support/pgbouncer.ts";
import { withoutPrivilege } from "../support/without_privilege.ts";
import type { FaultyProxy } from "../search/faulty_proxy.ts";
import type { Requests } from "./clients.ts";
import { Member } from "./fleet.ts";
import type { Namespace } from "./namespace.ts";
import type { MovableClock } from "./movable_clock.ts";

export type Engine = "sqlite" | "postgres";

/** A running service with its database. */
export interface World {
  readonly chance: Chance;
  readonly members: readonly Member[];
  readonly place: PostgresPlace | SqlitePlace;
  /** The clock of one member. Null if this machine cannot move it. */
  readonly clock: MovableClock | null;
  /** The namespace of the last member. Null if there is none. */
  readonly namespace: Namespace | null;
  /** The proxy in front of OpenSearch. Null if no fault needs it. */
  readonly search: FaultyProxy | null;
  /** The folder of the temporary files of all members. Null if no small disk can be mounted. */
  readonly temporary: string | null;
  readonly requests: Requests;
  /** Every process serves again within this time after a fault. */
  readonly recoveryLimitMs: number;
  wrong(text: string): void;
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
  /** The key-value store. */
  readonly store: string;
  query(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Resolves once no transaction of the service runs. */
  untilQuiet(): Promise<void>;
}

/** Few connections, so that others can take all of them. */
const settings = { max_connections: "80", wal_writer_delay: "10s" };
const role = "app";
const database = "nemesis";

interface Reached {
  readonly server: MortalPostgres;
  readonly proxy: PostgresProxy;
}

/** A server that faults stop, replace and cut off. */
export class PostgresPlace implements Place, AsyncDisposable {
  server: MortalPostgres;
  readonly proxy: PostgresProxy;
  readonly pooler: Pgbouncer | null;
  readonly url: string;
  readonly poolerUrl: string | null;
  readonly store: string;
  /** The server of the key-value store, and the proxy in front of it. */
  readonly storeServer: MortalPostgres;
  readonly storeProxy: PostgresProxy;
  readonly #old: MortalPostgres[] = [];

  constructor(
    { server, proxy }: Reached,
    store: Reached,
    pooler: Pgbouncer | null,
  ) {
    this.server = server;
    this.proxy = proxy;
    this.pooler = pooler;
    this.storeServer = store.server;
    this.storeProxy = store.proxy;
    this.store = store.proxy.url;
    this.url = urlOf(proxy.url);
    this.poolerUrl = pooler === null ? null : urlOf(pooler.url);
  }

  /** A short run has no second server for the key-value store. */
  static async open(address: string, isShort: boolean): Promise<PostgresPlace> {
    const server = await startMortalPostgres(settings);
    const places: PostgresPlace[] = [];
    const proxy = postgresProxy(() => (places[0]?.server ?? server).url, undefined, address);
    const found = await pgbouncerForTests();
    const pooler = "path" in found ? await startPgbouncer(found.path, proxy.url, role) : null;
    const storeServer = isShort ? server : await startMortalPostgres();
    const store = {
      server: storeServer,
      proxy: postgresProxy(storeServer.url, undefined, address),
    };
    const place = new PostgresPlace({ server, proxy }, store, pooler);
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
    await this.storeProxy[Symbol.asyncDispose]();
    for (const one of new Set([this.server, this.storeServer, ...this.#old])) {
      await one[Symbol.asyncDispose]();
    }
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
  readonly store: string;
  /** The folders of the database and of the key-value store. */
  readonly folders: { readonly database: string; readonly store: string };

  constructor(folders: { readonly database: string; readonly store: string }) {
    this.folders = folders;
    this.file = `${folders.database}/nemesis.db`;
    this.url = `sqlite:${this.file}`;
    this.store = `${folders.store}/store.kv`;
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

/**
 * Starts the processes of the service: one with workers, one alone, with a clock of its own, and one
 * in a network namespace if there is one.
 */
export async function startMembers(
  { url, poolerUrl, store }: Place,
  { clock, namespace, search, temporary }: Pick<
    World,
    "clock" | "namespace" | "search" | "temporary"
  >,
): Promise<readonly Member[]> {
  const more = {
    ...(temporary === null ? {} : { TMPDIR: temporary }),
    NEMESIS_SEARCH_PREFIX: `nemesis_${Deno.pid}_`,
  };
  const searchAt = (url: string | undefined) => url === undefined ? {} : { NEMESIS_SEARCH: url };
  const env = { ...more, NEMESIS_DB: url, NEMESIS_KV: store, ...searchAt(search?.url) };
  const startedBy = withoutPrivilege ?? [];
  const members = [
    new Member(2, { env, startedBy }),
    new Member(1, {
      env: {
        ...env,
        ...clock?.env,
        ...(poolerUrl === null ? {} : { NEMESIS_POOLER: poolerUrl }),
      },
      startedBy,
    }),
  ];
  if (namespace !== null) {
    const { startedBy: enter, host, database } = namespace;
    const inside = (url: string) => url.replace("127.0.0.1", database);
    const env = {
      ...{ ...more, NEMESIS_DB: inside(url), NEMESIS_KV: inside(store) },
      ...(search === null ? {} : searchAt(inside(search.url))),
    };
    members.push(new Member(1, { env, startedBy: [...enter, ...startedBy] }, host));
  }
  await Promise.all(members.map((member) => member.start()));
  return members;
}
