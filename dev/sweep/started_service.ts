import { openDatabase } from "../../mod.ts";
import type { ServiceSchema } from "../../src/openapi/service_schema.ts";
import { parseJson, writeJson } from "../../src/schema/exact_json.ts";
import type { TableInfo } from "../../src/schema/table_info.ts";
import { startChild } from "../../tests/serve/child_process.ts";
import { openEventStream } from "../../tests/support/event_stream.ts";
import type { Served } from "../check_database/served.ts";
import type { Item } from "../check_database/writes/stored_rows.ts";
import type { Reply } from "../check_database/writes/write_check.ts";

/** The command line over a database with `--write --triggers`, as a process. */
export interface StartedService extends Served {
  /** The described tables by the paths of their resources. */
  readonly infos: ReadonlyMap<string, TableInfo>;
  /** The tables, views and columns that are left out, with reasons. */
  readonly leftOut: readonly string[];
  send(method: string, path: string, body: Item | null): Promise<Reply>;
  subscribe(path: string): ReturnType<typeof openEventStream>;
}

const cli = new URL("../../cli.ts", import.meta.url).pathname;

/** Starts the command line, and resolves when it listens. */
export async function startService(place: string): Promise<StartedService> {
  const schemas = place.startsWith("postgres:") ? ["--schema", "*"] : [];
  const described = await describe(place, schemas.length > 0);
  const child = startChild(
    [cli, place, "--port", "0", "--write", "--triggers", ...schemas],
    { maxLifeMs: 3_600_000, env: { SERVICE_SECRET: "a secret for the sweep only" } },
  );
  try {
    const [, origin = ""] = await child.printed(/(http:\/\/\S+?)\/healthz/);
    const [, token = ""] = await child.printed(/Bearer (\S+)/);
    await child.printed(/Try:/);
    const call = (path: string, init: RequestInit = {}) => {
      const headers = { authorization: `Bearer ${token}`, ...init.headers };
      return fetch(`${origin}${path}`, { ...init, headers });
    };
    const answer = await call("/__service/schema");
    const schema: ServiceSchema = await answer.json();
    const infos = new Map(
      schema.resources.map(({ path }, index) => {
        const info = described.tables[index];
        if (info === undefined) throw new Error(`${path} has no table`);
        return [path, info] as const;
      }),
    );
    const tables = new Map(
      [...infos].map(([path, { schema, name }]) => [path, { schema, name }] as const),
    );
    const service: StartedService = {
      ...{ schema, infos, tables, requests: 0, leftOut: described.leftOut },
      async get(path, accept = "application/json") {
        service.requests++;
        const response = await call(path, { headers: { accept } });
        return { status: response.status, text: await response.text() };
      },
      async send(method, path, body) {
        service.requests++;
        const response = await call(path, {
          method,
          headers: body === null ? {} : { "content-type": "application/json" },
          body: body === null ? null : writeJson(body),
        });
        const text = await response.text();
        const etag = response.headers.get("etag");
        // The cast is safe: the body of a response is an object.
        const parsed = (text === "" ? {} : parseJson(text)) as Item;
        return { status: response.status, body: parsed, etag };
      },
      subscribe: (path) => openEventStream((signal) => call(path, { signal }), () => {}),
      async close() {
        child.signal();
        await child.ended();
      },
    };
    return service;
  } catch (error) {
    await child[Symbol.asyncDispose]();
    throw error;
  }
}

async function describe(place: string, isServer: boolean) {
  const url = isServer ? place : `sqlite:${place}`;
  const db = await openDatabase(url, { readOnly: true });
  try {
    const { tables, leftOut, refusedWrites = [] } = await db.introspect(
      isServer ? { schemas: ["*"] } : {},
    );
    const sentences = [...leftOut, ...refusedWrites].map(({ table, reason }) =>
      `${table}: ${reason}`
    );
    return { tables, leftOut: sentences };
  } finally {
    await db.close();
  }
}
