import { assertEquals } from "@std/assert";
import { root, sourceFiles } from "./module_graph.ts";

const mostLinesOfFile = 330;
const mostLinesOfFunction = 75;

/** What may be longer, each with the reason. */
const excused: Readonly<Record<string, string>> = {};

Deno.test("files and functions of src fit on a screen or have a reason not to", () => {
  const long: string[] = [];
  for (const file of sourceFiles("src")) {
    const lines = Deno.readTextFileSync(root + file).split("\n");
    if (lines.length > mostLinesOfFile) long.push(`${file} has ${lines.length} lines`);
    for (const { name, length } of functionsOf(lines)) {
      if (length > mostLinesOfFunction) long.push(`${file}: ${name} has ${length} lines`);
    }
  }
  assertEquals(long.filter((entry) => !Object.hasOwn(excused, entry.split(" has ")[0] ?? "")), []);
});

/**
 * Reads the shape that `deno fmt` gives: what opens at an indentation ends at the first line that
 * closes there.
 */
function functionsOf(lines: readonly string[]): { name: string; length: number }[] {
  const found: { name: string; length: number }[] = [];
  lines.forEach((line, start) => {
    const head = /^(\s*)(?!(?:if|for|while|switch|catch|return|else|\}))(.*)$/.exec(line);
    if (head === null) return;
    const [, indent = "", text = ""] = head;
    if (!/\bfunction\b|=>\s*\{$|^[\w\s#*]+\(.*[({]$/.test(text)) return;
    const end = lines.findIndex((other, index) =>
      index > start && new RegExp(`^${indent}\\}`).test(other)
    );
    if (end > 0) found.push({ name: text.slice(0, 60), length: end - start + 1 });
  });
  return found;
}
