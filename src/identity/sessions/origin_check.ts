import { Problem } from "../../problem/problem.ts";
import { isFromOwnPage } from "../../protocol/own_page.ts";

/** Prevents CSRF: throws a 403 unless a page of this service or a trusted origin sent the write. */
export function requireOwnPage(request: Request, trustedOrigins: ReadonlySet<string>): void {
  if (isFromOwnPage(request, trustedOrigins) === true) return;
  throw new Problem(
    "forbidden",
    "Cannot use the cookie of this session: a write with it must come from a page of this service, " +
      "by its Sec-Fetch-Site, or by its Origin and Host, which a proxy must pass on unchanged " +
      '(a program logs in with transport: "bearer")',
  );
}

export function isWriteMethod(method: string): boolean {
  return method !== "GET" && method !== "HEAD" && method !== "OPTIONS";
}
