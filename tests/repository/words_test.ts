import { assertEquals } from "@std/assert";
import { root } from "./module_graph.ts";

const unwanted: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["a path of one machine", /(?<![\w.:/-])\/(?:work|root|home\/\w+|Users\/\w+)\//],
  ["a note to do something later", /\b(?:TO[D]O|FIX[M]E|XX[X])\b/],
  ["a package registry's address", /\bregistry\.[\w-]+\.\w+|\/\/npm\.[\w-]+\.\w+/],
  ["a merge left open", /^(?:<{7}|>{7}) /m],
];

/** What git knows or would take, so that a file is checked before it is committed. */
const files = new TextDecoder().decode(
  new Deno.Command("git", {
    args: ["ls-files", "--cached", "--others", "--exclude-standard"],
    cwd: root,
  }).outputSync().stdout,
).trim().split("\n");

Deno.test("no file names a machine's path, a registry or work left over", () => {
  assertEquals(files.includes("deno.json"), true, "git lists the files");
  const found: string[] = [];
  for (const file of files) {
    const text = readText(file);
    if (text === null) continue;
    for (const [what, pattern] of unwanted) {
      const match = pattern.exec(text);
      if (match !== null) found.push(`${file} holds ${what}: ${match[0]}`);
    }
  }
  assertEquals(found, []);
});

/** Null for what is no text or was deleted. */
function readText(file: string): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Deno.readFileSync(root + file));
  } catch (error) {
    if (error instanceof TypeError || error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

Deno.test("all files name the version of Deno that .ci/run uses", () => {
  const [, version] = /^version=([\d.]+)$/m.exec(readText(".ci/run") ?? "") ?? [];
  const named = files.flatMap((file) =>
    [...(readText(file) ?? "").matchAll(/\bdeno[@:](\d+\.\d+\.\d+)/g)]
      .map(([, found]) => `${file}: ${found}`)
  );
  assertEquals(named.length > 5, true, "versions are found");
  assertEquals(named.filter((one) => !one.endsWith(`: ${version}`)), []);
});
