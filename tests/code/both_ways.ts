import type { App, Filter, User } from "../../mod.ts";
import { Problem, type rsql } from "../../mod.ts";
import { keyPath } from "../../src/client/request/key_path.ts";
import { writeJson } from "../../src/schema/exact_json.ts";

/** A filter in the forms in which a call may have it: over HTTP it is the text. */
export interface GivenFilter {
  readonly text: string;
  /** The same by the builders, or by a template; null where only a text can say it. */
  readonly built: Filter | ReturnType<typeof rsql> | null;
}

/** One call, as data. */
export interface Call {
  readonly resource: string;
  readonly user: User | null;
  readonly operation:
    | ("list" | "get" | "count" | "aggregate" | "search" | "create" | "update" | "replace")
    | ("delete" | "restore" | "batch.create" | "batch.update" | "batch.replace")
    | ("batch.delete" | "batch.upsert" | "rpc");
  readonly key?: readonly unknown[];
  /** Of a URL, by name; a filter is apart. */
  readonly query?: Readonly<Record<string, unknown>>;
  readonly filter?: GivenFilter;
  readonly body?: unknown;
  readonly ifMatch?: string;
  readonly ifNoneMatch?: string;
  readonly optimisticId?: string;
  readonly procedure?: string;
}

/** What a call gave, in one form for both ways. */
export interface Result {
  /** The slug of a problem; `ok` and `crash` otherwise. */
  readonly outcome: string;
  readonly detail?: string;
  readonly details?: unknown;
  readonly data?: unknown;
  readonly etag?: string | null;
}

const routes: Readonly<Record<Call["operation"], readonly [method: string, path: string]>> = {
  list: ["GET", ""],
  get: ["GET", "/:id"],
  count: ["GET", "/count"],
  aggregate: ["GET", "/aggregate"],
  search: ["GET", "/search"],
  create: ["POST", ""],
  update: ["PATCH", "/:id"],
  replace: ["PUT", "/:id"],
  delete: ["DELETE", "/:id"],
  restore: ["POST", "/:id/restore"],
  "batch.create": ["POST", "/batch"],
  "batch.update": ["PATCH", "/batch"],
  "batch.replace": ["PUT", "/batch"],
  "batch.delete": ["DELETE", "/batch"],
  "batch.upsert": ["POST", "/batch/upsert"],
  rpc: ["POST", "/rpc/:name"],
};

/** Makes a call by a request. */
export async function overHttp(call: Call, app: App): Promise<Result> {
  const { resource, user, operation, key, query = {}, filter, procedure } = call;
  const [method, path] = routes[operation];
  // As the client of a browser spells it.
  const id = key === undefined ? "" : keyPath(key.map(String));
  const target = path.replace(":id", id).replace(":name", procedure ?? "");
  const parameters = Object.entries({ ...query, filter: isBatch(call) ? undefined : filter?.text })
    .flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(String(value))}`]
    );
  const body = requestBody(call);
  const response = await app.fetch(
    new Request(`http://test/api/${resource}${target}?${parameters.join("&")}`, {
      method,
      headers: {
        ...(user === null ? {} : { "x-user": user.id }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(call.ifMatch === undefined ? {} : { "if-match": call.ifMatch }),
        ...(call.ifNoneMatch === undefined ? {} : { "if-none-match": call.ifNoneMatch }),
        ...(call.optimisticId === undefined ? {} : { "service-optimistic-id": call.optimisticId }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    }),
  );
  const text = await response.text();
  const data = text === "" ? null : JSON.parse(text);
  if (response.status >= 500) return { outcome: "crash" };
  if (response.status >= 400) {
    const outcome = data.code.toLowerCase().replaceAll("_", "-");
    return { outcome, detail: data.detail, details: data.details ?? null };
  }
  return { outcome: "ok", data, etag: response.headers.get("etag") };
}

function isBatch({ operation }: Call): boolean {
  return operation === "batch.update" || operation === "batch.delete";
}

function requestBody(call: Call): unknown {
  const { operation, body, filter } = call;
  if (operation === "batch.update") return { filter: filter?.text, patch: body };
  if (operation === "batch.delete") return { filter: filter?.text };
  if (operation.startsWith("batch.")) return { items: body };
  // `undefined` is no JSON: a request without a value would have no body.
  return ["create", "update", "replace", "rpc"].includes(operation) ? body ?? null : undefined;
}

/** Makes the same call by a function. */
export async function inCode(call: Call, app: App): Promise<Result> {
  const { resource, user, operation, key = [], query, body, procedure = "" } = call;
  const { ifMatch, ifNoneMatch, optimisticId } = call;
  const api = app.as(user).of(resource);
  const filter = call.filter?.built ?? call.filter?.text;
  const given = { ...query, ...(filter === undefined ? {} : { filter }) };
  const write = { ifMatch, optimisticId };
  const id = key.length === 1 ? key[0] : key;
  // The wrong values of a generated call are what the types would refuse.
  // deno-lint-ignore no-explicit-any
  const any = body as any;
  const run: Readonly<Record<Call["operation"], () => Promise<unknown>>> = {
    list: () => api.list(given),
    get: () => api.get(id, { ...query, ifNoneMatch }),
    count: async () => ({ count: await api.count(given) }),
    aggregate: () => api.aggregate(given as Parameters<typeof api.aggregate>[0]),
    search: () => api.search(given as Parameters<typeof api.search>[0]),
    create: () => api.create(any, { ...write, ...query }),
    update: () => api.update(id, any, write),
    replace: () => api.replace(id, any, write),
    delete: async () => (await api.delete(id, write), null),
    restore: () => api.restore(id, write),
    "batch.create": async () => ({ items: await api.batch.create(any) }),
    "batch.update": async () => ({ count: await api.batch.update(filter as string, any) }),
    "batch.replace": async () => ({ items: await api.batch.replace(any) }),
    "batch.delete": async () => ({ count: await api.batch.delete(filter as string) }),
    "batch.upsert": async () => ({ items: await api.batch.upsert(any, query) }),
    rpc: async () => ({ data: await api.rpc[procedure]?.(any) }),
  };
  try {
    const result = await run[operation]();
    const isTagged = ["get", "create", "update", "replace", "restore"].includes(operation);
    const { value, etag } = Object(result);
    const data = isTagged ? value : result;
    return { outcome: "ok", data: JSON.parse(writeJson(data)), etag: isTagged ? etag : null };
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) return { outcome: "crash" };
    const { slug, message, details } = error;
    const shown = details === undefined ? null : JSON.parse(writeJson(details));
    return { outcome: slug, detail: message, details: shown };
  }
}
