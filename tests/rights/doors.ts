import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Problem } from "../../mod.ts";
import { createClient, ServiceError } from "../../exports/client.ts";
import { type Service, userHeader } from "../support/http.ts";
import type { Caller } from "./state.ts";
import type { TableName } from "./tables.ts";
import type { Work } from "./world.ts";

export type Operation =
  | ("list" | "get" | "count" | "aggregate" | "search" | "export")
  | ("create" | "create.on" | "update" | "replace" | "delete" | "import")
  | ("batch.create" | "batch.update" | "batch.replace" | "batch.upsert" | "batch.delete");

/** A request in a form for all doors. */
export interface Ask {
  readonly operation: Operation;
  readonly table: TableName;
  readonly caller: Caller;
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly filter?: string;
  readonly body?: unknown;
  readonly ifMatch?: string;
}

export interface Answer {
  readonly status: number;
  // deno-lint-ignore no-explicit-any -- each case checks it
  readonly body: any;
  /** The complete answer as text. */
  readonly text: string;
}

export const doorNames = ["http", "code", "client", "mcp", "view", "procedure", "hook"] as const;
export type Door = typeof doorNames[number];

const reads: readonly Operation[] = ["list", "get", "count", "aggregate", "search", "export"];
export const isRead = (operation: Operation): boolean => reads.includes(operation);

const ofMcp: readonly Operation[] = [
  ...(["list", "get", "count", "aggregate", "search"] as const),
  ...(["create", "update", "delete"] as const),
];

/** Returns true if a door has the operation. */
export function passes(door: Door, { operation, caller, table, ifMatch }: Ask): boolean {
  switch (door) {
    case "http":
      return true;
    case "view":
      return isRead(operation);
    case "mcp":
      // The tools require the ETag of a row that has one.
      return ofMcp.includes(operation) &&
        (isRead(operation) || operation === "create" || table !== "tasks" || ifMatch !== undefined);
    case "procedure":
    case "hook":
      return caller !== null && operation !== "export" && operation !== "import";
    default:
      return operation !== "export" && operation !== "import";
  }
}

const routes: Readonly<Record<Operation, readonly [method: string, path: string]>> = {
  list: ["GET", ""],
  get: ["GET", "/:id"],
  count: ["GET", "/count"],
  aggregate: ["GET", "/aggregate"],
  search: ["GET", "/search"],
  export: ["GET", ""],
  create: ["POST", ""],
  "create.on": ["POST", "?on=id"],
  update: ["PATCH", "/:id"],
  replace: ["PUT", "/:id"],
  delete: ["DELETE", "/:id"],
  import: ["POST", "/import"],
  "batch.create": ["POST", "/batch"],
  "batch.update": ["PATCH", "/batch"],
  "batch.replace": ["PUT", "/batch"],
  "batch.upsert": ["POST", "/batch/upsert"],
  "batch.delete": ["DELETE", "/batch"],
};

const headersOf = (caller: Caller): Record<string, string> =>
  caller === null ? {} : { [userHeader]: caller };

function bodyOf({ operation, filter, body }: Ask): unknown {
  if (operation === "batch.update") return { filter, patch: body };
  if (operation === "batch.delete") return { filter };
  return operation.startsWith("batch.") ? { items: body } : body;
}

const own = { remoteAddr: { transport: "tcp", hostname: "127.0.0.1" } } as const;

/** The doors of a service. */
export class Doors {
  readonly #service: Service;
  readonly #works: Map<string, Work>;
  readonly #mcp = new Map<Caller, Promise<Client>>();
  readonly #views = new Map<Caller, string>();
  #count = 0;

  constructor(service: Service, works: Map<string, Work>) {
    this.#service = service;
    this.#works = works;
  }

