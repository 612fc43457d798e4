import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { Problem } from "../../problem/problem.ts";
import { jsonContentType, type Reply } from "../../protocol/reply.ts";
import { chain, type MaybePromise } from "../../runtime/maybe_promise.ts";
import { listsTag } from "../http/etag.ts";
import { parameterText, parseQuery, type Query } from "../http/query_parameters.ts";
import type { Resource } from "../model/resource.ts";
import { requireObject } from "../write/values/parse_fields.ts";
import type { Endpoint } from "./endpoint.ts";

/**
 * Returns the endpoint that reads as `reading` does, with parameters from a JSON body in place of
 * the URL. A JSON response has an ETag, which is a hash of its rows.
 */
export function queryByBody(reading: Endpoint): Endpoint {
  return {
    ...reading,
    name: "query",
    takesBody: true,
    run: (request, user, resource) => {
      const [inUrl] = request.query.keys();
      if (inUrl !== undefined) {
        throw new Problem(
          "invalid-parameter",
          `Cannot use "${inUrl}" in the URL of POST /query: the parameters are members of the body`,
        );
      }
      const query = queryOfBody(request.body, reading, resource);
      return chain(
        reading.run({ ...request, body: undefined, query }, user, resource),
        (reply) => taggedReply(reply, request.header("if-none-match")),
      );
    },
  };
}

/** Parses the members of a body like the parameters of a URL, so both have the same errors. */
function queryOfBody(body: unknown, reading: Endpoint, resource: Resource): Query {
  const members = Object.entries(requireObject(body)).filter(([, value]) => value !== null);
  const raw = members.map(([name, value]) => {
    const isText = ["string", "number", "bigint", "boolean"].includes(typeof value);
    if (!isText && !(Array.isArray(value) && value.every((item) => typeof item === "string"))) {
      const needed = "it must be a string, a number, a boolean or a list of strings";
      throw new Problem("invalid-parameter", `Cannot use "${name.slice(0, 20)}": ${needed}`);
    }
    const text = parameterText(name, value);
    return `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(text.toWellFormed())}`;
  });
  const query = parseQuery(raw.join("&"), resource.strictQuery, reading.ownParameters(resource));
  return Object.assign(new Map(query), { isInBody: true } as const);
}

/** Adds an ETag to a JSON response, or returns a 304 if `If-None-Match` contains the ETag. */
function taggedReply(reply: Reply, ifNoneMatch: string | null): MaybePromise<Reply> {
  const { status, headers, body } = reply;
  const isJson = headers["content-type"]?.startsWith(jsonContentType) === true;
  if (status !== 200 || body === null || !isJson) return reply;
  const tagged = (body: Reply["body"], bytes: Buffer): Reply => {
    const etag = tagOfPage(bytes);
    if (ifNoneMatch === null || !listsTag(ifNoneMatch, [etag])) {
      return { status, headers: { ...headers, etag }, body };
    }
    const { "content-type": _type, "content-length": _length, ...kept } = headers;
    return { status: 304, headers: { ...kept, etag }, body: null };
  };
  if (typeof body === "string") return tagged(body, Buffer.from(body));
  // The stream has its parts in memory already.
  return Array.fromAsync(body).then((parts) =>
    tagged(ReadableStream.from(parts), Buffer.concat(parts))
  );
}

/**
 * Returns the weak ETag of a page: a hash of its bytes without `nextCursor`, because two cursors
 * for the same position differ. `nextCursor` and `hasMore` follow the rows in the JSON.
 */
function tagOfPage(page: Buffer): string {
  const more = page.lastIndexOf(moreMember);
  const hasCursor = page.subarray(more + moreMember.length).toString("latin1").startsWith("true");
  const start = hasCursor ? page.lastIndexOf(cursorMember, more) : page.length;
  const hash = createHash("sha256").update(page.subarray(0, start));
  if (hasCursor) hash.update(page.subarray(more));
  return `W/"${hash.digest("base64url")}"`;
}

const cursorMember = '"nextCursor":"';
const moreMember = '"hasMore":';
