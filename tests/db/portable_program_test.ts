import { assertEquals, assertStringIncludes } from "@std/assert";
import { runPortableProgram } from "../fixtures/portable_program.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

const server = testPostgres();
const missing = "missing" in server ? server.missing : null;

/** What every engine is compared with. */
const expected = await runPortableProgram("sqlite::memory:");

Deno.test("a program with hooks, a procedure and a migration prints what was reckoned by hand", () => {
  const [
    migrated,
    accounts = "",
    created = "",
    transferred = "",
    closed = "",
    missingAccount = "",
  ] = expected;
  assertEquals(migrated, '"migrated" 3');
  assertStringIncludes(
    accounts,
    '"balance":"123.45","isClosed":false,"openedAt":"2024-02-28T23:00:00.000Z"',
  );
  assertStringIncludes(accounts, '"id":3,"ownerId":"cy","balance":"0.00","isClosed":true');
  assertStringIncludes(created, '"tags":["account 2"]');
  assertStringIncludes(transferred, '[{"id":1,"balance":"123.20"},{"id":4,"balance":"10.75"}]');
  assertStringIncludes(closed, "404");
  assertStringIncludes(missingAccount, "409");
  assertEquals(JSON.parse(expected.at(-1) ?? ""), {
    ownerId: "ada",
    n: 2,
    amount: "10.75",
    latest: "2026-01-31T23:30:00.000Z",
    isClosed: false,
  });
});

for (const url of ["node-sqlite::memory:", "pglite::memory:"]) {
  Deno.test(`the same program prints the same on ${url}`, async () => {
    assertEquals(await runPortableProgram(url), expected);
  });
}

testUnless(missing, "the same program prints the same on Postgres", async () => {
  if ("missing" in server) return;
  const scratch = await createScratchDatabase(server.url);
  try {
    assertEquals(await runPortableProgram(scratch.url), expected);
  } finally {
    await scratch.drop();
  }
});
