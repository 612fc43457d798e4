import { requireJson } from "./request_body.ts";
import { Problem } from "../../problem/problem.ts";

/**
 * Requires that the page that sends this POST with the user's cookies has the service's origin. A
 * POST with a JSON body needs no check, because a browser sends a preflight request before it sends
 * JSON to another origin. A browser sends a POST without a content type immediately. Throws a 415.
 */
export function requireSameOrigin({ header }: { header(name: string): string | null }): void {
  if (header("content-type") !== null) return requireJson(header);
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
