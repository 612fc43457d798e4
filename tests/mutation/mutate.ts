/**
 * Changes the code in small ways, and prints which changes no test notices:
 *
 *     deno task mutate                       # 150 mutants of all folders
 *     deno task mutate src/plan/cursor.ts --sample 40 --seed 7
 *     deno task mutate src/auth --sample all
 *
 * The project is copied, and each of its modules below the folder contains all of its mutants. The
 * tests of `suites.ts` run once without a mutant, which shows in which tests a mutant runs. They run
 * again for each mutant of the sample. A survivor that changes no behaviour is in `explained.ts`,
 * with the reason. Exits with 1 if another mutant survives.
 */
import { explained } from "./explained.ts";
import { outcomeOf, reachedMutants, type TestFile } from "./run_mutants.ts";
import { type Mutant, mutatedModule } from "./schemata.ts";
import { suites } from "./suites.ts";
import { seededRandom } from "../fuzz/engine/random.ts";

const root = new URL("../../", import.meta.url).pathname;
const runtime = "tests/mutation/mutation_runtime.ts";

async function main(args: readonly string[]): Promise<void> {
  const value = (name: string, otherwise: string) => {
    const at = args.indexOf(name);
    return at < 0 ? otherwise : args[at + 1] ?? otherwise;
  };
  const [first = ""] = args;
  const chosen = first.startsWith("--") ? "" : first;
  const folder = await Deno.makeTempDir({ prefix: "resource-api-mutants-" });
  try {
    await copyProject(folder);
    const tests = Object.entries(suites).filter(([path]) =>
      chosen === "" || path.startsWith(chosen) || chosen.startsWith(path)
    );
    if (tests.length === 0) {
      console.error(`There are no tests for ${chosen}: ${Object.keys(suites).join(", ")}`);
      Deno.exitCode = 2;
      return;
    }
    const mutants = await mutateFiles(folder, tests.map(([path]) => path), chosen);
    const sample = value("--sample", "150");
    const size = sample === "all" ? mutants.length : Number(sample);
    const picked = sampleOf(mutants, size, Number(value("--seed", "1")));
    console.log(`${mutants.length} mutants, of which ${picked.length} are tried`);
    const paths = await testFiles(tests.flatMap(([, list]) => list));
    const files = await reachedMutants(folder, paths);
    await tryAll(folder, picked, files);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function copyProject(folder: string): Promise<void> {
  const { stdout } = await new Deno.Command("git", {
    args: ["ls-files", "--cached", "--others", "--exclude-standard"],
    cwd: root,
  }).output();
  for (const path of new TextDecoder().decode(stdout).trim().split("\n")) {
    if (/^(?:examples|packaging|bench)\//.test(path)) continue;
    const to = `${folder}/${path}`;
    await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
    await Deno.copyFile(root + path, to);
  }
}

async function mutateFiles(
  folder: string,
  paths: readonly string[],
  chosen: string,
): Promise<readonly Mutant[]> {
  const mutants: Mutant[] = [];
  for (const file of paths.flatMap(sourcesOf).filter((path) => path.startsWith(chosen))) {
    const text = await Deno.readTextFile(root + file);
    const found = mutatedModule(text, file, mutants.length);
    const back = "../".repeat(file.split("/").length - 1);
    const prelude = `import "${back}${runtime}"; `;
    await Deno.writeTextFile(`${folder}/${file}`, prelude + found.text);
    mutants.push(...found.mutants);
  }
  return mutants;
}

function sourcesOf(path: string): readonly string[] {
  if (path.endsWith(".ts")) return [path];
  return Array.from(Deno.readDirSync(root + path)).flatMap(({ name, isDirectory }) =>
    isDirectory || name.endsWith(".ts") ? sourcesOf(`${path}/${name}`) : []
  ).sort();
}

async function testFiles(paths: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const path of paths) {
    if (path.endsWith(".ts")) found.add(path);
    else {
      for await (const { name } of Deno.readDir(root + path)) {
        if (name.endsWith("_test.ts")) found.add(`${path}/${name}`);
      }
    }
  }
  return [...found];
}

function sampleOf(mutants: readonly Mutant[], size: number, seed: number): readonly Mutant[] {
  const random = seededRandom(seed);
  const rest = [...mutants];
  const picked: Mutant[] = [];
  while (picked.length < size && rest.length > 0) {
    picked.push(...rest.splice(random.below(rest.length), 1));
  }
  return picked.sort((a, b) => a.id - b.id);
}

async function tryAll(
  folder: string,
  mutants: readonly Mutant[],
  files: readonly TestFile[],
): Promise<void> {
  const counts = { killed: 0, timeout: 0, survived: 0, "not reached": 0 };
  let reasons = 0;
  for (const mutant of mutants) {
    const outcome = await outcomeOf(folder, mutant, files);
    counts[outcome]++;
    if (outcome === "killed" || outcome === "timeout") continue;
    const { file, line, operator, code } = mutant;
    const reason = explained[`${file}: ${operator}: ${code}`];
    if (reason !== undefined) reasons++;
    console.log(
      `${outcome}: ${file}:${line} ${operator}: ${code}${
        reason === undefined ? "" : ` (${reason})`
      }`,
    );
  }
  const survivors = counts.survived + counts["not reached"];
  const share = Math.round(1_000 * survivors / Math.max(1, mutants.length)) / 10;
  console.log(
    `${mutants.length} mutants: ${counts.killed} killed, ${counts.timeout} timeouts, ` +
      `${counts.survived} survived, ${counts["not reached"]} in no test: ${share} % survivors, ` +
      `${reasons} of them explained`,
  );
  Deno.exitCode = survivors === reasons ? 0 : 1;
}

if (import.meta.main) await main(Deno.args);
