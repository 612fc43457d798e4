import { assertEquals } from "@std/assert";
import { sourcesIn } from "../../dev/sweep/sources.ts";
import { sweepDatabase } from "../../dev/sweep/sweep_database.ts";
import { missingSqliteShell } from "../support/sqlite_shell.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

const folder = new URL("shapes", import.meta.url).pathname;
const limits = { maxRows: 100, maxWritten: 5, print: () => {} };

/** What a sweep of a script must reach, so that it cannot pass without comparing anything. */
const reached = {
  program: { resources: 11, written: 23, streamed: 8 },
  server: { resources: 10, written: 15, streamed: 7 },
};

for (const [name, least] of Object.entries(reached)) {
  const server = testPostgres();
  const missing = name === "server" && "missing" in server
    ? server.missing
    : name === "program"
    ? missingSqliteShell
    : null;
  testUnless(missing, `reads, writes and streams of ${name} are those of plain SQL`, async () => {
    const source = (await sourcesIn(folder)).find((one) => one.name === name);
    const loaded = await source?.load(() => Promise.resolve("url" in server ? server.url : ""));
    if (loaded === undefined) throw new Error(`There is no script ${name}`);
    try {
      const swept = await sweepDatabase(loaded, limits);
      assertEquals(swept.differences, []);
      const { resources, written, streamed } = swept;
      assertEquals({ resources, written, streamed }, least, swept.refusedWrites.join("\n"));
    } finally {
      await loaded.drop();
    }
  });
}
