import type { AnyApiResource, CodeBatches, CodeCalls } from "../model/code_api.ts";
import type { ShapedReply } from "../model/operation.ts";
import { DataReply } from "../http/json_reply.ts";
import { type AnyCallOptions, type CodeCall, filterOf } from "./code_request.ts";
import { copyBody } from "./copy_body.ts";

/** Runs the operation of one route. `route` is its method and path in the list of routes. */
export type RunCall = (route: string, call: CodeCall) => Promise<ShapedReply>;

/** The members of a page that are needed to request the next page. */
interface ListedPage {
  readonly items: readonly unknown[];
  readonly nextCursor: string | null;
}

/**
 * Returns the operations of one resource as functions with the names of `CodeCalls`. The compiler
 * cannot check their types, because the results of operations have no types.
 */
export function createCodeCalls(run: RunCall) {
  const read = (name: CodeCall["name"], route: string) => async (options: AnyCallOptions = {}) =>
    dataOf(await run(route, { name, options }));

  const list = read("list", "GET /");
  const count = read("count", "GET /count");

  const write =
    (route: string) => async (key: unknown, values: unknown, options: AnyCallOptions = {}) =>
      tagged(
        await run(route, { name: "update", options, key: { value: key }, body: copyBody(values) }),
      );

  const ofItems =
    (route: string, name: CodeCall["name"] = "batch") =>
    async (items: unknown, options: AnyCallOptions = {}) => {
      const body = { items: copyBody(items) };
      return member(await run(route, { name, options, body }), "items");
    };

  const ofFilter =
    (route: string) => async (filter: unknown, patch: unknown, options: AnyCallOptions = {}) => {
      const given = filterOf(filter);
      const isText = typeof given === "string";
      const body = { filter: isText ? given : undefined, patch: copyBody(patch) };
      const call: CodeCall = { name: "batch", options, body, ...(isText ? {} : { filter: given }) };
      return member(await run(route, call), "count");
    };

  const deleteMatching = ofFilter("DELETE /batch");

  return {
    list,
    async *all(options: AnyCallOptions = {}) {
      let from: AnyCallOptions = {};
      do {
        // `list` returns a page of this type.
        const page = await list({ ...options, ...from }) as ListedPage;
        yield* page.items;
        from = { cursor: page.nextCursor, offset: undefined };
      } while (from["cursor"] !== null);
    },
    get: async (key: unknown, options: AnyCallOptions = {}) =>
      tagged(await run("GET /:id", { name: "get", options, key: { value: key } })),
    count: async (options?: AnyCallOptions) => memberOf(await count(options), "count"),
    aggregate: read("aggregate", "GET /aggregate"),
    search: read("search", "GET /search"),
    create: async (values: unknown, options: AnyCallOptions = {}) =>
      tagged(await run("POST /", { name: "create", options, body: copyBody(values) })),
    update: write("PATCH /:id"),
    replace: write("PUT /:id"),
    delete: async (key: unknown, options: AnyCallOptions = {}) =>
      void await run("DELETE /:id", { name: "update", options, key: { value: key } }),
    restore: async (key: unknown, options: AnyCallOptions = {}) =>
      tagged(await run("POST /:id/restore", { name: "update", options, key: { value: key } })),
    batch: {
      create: ofItems("POST /batch"),
      update: ofFilter("PATCH /batch"),
      replace: ofItems("PUT /batch"),
      delete: (filter: unknown, options?: AnyCallOptions) =>
        deleteMatching(filter, undefined, options),
      upsert: ofItems("POST /batch/upsert", "upsert"),
    } satisfies Record<keyof CodeBatches<AnyApiResource>, unknown>,
    rpc: new Proxy({}, {
      get: (_none, name) => async (input: unknown = {}, options: AnyCallOptions = {}) => {
        const call: CodeCall = { name: "rpc", options, body: copyBody(input) };
        return member(await run(`POST /rpc/${String(name)}`, call), "data");
      },
    }),
  } satisfies Record<keyof CodeCalls<AnyApiResource>, unknown>;
}

function dataOf(reply: ShapedReply): unknown {
  return reply instanceof DataReply ? reply.fittingData() : null;
}

function tagged(reply: ShapedReply): { readonly value: unknown; readonly etag: string | null } {
  return { value: dataOf(reply), etag: reply.headers["etag"] ?? null };
}

function member(reply: ShapedReply, name: string): unknown {
  return memberOf(dataOf(reply), name);
}

function memberOf(data: unknown, name: string): unknown {
  return Object(data)[name];
}
