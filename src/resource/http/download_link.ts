import { UnchallengedRequest } from "../../guard/operation_protection.ts";
import { Problem } from "../../problem/problem.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { Sealer } from "../../runtime/sealer.ts";
import { parseRequestTarget } from "./request_target.ts";

/** The name of the last parameter of a download link. Its value is the encrypted credential. */
export const linkToken = "&downloadToken=";

/** Headers with credentials. A browser opens a link with cookies, but without these headers. */
const credentialHeaders = ["authorization", "x-api-key"];
const identifyingHeaders = ["cookie", ...credentialHeaders];

const lifetimeMs = 60_000;

export interface LinkDependencies {
  readonly sealer: Sealer;
  readonly clock: Pick<Clock, "now">;
}

/** Returns a relative link with an encrypted credential, valid for this GET until `expiresAt`. */
export function createLink({ url, headers }: Request, { sealer, clock }: LinkDependencies) {
  const { path, query } = parseRequestTarget(url);
  // Removes the parameter `link`, so that the holder of a link cannot use it to create a new link.
  const kept = query.split("&").filter((part) => !new URLSearchParams(part).has("link")).join("&");
  const credentials = [...headers].filter(([name]) => credentialHeaders.includes(name));
  const expiresAt = clock.now() + lifetimeMs;
  const token = sealer.seal(JSON.stringify({ expiresAt, credentials }), contextOf(path, kept));
  return {
    link: `?${kept}${linkToken}${token}`,
    expiresAt: new Date(expiresAt).toISOString(),
  };
}

export function openLink(request: Request, { sealer, clock }: LinkDependencies): Request {
  // A link only allows reads, even if its user is allowed to write.
  if (request.method !== "GET" && request.method !== "HEAD") return request;
  const { path, query } = parseRequestTarget(request.url);
  const [kept = "", token = ""] = query.split(linkToken);
  const text = sealer.open(token, contextOf(path, kept));
  // The cast is safe: only this file seals values for this context.
  const sealed = text === null ? null : JSON.parse(text) as {
    readonly expiresAt: number;
    readonly credentials: readonly (readonly [name: string, value: string])[];
  };
  if (sealed === null || sealed.expiresAt < clock.now()) {
    throw new Problem("unauthorized", "Cannot use this link: it has expired, or is changed");
  }
  const headers = new Headers(request.headers);
  const { credentials } = sealed;
  // The request's own headers could identify another user than the creator of the link.
  if (credentials.length > 0) { for (const name of identifyingHeaders) headers.delete(name); }
  for (const [name, value] of credentials) headers.set(name, value);
  const url = request.url.replace(`${linkToken}${token}`, "");
  return new UnchallengedRequest(url, { method: request.method, headers, signal: request.signal });
}

/** Keeps the response to a link out of caches, and the link out of the header `Referer`. */
export function hideLink({ body, status, headers: given }: Response): Response {
  const headers = new Headers(given);
  headers.set("cache-control", "no-store");
  headers.set("referrer-policy", "no-referrer");
  return new Response(body, { status, headers });
}

function contextOf(path: string, query: string): string {
  return `download-link ${path}?${query}`;
}
