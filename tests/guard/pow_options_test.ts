import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import {
  type PowOptions,
  type ResolvedPowOptions,
  resolvePowOptions,
} from "../../src/guard/pow/pow_options.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

const secret = "a secret for the tests only";

Deno.test("proof of work has difficulty 20 and two minutes unless configured otherwise", () => {
  const { difficulty, challengeTtlMs, secrets } = resolve({ secret }).resolved;
  assertEquals([difficulty, challengeTtlMs, secrets], [20, 120_000, [secret]]);
});

Deno.test("the secret is the option's, else the environment's, else random with a notice", () => {
  const fromEnvironment = "a secret from the environment";
  const environment = { SERVICE_POW_SECRET: fromEnvironment };
  assertEquals(resolve({ secret }, { environment }).resolved.secrets, [secret]);
  assertEquals(resolve({}, { environment }).resolved.secrets, [fromEnvironment]);
  const list = [secret, fromEnvironment];
  assertEquals(resolve({ secret: list }, { environment }).resolved.secrets, list);
  const first = resolve({});
  assertEquals(first.observations.map(({ kind }) => kind), ["notice"]);
  assertNotEquals(first.resolved.secrets, resolve({}).resolved.secrets);
});

Deno.test("in production there is no random secret", () => {
  assertThrows(
    () => resolve({}, { isProduction: true }),
    Error,
    "Cannot start in production: abuseProtection.pow.secret is missing (set SERVICE_POW_SECRET)",
  );
  assertEquals(resolve({ secret }, { isProduction: true }).resolved.secrets, [secret]);
});

const range = "must be a whole number from 1 to";
const mistakes: readonly (readonly [options: unknown, message: string])[] = [
  [{ secret: "short" }, "secret is shorter than 16 characters"],
  [{ secret: [secret, ""] }, "secret is shorter than 16 characters"],
  [{ secret, difficulty: 0 }, `difficulty ${range} 32, not 0`],
  [{ secret, difficulty: 33 }, `difficulty ${range} 32, not 33`],
  [{ secret, difficulty: 1.5 }, `difficulty ${range} 32, not 1.5`],
  [{ secret, difficulty: NaN }, `difficulty ${range} 32, not NaN`],
  [{ secret: [5] }, "secret must be a string of 16 characters or more, or a list of such strings"],
  [{ secret: 5 }, "secret must be a string of 16 characters or more, or a list of such strings"],
  [{ secret, challengeTtlMs: 0 }, `challengeTtlMs ${range} 86400000, not 0`],
  [
    { secret, challengeTtlMs: 2 ** 53 - 1 },
    `challengeTtlMs ${range} 86400000, not 9007199254740991`,
  ],
  [{ secret, trust: 0 }, "trust must be a function, not 0"],
];

Deno.test("an option of pow that is misspelt ends the start", () => {
  // Wrong on purpose.
  const options = { secret, dificulty: 24 } as PowOptions;
  assertThrows(() => resolve(options), Error, 'pow has no option "dificulty": did you mean');
});

for (const [options, message] of mistakes) {
  Deno.test(`pow ${Deno.inspect(options)} ends the start in words`, () => {
    // Wrong on purpose.
    assertThrows(() => resolve(options as PowOptions), Error, `abuseProtection.pow.${message}`);
  });
}

function resolve(
  options: PowOptions,
  world: { environment?: Record<string, string>; isProduction?: boolean } = {},
): { resolved: ResolvedPowOptions; observations: readonly Observation[] } {
  const observations: Observation[] = [];
  const runtime = {
    ...systemRuntime((observation) => observations.push(observation)),
    environment: (name: string) => world.environment?.[name],
  };
  const resolved = resolvePowOptions(options, world.isProduction ?? false, runtime);
  return { resolved, observations };
}
