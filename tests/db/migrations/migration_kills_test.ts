import { testPostgres, testUnless } from "../../support/skip.ts";
import {
  expectedOf,
  killAt,
  type KillRun,
  postgresCopies,
  sqliteCopies,
  twoAtOnce,
} from "./migration_kills.ts";

// `deno task migrate-kill` ends one from each version after each statement.
const version = 6;
const server = testPostgres();
const missing = "missing" in server ? server.missing : null;

testUnless(null, "a migration that is killed is as if it had not begun (SQLite)", async () => {
  await check(await sqliteCopies(version));
});

testUnless(missing, "a migration that is killed is as if it had not begun (Postgres)", async () => {
  if ("url" in server) await check(await postgresCopies(server.url, version));
});

/** In the middle; and two processes that start together. */
async function check(run: KillRun): Promise<void> {
  try {
    const expected = await expectedOf(run);
    await killAt(run, expected, Math.floor(expected.places / 2));
    await twoAtOnce(run, expected);
  } finally {
    await run.close();
  }
}
