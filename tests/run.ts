/**
 * Runs the tests: starts what they need, streams their output, and ends with one line,
 * `N passed, N failed, N skipped`. Arguments go to `deno test`; the ones that name files or folders
 * replace the default of everything.
 */
import { type PostgresCluster, startPostgresCluster } from "./support/postgres_cluster.ts";
import { testOutputReader, type TestSummary, unnamedReason } from "./support/test_summary.ts";

const everything = ["tests", "src", "mod.ts", "README.md", "docs"];

if (import.meta.main) Deno.exit(await run(Deno.args));

/** Gives the exit code: 0 when something ran, nothing failed, and every skip named its reason. */
async function run(args: readonly string[]): Promise<number> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  Deno.addSignalListener("SIGINT", stop);
  Deno.addSignalListener("SIGTERM", stop);
  const postgres = await postgresForTests();
  try {
    if (stopping.signal.aborted) return 130;
    const environment = "url" in postgres
      ? { TEST_POSTGRES_URL: postgres.url }
      : { TEST_POSTGRES_MISSING: postgres.missing };
    const { summary, success } = await runTests(args, environment, stopping.signal);
    report(summary);
    return stopping.signal.aborted ? 130 : success && isGood(summary) ? 0 : 1;
  } finally {
    if ("stop" in postgres) await postgres.stop();
  }
}

/** A server that is running already, named by `TEST_POSTGRES_URL`, spares the start of another. */
async function postgresForTests(): Promise<PostgresCluster> {
  const url = Deno.env.get("TEST_POSTGRES_URL");
  return url === undefined ? await startPostgresCluster() : { url, stop: () => Promise.resolve() };
}

async function runTests(
  args: readonly string[],
  env: Record<string, string>,
  stopping: AbortSignal,
): Promise<{ summary: TestSummary | null; success: boolean }> {
  const places = await existing(args);
  const rest = places.length > 0 ? [] : await existing(everything);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--doc", ...args, ...rest],
    env,
    stdout: "piped",
  }).spawn();
  const kill = () => child.kill("SIGTERM");
  stopping.addEventListener("abort", kill);
  const reader = testOutputReader();
  let unfinished = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    await writeAll(text);
    const lines = (unfinished + text).split("\n");
    unfinished = lines.pop() ?? "";
    for (const line of lines) reader.read(line);
  }
  const { success } = await child.status;
  stopping.removeEventListener("abort", kill);
  return { summary: reader.summary(), success };
}

async function existing(paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    const stat = await Deno.stat(path).catch(() => null);
    if (stat !== null) found.push(path);
  }
  return found;
}

async function writeAll(text: string): Promise<void> {
  let bytes = new TextEncoder().encode(text);
  while (bytes.length > 0) bytes = bytes.subarray(await Deno.stdout.write(bytes));
}

function report(summary: TestSummary | null): void {
  if (summary === null) {
    console.log("\nThe tests ended before their summary: that counts as one failure.");
    console.log("0 passed, 1 failed, 0 skipped");
    return;
  }
  if (summary.passed + summary.failed === 0) console.log("\nNo test ran.");
  for (const [reason, count] of summary.skipReasons) console.log(`skipped: ${count} × ${reason}`);
  console.log(`${summary.passed} passed, ${summary.failed} failed, ${summary.skipped} skipped`);
}

function isGood(summary: TestSummary | null): boolean {
  return summary !== null && summary.failed === 0 && summary.passed > 0 &&
    !summary.skipReasons.has(unnamedReason);
}
