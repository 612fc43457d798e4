/**
 * Compiles the probes of the client's types with several versions of TypeScript, and prints a table
 * with the result of each probe. Fails if a probe has another result than expected. Downloads the
 * compilers when it runs for the first time.
 *
 * deno task type-probes
 */
import { isRight, probeAt, probes, probesProgram } from "../tests/types/client/probes.ts";

const versions = ["5.9.3", "7.0.2"];
const root = new URL("../", import.meta.url).pathname;

/** Returns the compiler's errors, by the number of the probe. Errors elsewhere have the number 0. */
async function errorsBy(version: string): Promise<ReadonlyMap<number, string>> {
  const folder = await Deno.makeTempDir();
  try {
    for (const [file, text] of Object.entries(probesProgram)) {
      await Deno.writeTextFile(`${folder}/${file}`, text);
    }
    const compilerOptions = {
      ...{ strict: true, noEmit: true, noUncheckedIndexedAccess: true, types: [] },
      ...{ target: "es2024", lib: ["es2024", "dom", "dom.iterable"], module: "esnext" },
      ...{ moduleResolution: "bundler", allowImportingTsExtensions: true },
      paths: { "@svc/resource-api/client": [`${root}exports/client.ts`] },
    };
    await Deno.writeTextFile(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions }));
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-config", `npm:typescript@${version}/tsc`, "--project", folder],
      stdout: "piped",
    }).output();
    const errors = new Map<number, string>();
    for (const error of new TextDecoder().decode(stdout).split(/^(?=\S+\(\d+,\d+\): error)/m)) {
      const [, line] = /^\S*probes\.ts\((\d+),/.exec(error) ?? [];
      const number = line === undefined ? 0 : probeAt(Number(line));
      errors.set(number, (errors.get(number) ?? "") + error);
    }
    return errors;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

let failures = 0;
const results = await Promise.all(versions.map(errorsBy));
console.log(`|  # | ${versions.join(" | ")} | expected | expression |`);
console.log(`| -: | ${versions.map(() => "-").join(" | ")} | - | - |`);
for (const [index, probe] of probes.entries()) {
  const marks = results.map((errors) => {
    const right = isRight(probe, errors.get(index + 1) ?? "");
    if (!right) failures++;
    return right ? "yes" : "NO";
  });
  const [expression, expected] = probe.map((text) => `${text}`.replaceAll("|", "\\|"));
  console.log(`| ${index + 1} | ${marks.join(" | ")} | \`${expected}\` | \`${expression}\` |`);
}
for (const errors of results) {
  if (errors.get(0)) console.log(errors.get(0));
}
console.log(`${probes.length} probes, ${failures} wrong results`);
Deno.exit(failures === 0 ? 0 : 1);
