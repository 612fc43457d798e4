import { mediaTypeOf, requireJson } from "./request_body.ts";
import { Problem } from "../../problem/problem.ts";

type Header = (name: string) => string | null;

/**
 * Throws a 415 for a POST that a page of another origin may have sent with the user's cookies.
 * Browsers send a preflight request before JSON, but not before a POST without a content type.
 */
export function requireSameOrigin({ header }: { readonly header: Header }): void {
  if (header("content-type") !== null) requireJson(header);
  else requireOwnPage(header);
}

/** Throws a 415 for `text/plain` of another origin, which browsers send without a preflight. */
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
  // Browsers omit `Sec-Fetch-Site` if the service's URL is not secure. Then `Origin` decides.
  const isOwn = site === null
    ? origin === null || URL.parse(origin)?.host === header("host")
    : site === "same-origin" || site === "none";
  if (isOwn) return;
  throw new Problem(
    "unsupported-media-type",
    "Cannot do this for a page of another origin: send the header content-type: application/json",
  );
}