  async send(door: Door, ask: Ask): Promise<Answer> {
    switch (door) {
      case "http":
        return await this.#request(ask, "/api", headersOf(ask.caller));
      case "view":
        return await this.#view(ask);
      case "code":
        return await inCode(this.#service.app.as(userOf(ask.caller)), ask);
      case "client":
        return await this.#byClient(ask);
      case "mcp":
        return await this.#byMcp(ask);
      default:
        return await this.#inside(door, ask);
    }
  }

  /** Forgets the tokens of views, which end after ten minutes. */
  forgetViews(): void {
    this.#views.clear();
  }

  async close(): Promise<void> {
    for (const client of this.#mcp.values()) await (await client).close();
  }

  async #request(ask: Ask, base: string, headers: Record<string, string>): Promise<Answer> {
    const { operation, table, key = "", query = {}, filter, ifMatch } = ask;
    const [method, path] = routes[operation];
    const url = new URL(`http://localhost${base}/${table}${path.replace(":id", key)}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    if (filter !== undefined && !operation.startsWith("batch.")) {
      url.searchParams.set("filter", filter);
    }
    const body = isRead(operation) || operation === "delete" ? undefined : bodyOf(ask);
    const type = operation === "import" ? "application/x-ndjson" : "application/json";
    const response = await this.#service.app.fetch(
      new Request(url, {
        method,
        headers: {
          ...headers,
          ...(body === undefined ? {} : { "content-type": type }),
          ...(ifMatch === undefined ? {} : { "if-match": ifMatch }),
          ...(operation === "export" ? { accept: "application/x-ndjson" } : {}),
        },
        body: typeof body === "string" || body === undefined ? body ?? null : JSON.stringify(body),
      }),
      own,
    );
    const text = await response.text();
    const { status } = response;
    const isLines = response.headers.get("content-type")?.includes("ndjson") === true;
    const parsed = isLines
      ? { items: text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line)) }
      : text === ""
      ? null
      : JSON.parse(text);
    return { status, body: parsed, text };
  }

  async #view(ask: Ask): Promise<Answer> {
    const { caller } = ask;
    let token = this.#views.get(caller);
    if (token === undefined) {
      const response = await this.#service.app.fetch(
        new Request("http://localhost/__service/ui/action/view-as", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ user: userOf(caller) }),
        }),
        own,
      );
      token = String((await response.json()).token);
      this.#views.set(caller, token);
    }
    return await this.#request(ask, "/__service/ui/as/api", { "service-view-as": token });
  }

  /** Makes the call in a hook or a procedure. */
  async #inside(door: "procedure" | "hook", ask: Ask): Promise<Answer> {
    const name = `work${++this.#count}`;
    let answer: Answer | null = null;
    this.#works.set(name, async (api) => {
      answer = await inCode(api as Api, ask);
    });
    const headers = headersOf(ask.caller);
    const carrier = door === "hook"
      ? await this.#service.send("POST", "/api/probes", { what: name }, headers)
      : await this.#service.send("POST", "/api/probes/rpc/run", JSON.stringify(name), headers);
    this.#works.delete(name);
    if (answer === null) throw new Error(`${door}: ${carrier.status} ${carrier.body?.detail}`);
    if (carrier.status >= 300) return { ...carrier, text: JSON.stringify(carrier.body) };
    return answer;
  }

  async #byClient(ask: Ask): Promise<Answer> {
    const { operation, table, key = "", body, caller } = ask;
    const headers = headersOf(caller);
    const client: Any = createClient({
      baseUrl: "http://localhost",
      headers,
      fetch: (request: Request) => this.#service.app.fetch(request),
    });
    const api = client[table];
    const query = queryOf(ask);
    const id = table === "taggings" ? key.split(",") : key;
    const write = { ifMatch: ask.ifMatch };
    const run: Partial<Record<Operation, () => Promise<unknown>>> = {
      list: () => api.list(query),
      get: async () => (await api.get(id, query)).value,
      count: async () => ({ count: await api.count(query) }),
      aggregate: () => api.aggregate(query),
      search: () => api.search(query),
      create: async () => (await api.create(body)).value,
      "create.on": async () => (await api.create(body, { on: ["id"] })).value,
      update: async () => (await api.update(id, body, write)).value,
      replace: async () => (await api.replace(id, body, write)).value,
      delete: async () => (await api.delete(id, write), null),
      "batch.create": async () => ({ items: await api.createBatch(body) }),
      "batch.update": async () => ({ count: await api.updateBatch(ask.filter, body) }),
      "batch.replace": async () => ({ items: await api.replaceBatch(body) }),
      "batch.upsert": async () => ({ items: await api.upsertBatch(body) }),
      "batch.delete": async () => ({ count: await api.deleteBatch(ask.filter) }),
    };
    try {
      return succeeded(operation, await run[operation]?.());
    } catch (error) {
      if (!(error instanceof ServiceError) || error.status === undefined) throw error;
      return { status: Number(error.status), body: null, text: JSON.stringify(error.problem) };
    }
  }

