import { assert, assertEquals } from "@std/assert";
import {
  addressGroup,
  clientAddress,
  unknownAddressGroup,
} from "../../../src/guard/client_address.ts";
import { parseIdempotencyKey } from "../../../src/idempotency/idempotency_key.ts";
import { bearerToken } from "../../../src/identity/opaque_token.ts";
import { SessionCookie } from "../../../src/identity/sessions/session_cookie.ts";
import { normalizeEmail } from "../../../src/identity/signups/normalize_email.ts";
import { isFromOwnPage } from "../../../src/protocol/own_page.ts";
import { acceptedEncoding, acceptedType } from "../../../src/resource/http/accepted_type.ts";
import { listsTag } from "../../../src/resource/http/etag.ts";
import { mediaTypeOf, requireJson } from "../../../src/resource/http/request_body.ts";
import { createHostCheck } from "../../../src/resource/http/request_target.ts";
import type { FuzzTarget } from "../engine/fuzz_target.ts";
import { isProblem } from "./documented.ts";

const tag = 'W/"1"';

/** Lists of ETags. A list that contains a tag still does when it is joined with itself. */
export const etagTarget: FuzzTarget = {
  files: ["src/resource/http/etag.ts"],
  seeds: ['W/"1"', '"a", , W/"b-gzip" ,"c"', "*", '"', 'W/"1-br"', '"é"'],
  parse: (input) => listsTag(input, [tag]),
  isDocumented: () => false,
  check(result, input) {
    if (result === true) assert(input.trim() === "*" || input.includes('"1'), input);
    if (result === true && input.trim() !== "*" && input.length < 4_000) {
      assert(listsTag(`${input}, "x"`, [tag]), input);
    }
    assert(listsTag(`"1"`, [tag]));
  },
};

/** Idempotency keys. A key, written in quotes, is the same key. */
export const idempotencyKeyTarget: FuzzTarget = {
  files: ["src/idempotency/idempotency_key.ts"],
  seeds: ['"a\\"b\\\\"', "0b9b0a4e-6f0e-4f43-9c86-2f7f5b1d8a11", '"', "é", " "],
  parse: (input) => parseIdempotencyKey(input, false),
  isDocumented: isProblem("invalid-parameter"),
  check(result, input) {
    const quoted = `"${String(result).replace(/["\\]/g, "\\$&")}"`;
    assertEquals(parseIdempotencyKey(quoted, false), result, input);
  },
};

/** The header `X-Forwarded-For`. An address that is found belongs to a group. */
export const forwardedTarget: FuzzTarget = {
  files: ["src/guard/client_address.ts"],
  seeds: [
    "1.2.3.4, 5.6.7.8:90",
    "::1, [2001:db8::1]:443",
    "::ffff:1.2.3.4",
    "fe80::1%eth0",
    "unknown",
  ],
  parse: (input) => {
    const headers = headersWith("x-forwarded-for", input);
    return {
      address: headers === null ? null : clientAddress(headers, null, 1),
      second: headers === null ? null : clientAddress(headers, null, 2),
      group: addressGroup(input),
    };
  },
  isDocumented: () => false,
  check(result, input) {
    // The cast is safe: `parse` returns this type.
    const { address, second } = result as Record<string, string | null>;
    for (const one of [address, second]) {
      if (one !== null && one !== undefined) {
        assert(addressGroup(one) !== unknownAddressGroup, input);
      }
    }
  },
};

function headersWith(name: string, value: string): Headers | null {
  try {
    return new Headers({ [name]: value });
  } catch {
    return null;
  }
}

const cookies = ["x", "y"].map(() => new SessionCookie({ sameSite: "Lax", secure: undefined }));

/** The headers that choose a format or identify a client, each with the same value. */
export const headersTarget: FuzzTarget = {
  files: [
    "src/resource/http/accepted_type.ts",
    "src/resource/http/request_body.ts",
    "src/identity/opaque_token.ts",
    "src/identity/sessions/session_cookie.ts",
    "src/protocol/own_page.ts",
  ],
  seeds: [
    "text/csv;q=0.5, application/json; charset=utf-8;numbers=safe, */*;q=0",
    "gzip;q=0, br;q=1.0, *",
    "application/problem+json; charset=utf-8",
    "Bearer abc",
    'a=b; session="x"; __Host-session=y; =z; session',
    "http://localhost:80",
  ],
  parse: (input) => {
    const headers = headersWith("accept", input);
    if (headers === null) return null;
    const offered = ["application/json", "text/csv", "application/x-ndjson"] as const;
    const requestHeaders = new Headers({
      ...{ cookie: input, origin: input, authorization: input, host: "localhost" },
    });
    const request = { headers: requestHeaders, url: "http://localhost/x" } as Request;
    return {
      type: acceptedType({ headers }, offered),
      encoding: acceptedEncoding(new Headers({ "accept-encoding": input }), ["br", "gzip"]),
      token: bearerToken(input),
      cookie: cookies[0]?.read(request),
      isOwn: isFromOwnPage(request, new Set()),
      media: mediaTypeOf((name) => name === "content-type" ? input : null),
      json: isJson(input),
    };
  },
  isDocumented: () => false,
  check(result, input) {
    if (result === null) return;
    // The cast is safe: `parse` returns this type.
    const { token, json, media } = result as { token: string | null; json: boolean; media: string };
    if (token !== null) assert(/^bearer /i.test(input) && !token.includes(" "), input);
    if (json) assert(/json$/.test(media), input);
  },
};

function isJson(type: string): boolean {
  try {
    requireJson((name) => name === "content-type" ? type : null);
    return true;
  } catch (error) {
    if (isProblem("unsupported-media-type")(error)) return false;
    throw error;
  }
}

/** The header `Host`. A host that is accepted leaves the path of the request unchanged. */
export const hostTarget: FuzzTarget = {
  files: ["src/resource/http/request_target.ts"],
  seeds: ["localhost:80", "[::1]:8000", "a.b-c~d%41", "x/api?", "x:99999", "user@x"],
  parse: (input) => {
    const headers = headersWith("host", input);
    if (headers === null) return false;
    return createHostCheck()({ url: `http://${input}/healthz`, headers } as Request);
  },
  isDocumented: () => false,
  check(result, input) {
    if (result !== true) return;
    const host = input.trim();
    assertEquals(new URL(`http://${host}/healthz`).pathname, "/healthz", input);
  },
};

/** E-mail addresses. The canonical form of an address is its own canonical form. */
export const emailTarget: FuzzTarget = {
  files: ["src/identity/signups/normalize_email.ts"],
  seeds: [
    "Ada.L+x@Example.com",
    "é@bücher.example",
    "a@xn--bcher-kva.example",
    "ａ@b.c",
    "a..b@c.d",
  ],
  parse: (input) => normalizeEmail(input),
  isDocumented: () => false,
  check(result, input) {
    if (typeof result === "string") assertEquals(normalizeEmail(result), result, input);
  },
};
