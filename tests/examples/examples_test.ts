import { assert, assertEquals } from "@std/assert";
import { createScratchDatabase } from "../support/engines.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";
import {
  type Example,
  exampleNames,
  matchesAnswer,
  readExample,
  runCommand,
  startExample,
} from "./example.ts";

const postgres = testPostgres();

for (const example of exampleNames.map(readExample)) {
  const needsPostgres = example.start.startsWith("DATABASE_URL=");
  testUnless(
    needsPostgres && "missing" in postgres ? postgres.missing : null,
    `examples/${example.name} answers as its head says`,
    async () => {
      assert(example.trials.some(({ answer }) => answer !== null), "the head shows an answer");
      if (!needsPostgres || "missing" in postgres) return await tryOut(example, {});
      const database = await createScratchDatabase(postgres.url);
      try {
        await tryOut(example, { DATABASE_URL: database.url, DENO_KV_DEFAULT_PATH: ":memory:" });
      } finally {
        await database.drop();
      }
    },
  );
}

async function tryOut(example: Example, given: Readonly<Record<string, string>>): Promise<void> {
  await using folder = await scratchFolder();
  // A process without a secret holds a lock for its first seconds, and ends only after them.
  const env = { SERVICE_SECRET: "a secret for the tests only", ...variablesOf(example), ...given };
  const options = { cwd: folder.path, env };
  for (const command of example.preparation) await runCommand(command, options);
  await using running = await startExample(example, options);
  for (const { command, answer } of example.trials) {
    const text = await runCommand(command, { ...options, port: running.port });
    if (answer === null || matchesAnswer(text, answer)) continue;
    assertEquals(text, answer, command);
  }
}

/** `NAME=value` before the start; a value that the head leaves out is any long text. */
function variablesOf({ start }: Example): Readonly<Record<string, string>> {
  const pairs = [...start.matchAll(/([A-Z_]+)=(\S+) /g)];
  return Object.fromEntries(
    pairs.map(([, name = "", value = ""]) => [name, value === "…" ? `any ${name} is long` : value]),
  );
}
