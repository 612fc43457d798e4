import { type App, createApp } from "../../src/app/app.ts";
import { decideCliRights } from "../../src/cli/cli_service.ts";
import { serveDatabase } from "../../src/cli/database/serve_database.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import type { ServiceSchema } from "../../src/openapi/service_schema.ts";
import { requireTableInfo } from "../../src/resource/define/resource_definition.ts";
import type { OracleTable } from "./oracle.ts";

/** The service over a database, as the command line serves the database without `--write`. */
export interface Served {
  readonly schema: ServiceSchema;
  /** The table of a resource by its path. */
  readonly tables: ReadonlyMap<string, OracleTable>;
  /** The number of requests that were sent. */
  requests: number;
  get(path: string, accept?: string): Promise<Answer>;
  close(): Promise<void>;
}

/** A response of the service, with its body as a string. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Serves a database within this process. */
export async function serve(
  place: string,
  schemas: readonly string[] | null,
): Promise<Served> {
  const rights = decideCliRights({ host: "127.0.0.1", public: true, writable: false }, "unused");
  const runtime = systemRuntime(({ kind, ...facts }) => {
    if (kind === "table_left_out" || kind === "request_failed") console.error(kind, facts);
  });
  const service = await serveDatabase(place, {
    ...{ rights, runtime, kv: undefined, accountsIn: undefined },
    ...{ isSearched: false, schemas, recording: null },
  });
  const app = await createApp(service.config);
  const get = getter(app);
  const schema: ServiceSchema = JSON.parse((await get("/__service/schema")).text);
  const infos = service.config.resources.map(({ table }) => requireTableInfo(table));
  const tables = new Map(schema.resources.map(({ path }, index) => {
    const { schema = null, name = "" } = infos[index] ?? {};
    return [path, { schema, name }];
  }));
  const served = {
    ...{ schema, tables, requests: 0 },
    get: (path: string, accept?: string) => {
      served.requests++;
      return get(path, accept);
    },
    close: () => app.close(),
  };
  return served;
}

function getter(app: App): Served["get"] {
  return async (path, accept = "application/json") => {
    const request = new Request(`http://127.0.0.1${path}`, { headers: { accept } });
    const response = await app.fetch(request);
    return { status: response.status, text: await response.text() };
  };
}