  async #byMcp(ask: Ask): Promise<Answer> {
    const { caller, operation, table, key, filter, query = {}, body, ifMatch } = ask;
    let client = this.#mcp.get(caller);
    if (client === undefined) {
      client = connect(this.#service, headersOf(caller));
      this.#mcp.set(caller, client);
    }
    const { totalCount: _total, limit, count: _count, groupBy, sum, min, ...others } = query;
    const names = (list: string | undefined) => list?.split(",");
    const target = {
      ...{ resource: table, ...others },
      ...(key === undefined ? {} : { id: key }),
      ...(filter === undefined ? {} : { filter }),
      ...(limit === undefined ? {} : { limit: Math.min(20, Number(limit)) }),
    };
    const condition = ifMatch === undefined ? {} : { if_match: ifMatch };
    const metrics = { groupBy: names(groupBy), sum: names(sum), min: names(min), count: true };
    const [name, args]: readonly [string, object] = operation === "count"
      ? ["aggregate", { ...target, count: true }]
      : operation === "aggregate"
      ? ["aggregate", { ...target, ...JSON.parse(JSON.stringify(metrics)) }]
      : operation === "search"
      ? ["search", target]
      : operation === "delete"
      ? ["delete_row", { ...target, ...condition }]
      : operation === "create" || operation === "update"
      ? ["write_row", { ...target, values: body, ...condition }]
      : ["query_rows", target];
    const called: Any = await (await client).callTool({
      name,
      // The arguments are plain data.
      arguments: args as Record<string, unknown>,
    });
    const text = String(called.content[0].text);
    const json = text.startsWith("{") ? JSON.parse(text) : null;
    if (called.isError === true) {
      // A tool may require the ETag of a row, which HTTP does not require.
      return {
        status: json?.refused?.status ?? (/if_match/.test(text) ? 428 : 400),
        body: json,
        text,
      };
    }
    const data = json?.data;
    const shaped = operation === "count"
      ? { count: data.groups[0].count }
      : Array.isArray(data)
      ? { items: data, nextCursor: json.nextCursor ?? null, total: json.total }
      : data;
    return { ...succeeded(operation, operation === "delete" ? null : shaped), text };
  }
}

// deno-lint-ignore no-explicit-any -- a call of any operation, as data
type Any = any;
type Api = { of(table: string): Any };

const userOf = (caller: Caller) => caller === null ? null : { id: caller };

const queryOf = ({ query = {}, filter, operation }: Ask): Record<string, unknown> => ({
  ...query,
  ...(query["limit"] === undefined ? {} : { limit: Number(query["limit"]) }),
  ...(filter === undefined ? {} : { filter }),
  ...lists(query, ["groupBy", "sum", "min"]),
  ...(operation === "aggregate" ? { count: true } : {}),
});

const lists = (query: Readonly<Record<string, string>>, names: readonly string[]) =>
  Object.fromEntries(names.flatMap((name) => {
    const value = query[name];
    return value === undefined ? [] : [[name, value.split(",")]];
  }));

function succeeded(operation: Operation, body: unknown): Answer {
  const status = operation === "create" || operation === "batch.create"
    ? 201
    : operation === "delete"
    ? 204
    : 200;
  const text = JSON.stringify(body ?? null);
  return { status, body: JSON.parse(text), text };
}

async function inCode(given: unknown, ask: Ask): Promise<Answer> {
  const { operation, table, key = "", body } = ask;
  const api = (given as Api).of(table);
  const query = queryOf(ask);
  const id = table === "taggings" ? key.split(",") : key;
  const write = { ifMatch: ask.ifMatch };
  const run: Partial<Record<Operation, () => Promise<unknown>>> = {
    list: () => api.list(query),
    get: async () => (await api.get(id, query)).value,
    count: async () => ({ count: await api.count(query) }),
    aggregate: () => api.aggregate(query),
    search: () => api.search(query),
    create: async () => (await api.create(body)).value,
    "create.on": async () => (await api.create(body, { on: ["id"] })).value,
    update: async () => (await api.update(id, body, write)).value,
    replace: async () => (await api.replace(id, body, write)).value,
    delete: async () => (await api.delete(id, write), null),
    "batch.create": async () => ({ items: await api.batch.create(body) }),
    "batch.update": async () => ({ count: await api.batch.update(ask.filter, body) }),
    "batch.replace": async () => ({ items: await api.batch.replace(body) }),
    "batch.upsert": async () => ({ items: await api.batch.upsert(body) }),
    "batch.delete": async () => ({ count: await api.batch.delete(ask.filter) }),
  };
  try {
    return succeeded(operation, await run[operation]?.());
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { status, message, details } = error;
    return { status, body: { detail: message }, text: JSON.stringify([message, details]) };
  }
}

async function connect(service: Service, headers: Record<string, string>): Promise<Client> {
  const transport = new StreamableHTTPClientTransport(new URL("http://localhost/__service/mcp"), {
    requestInit: { headers },
    fetch: (url, init) => service.app.fetch(new Request(url, init)),
  });
  const client = new Client({ name: "tests", version: "1" }, {
    capabilities: { elicitation: {} },
    versionNegotiation: { mode: "auto" },
  });
  client.setRequestHandler("elicitation/create", () => ({
    ...{ action: "accept" as const, content: { agree: true } },
  }));
  await client.connect(transport);
  return client;
}
