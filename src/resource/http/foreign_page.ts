import type { ResourceRequest } from "../operation.ts";
import { requireJson } from "./request_body.ts";
import { Problem } from "../../problem/problem.ts";

/**
 * Requires of a POST without a body what others are required by theirs: that no page of another
 * origin can send it with the user's cookies. A browser asks before it sends JSON across origins,
 * and does not ask before it sends a POST without a type. Throws a 415.
 */
export function requireNoForeignPage({ header }: Pick<ResourceRequest, "header">): void {
  if (header("content-type") !== null) return requireJson(header);
  const site = header("sec-fetch-site");
  const origin = header("origin");
  // Browsers leave Sec-Fetch-Site out where the page was not loaded securely.
  const isOwn = site === null
    ? origin === null || URL.parse(origin)?.host === header("host")
    : site === "same-origin" || site === "none";
  if (isOwn) return;
  throw new Problem(
    "unsupported-media-type",
    "Cannot do this for a page of another origin: send the header content-type: application/json",
  );
}
