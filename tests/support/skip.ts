/**
 * Defines a test, or skips it when there is a reason to. The reason stands in the test's name, so
 * that the runner can say after the last test why each skipped one was skipped.
 */
export function testUnless(
  reason: string | null,
  name: string,
  work: (context: Deno.TestContext) => void | Promise<void>,
  sanitizers: Pick<Deno.TestDefinition, "sanitizeOps" | "sanitizeResources"> = {},
): void {
  if (reason === null) Deno.test({ name, fn: work, ...sanitizers });
  else Deno.test({ name: `${name} [skipped: ${reason}]`, ignore: true, fn: work });
}

/** The administrator's URL of the tests' Postgres, or why there is none. */
export function testPostgres(): { readonly url: string } | { readonly missing: string } {
  const url = Deno.env.get("TEST_POSTGRES_URL");
  if (url !== undefined) return { url };
  return {
    missing: Deno.env.get("TEST_POSTGRES_MISSING") ?? "start the tests by `deno task test`",
  };
}
