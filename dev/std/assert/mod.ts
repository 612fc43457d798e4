/** Stand-in for `jsr:@std/assert`: the functions our tests use, from a build of the same sources. */
// deno-lint-ignore-file no-explicit-any -- the signatures of the real package hold `any`
import * as real from "deno-std/assert/mod.js";

/** Asserts deep equality. */
export const assertEquals: <T>(actual: T, expected: T, message?: string) => void =
  real.assertEquals;
/** Asserts deep inequality. */
export const assertNotEquals: <T>(actual: T, expected: T, message?: string) => void =
  real.assertNotEquals;
/** Asserts identity. */
export const assertStrictEquals: <T>(
  actual: unknown,
  expected: T,
  message?: string,
) => asserts actual is T = real.assertStrictEquals;
/** Asserts that a condition is true. */
export const assert: (condition: unknown, message?: string) => asserts condition = real.assert;
/** Asserts that `actual` matches the expression. */
export const assertMatch: (actual: string, expected: RegExp, message?: string) => void =
  real.assertMatch;
/** Asserts that `actual` does not match the expression. */
export const assertNotMatch: (actual: string, expected: RegExp, message?: string) => void =
  real.assertNotMatch;
/** Asserts that `actual` contains `expected`. */
export const assertStringIncludes: (actual: string, expected: string, message?: string) => void =
  real.assertStringIncludes;
/** Asserts that `actual` contains at least the members of `expected`. */
export const assertObjectMatch: (
  actual: Record<PropertyKey, any>,
  expected: Record<PropertyKey, unknown>,
  message?: string,
) => void = real.assertObjectMatch;
/** Makes the test fail. */
export const fail: (message?: string) => never = real.fail;

/** Asserts that `work` throws. Returns the thrown value, which without a class can be anything. */
export const assertThrows: {
  (work: () => unknown, message?: string): unknown;
  <E extends Error = Error>(
    work: () => unknown,
    errorClass: new (...parameters: any[]) => E,
    messageIncludes?: string,
    message?: string,
  ): E;
} = real.assertThrows;
/** Asserts that `work` rejects. Returns the reason, which without a class can be anything. */
export const assertRejects: {
  (work: () => PromiseLike<unknown>, message?: string): Promise<unknown>;
  <E extends Error = Error>(
    work: () => PromiseLike<unknown>,
    errorClass: new (...parameters: any[]) => E,
    messageIncludes?: string,
    message?: string,
  ): Promise<E>;
} = real.assertRejects;
