/**
 * The JSON format of errors, for programs that read the responses of a service.
 *
 * @module
 */
export type { ProblemBody, problemCodes, ProblemSlug } from "../src/protocol/problem_codes.ts";
