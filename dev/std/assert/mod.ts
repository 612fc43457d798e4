/** Stand-in for `jsr:@std/assert`: the functions our tests use, from a build of the same sources. */
// deno-lint-ignore-file no-explicit-any -- the signatures of the real package hold `any`
import * as real from "deno-std/assert/mod.js";

/** Deep equality. */
export const assertEquals: <T>(actual: T, expected: T, message?: string) => void =
  real.assertEquals;
/** Deep inequality. */
export const assertNotEquals: <T>(actual: T, expected: T, message?: string) => void =
  real.assertNotEquals;
/** Identity. */
export const assertStrictEquals: <T>(
  actual: unknown,
  expected: T,
  message?: string,
) => asserts actual is T = real.assertStrictEquals;
/** Truth. */
export const assert: (condition: unknown, message?: string) => asserts condition = real.assert;
/** `actual` matches the expression. */
export const assertMatch: (actual: string, expected: RegExp, message?: string) => void =
  real.assertMatch;
/** `actual` does not match the expression. */
export const assertNotMatch: (actual: string, expected: RegExp, message?: string) => void =
  real.assertNotMatch;
/** `actual` holds `expected`. */
export const assertStringIncludes: (actual: string, expected: string, message?: string) => void =
  real.assertStringIncludes;
/** `actual` holds at least what `expected` does. */
export const assertObjectMatch: (
  actual: Record<PropertyKey, any>,
  expected: Record<PropertyKey, unknown>,
  message?: string,
) => void = real.assertObjectMatch;
/** Ends the test. */
export const fail: (message?: string) => never = real.fail;

/** `work` throws; gives what it threw: without a class, anything can be thrown. */
export const assertThrows: {
  (work: () => unknown, message?: string): unknown;
  <E extends Error = Error>(
    work: () => unknown,
    errorClass: new (...parameters: any[]) => E,
    messageIncludes?: string,
    message?: string,
  ): E;
} = real.assertThrows;
/** `work` rejects; gives what it rejected with: without a class, that can be anything. */
export const assertRejects: {
  (work: () => PromiseLike<unknown>, message?: string): Promise<unknown>;
  <E extends Error = Error>(
    work: () => PromiseLike<unknown>,
    errorClass: new (...parameters: any[]) => E,
    messageIncludes?: string,
    message?: string,
  ): Promise<E>;
} = real.assertRejects;
