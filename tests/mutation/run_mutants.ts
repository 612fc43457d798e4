import type { Mutant } from "./schemata.ts";

/** A file of tests, with the mutants that run in it and its duration without a mutant. */
export interface TestFile {
  readonly path: string;
  readonly reached: ReadonlySet<number>;
  readonly milliseconds: number;
}

/** The outcome of the tests with a mutant. */
export type Outcome = "killed" | "timeout" | "survived" | "not reached";

interface TestRun {
  readonly isGreen: boolean;
  readonly isOver: boolean;
  readonly output: string;
}

/** Runs each file of tests once without a mutant, and finds out which mutants run in it. */
export async function reachedMutants(
  folder: string,
  paths: readonly string[],
): Promise<TestFile[]> {
  const files: TestFile[] = [];
  for (const path of paths) {
    const reachedFolder = await Deno.makeTempDir({ dir: folder });
    const start = performance.now();
    const run = await runTests(folder, [path], { MUTANTS_REACHED: reachedFolder }, 300_000);
    if (!run.isGreen) {
      console.log(`  ${path} fails without a mutant, and is left out`);
      console.log(run.output.slice(-800));
      continue;
    }
    const reached = new Set<number>();
    for (const { name } of Deno.readDirSync(reachedFolder)) {
      const ids: number[] = JSON.parse(Deno.readTextFileSync(`${reachedFolder}/${name}`));
      for (const id of ids) reached.add(id);
    }
    files.push({ path, reached, milliseconds: performance.now() - start });
  }
  return files.sort((a, b) => a.milliseconds - b.milliseconds);
}

/** Runs the tests in which a mutant runs, until one of them fails. */
export async function outcomeOf(
  folder: string,
  { id }: Mutant,
  files: readonly TestFile[],
): Promise<Outcome> {
  const reaching = files.filter(({ reached }) => reached.has(id));
  if (reaching.length === 0) return "not reached";
  for (const { path, milliseconds } of reaching) {
    const limit = 20_000 + 8 * milliseconds;
    const run = await runTests(folder, [path], { MUTANT: String(id) }, limit);
    if (run.isOver) return "timeout";
    if (!run.isGreen) return "killed";
  }
  return "survived";
}

async function runTests(
  folder: string,
  paths: readonly string[],
  env: Readonly<Record<string, string>>,
  limitMs: number,
): Promise<TestRun> {
  const timeout = AbortSignal.timeout(limitMs);
  const command = new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", "--quiet", "--fail-fast", ...paths],
    cwd: folder,
    env: { ...env, NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
    signal: timeout,
  });
  const { success, stdout, stderr } = await command.output();
  const decoder = new TextDecoder();
  const output = decoder.decode(stdout) + decoder.decode(stderr);
  return { isGreen: success, isOver: timeout.aborted, output };
}
