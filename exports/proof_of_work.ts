/**
 * The solver of proof-of-work challenges, for clients in a browser or any other runtime.
 *
 * @example
 * ```ts
 * import { solve } from "@svc/resource-api/proof-of-work";
 *
 * // A 428 response has the headers Service-PoW-Challenge and Service-PoW-Difficulty.
 * const token = "the challenge of the response";
 * const nonce = await solve({ token, difficulty: 8 });
 * console.log(nonce.length > 0); // true; send it as Service-PoW-Nonce
 * ```
 *
 * @module
 */
export { solve } from "../src/client/pow/solve.ts";
export type { SolveOptions } from "../src/client/pow/find_nonce.ts";
export type { Challenge } from "../src/client/pow/nonce_search.ts";
