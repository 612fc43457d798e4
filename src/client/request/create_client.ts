import type { ApiOf, Client, ResourceClient } from "../../api/resource_client.ts";
import type { CreateClientOptions } from "./client_options.ts";
import { type Handle, handle } from "../../api/handle.ts";
import { createTransport } from "./transport.ts";
import { type CallOptions, createCalls } from "./call.ts";
import type { ImportOptions } from "./import_rows.ts";
import { type KeyInput, keyPath } from "./key_path.ts";
import type { ApiResource, Page } from "../../api/rows.ts";
import type { UpdateOptions } from "./merge_update.ts";

/**
 * Creates a client of a service. The type `Api` describes the service's resources: the command
 * `resource-api types` writes it, and `InferApi` derives it from the service's configuration.
 *
 * @example
 * ```ts ignore
 * const api = createClient<Api>({ baseUrl: "https://example.com", token: () => session.token });
 * const { items } = await api.notes.list({ filter: rsql`title==${"Tea"}`, limit: 10 });
 * ```
 */
export function createClient<Api extends ApiOf<Api>>(options: CreateClientOptions): Client<Api> {
  const transport = createTransport(options);
  const { basePath } = transport;
  const resources: Record<PropertyKey, unknown> = {
    // Without a prototype: a resource can have a name such as `toString`.
    __proto__: null,
    [handle]: { transport, path: basePath },
  };
  const client = new Proxy(resources, {
    get(known, name) {
      // `await` reads the member `then`, so no resource can be named `then`.
      if (typeof name === "symbol" || name === "then") return known[name];
      return known[name] ??= createRequests({
        transport,
        path: `${basePath}/${encodeURIComponent(name).replace(/%2F/g, "/")}`,
      });
    },
  });
  // The cast is safe: the service has the resources and operations that `Api` declares.
  return client as unknown as Client<Api>;
}

/** Returns untyped requests, because TypeScript cannot check the types of responses. */
function createRequests(own: Handle) {
  const call = createCalls(own);

  // Asynchronous: if `keyPath` throws for an invalid key, the promise rejects.
  const ofRow = (method: string, place = "") =>
  // deno-lint-ignore require-await -- see above
  async (key: KeyInput, options?: CallOptions, body?: unknown) =>
    call(method, `/${keyPath(key)}${place}`)(options, body);

  const ofItems =
    (method: string, place: string) => (items: readonly unknown[], options?: CallOptions) =>
      call(method, place, "items")(options, { items });

  const list = call("GET", "", "");
  const get = ofRow("GET");
  const patch = ofRow("PATCH");
  const createBatch = ofItems("POST", "/batch");
  const upsertBatch = ofItems("POST", "/batch/upsert");
  async function* pages(options?: CallOptions) {
    do {
      // The cast is safe: the response to this request is a page of a list.
      const page = await list(options) as Page<unknown>;
      yield page;
      options = { ...options, offset: null, cursor: page.nextCursor };
    } while (options.cursor);
  }

  return {
    [handle]: own,
    list,
    pages,
    async *all(options?: CallOptions) {
      for await (const page of pages(options)) yield* page.items;
    },
    get,
    count: call("GET", "/count", "count"),
    aggregate: call("GET", "/aggregate", ""),
    search: call("GET", "/search", ""),
    create: (body: unknown, options?: CallOptions) => call("POST", "")(options, body),
    async update(
      key: KeyInput,
      mine: unknown,
      { base, onConflict, ...options }: UpdateOptions = {},
    ) {
      if (!onConflict) return patch(key, options, mine);
      const { mergeUpdate } = await import("../rarely_needed.ts");
      return mergeUpdate({ key, get, patch, onConflict }, { base, mine }, options);
    },
    replace: (key: KeyInput, body: unknown, options?: CallOptions) =>
      ofRow("PUT")(key, options, body),
    delete: ofRow("DELETE"),
    // The body is `{}`, because the service accepts a cross-origin POST only with JSON.
    restore: (key: KeyInput, options?: CallOptions) => ofRow("POST", "/restore")(key, options, {}),
    createBatch,
    upsertBatch,
    replaceBatch: ofItems("PUT", "/batch"),
    updateBatch: (filter: unknown, patch: unknown, options?: CallOptions) =>
      call("PATCH", "/batch", "count")(options, { filter: `${filter}`, patch }),
    deleteBatch: (filter: unknown, options?: CallOptions) =>
      call("DELETE", "/batch", "count")(options, { filter: `${filter}` }),
    async import(rows: Iterable<unknown>, options?: ImportOptions) {
      const { importRows } = await import("../rarely_needed.ts");
      const { environment } = own.transport;
      return importRows(rows, { createBatch, upsertBatch, ...environment }, options);
    },
    rpc: new Proxy({}, {
      get: (_none, name) => (input: unknown = {}, options?: CallOptions) =>
        call("POST", `/rpc/${name as string}`, "data")(options, input),
    }),
  } satisfies Record<keyof ResourceClient<ApiResource>, unknown>;
}
