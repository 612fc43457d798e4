import { mediaTypeOf, requireJson } from "./request_body.ts";
import { Problem } from "../../problem/problem.ts";

type Header = (name: string) => string | null;

/**
 * Throws a 415 if a page of another origin may have sent this POST with the user's cookies. A POST
 * of JSON is accepted, because a browser sends a preflight request before it sends JSON to another
 * origin. A POST without a content type needs no preflight, so its origin is checked.
 */
export function requireSameOrigin({ header }: { readonly header: Header }): void {
  if (header("content-type") !== null) requireJson(header);
  else requireOwnPage(header);
}

/**
 * Returns true if a body has one of the media types, and false if it is JSON. Throws a 415 for
 * other bodies. A browser sends `text/plain` to another origin without a preflight request, so a
 * page of another origin also gets a 415 for `text/plain`.
 */
export function isRawBody(header: Header, types: readonly string[]): boolean {
  const type = mediaTypeOf(header);
  if (type === "text/plain") requireOwnPage(header);
  if (types.includes(type)) return true;
  requireJson(header, types);
  return false;
}

function requireOwnPage(header: Header): void {
  const site = header("sec-fetch-site");
  const origin = header("origin");
  // Browsers omit Sec-Fetch-Site if the page was not loaded securely.
  const isOwn = site === null
    ? origin === null || URL.parse(origin)?.host === header("host")
    : site === "same-origin" || site === "none";
  if (isOwn) return;
  throw new Problem(
    "unsupported-media-type",
    "Cannot do this for a page of another origin: send the header content-type: application/json",
  );
}
