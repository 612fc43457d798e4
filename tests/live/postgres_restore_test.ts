import { assertEquals } from "@std/assert";
import { runOrThrow } from "../support/debian_packages.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { findBinaries } from "../support/postgres_programs.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";
import { Follower, serve } from "./restore_support.ts";

const server = testPostgres();
const binaries = await findBinaries(["pg_dump", "pg_restore", "psql"]);
const missing = "missing" in server
  ? server.missing
  : binaries === null
  ? "no programs of Postgres"
  : null;

/** How a dump is restored into the database that it was taken of. */
const restores: readonly { readonly name: string; readonly args: readonly string[] }[] = [
  { name: "with its tables", args: ["--clean", "--if-exists"] },
  { name: "into an emptied schema", args: [] },
];

const quiet = "SET client_min_messages = warning";
const emptied = "DROP SCHEMA public CASCADE; CREATE SCHEMA public";

for (const isRunning of [false, true]) {
  for (const { name, args } of restores) {
    const when = isRunning ? "under a service" : "while no service runs";
    testUnless(
      missing,
      `a client of before begins again after a dump is restored ${name} ${when}`,
      async () => {
        if ("missing" in server) return;
        for (const writes of [0, 1, 3, 6]) {
          await using folder = await scratchFolder();
          const scratch = await createScratchDatabase(server.url);
          const dump = `${folder.path}/dump`;
          const execute = (program: string, ...args: readonly string[]) =>
            runOrThrow(`${binaries}/${program}`, [...args, "-d", scratch.url], {});
          const sql = (text: string) =>
            execute("psql", "-q", "-v", "ON_ERROR_STOP=1", "-c", quiet, "-c", text);
          const first = await serve(scratch.url);
          await first.run("INSERT INTO notes VALUES (1, 'a'), (2, 'a'), (3, 'a')");
          const follower = await Follower.open(first);
          await execute("pg_dump", "-Fc", "-f", dump);
          await first.run("UPDATE notes SET title = 'b' WHERE id = 1");
          await first.run("UPDATE notes SET title = 'b' WHERE id = 2");
          await first.run("INSERT INTO notes VALUES (4, 'new')");
          await follower.receive(4);
          if (!isRunning) {
            await follower.disconnect();
            await first.close();
          }
          if (args.length === 0) await sql(emptied);
          // The service reads its log while the restore locks the tables: Postgres ends one of two
          // transactions that wait for each other, and then an operator restores again.
          for (let attempt = 1;; attempt++) {
            const error = await execute("pg_restore", "-1", ...args, dump).catch((one) => one);
            if (!(error instanceof Error)) break;
            if (!isRunning || attempt === 5) throw error;
          }
          for (let n = 0; n < writes; n++) {
            await sql(`UPDATE notes SET title = 'z${n}' WHERE id = 3`);
          }
          const second = isRunning ? first : await serve(scratch.url);
          if (!isRunning) await follower.connect(second);
          await follower.until(() => follower.invalidations.length > 0);
          await follower.compare(second);
          assertEquals(follower.invalidations.slice(-1), ["history_lost"], `${writes}`);
          await follower.disconnect();
          await second.close();
          await scratch.drop();
        }
      },
    );
  }
}
