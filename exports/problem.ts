/**
 * The JSON format of errors, for programs that read the responses of a service.
 *
 * @example
 * ```ts ignore
 * import type { ProblemBody } from "@svc/resource-api/problem";
 *
 * const response = await fetch("https://example.com/api/notes/9");
 * if (response.headers.get("content-type") === "application/problem+json") {
 *   const { code, detail }: ProblemBody = await response.json();
 *   console.log(code, detail); // NOT_FOUND …
 * }
 * ```
 *
 * @module
 */
export type { ProblemBody, problemCodes, ProblemSlug } from "../src/protocol/problem_codes.ts";
