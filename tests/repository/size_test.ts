import { assertEquals } from "@std/assert";
import { root, sourceFiles } from "./module_graph.ts";

const maxLinesOfFile = 330;
const maxLinesOfFunction = 75;

/** What may be longer, each with the reason. */
const excused: Readonly<Record<string, string>> = {};

Deno.test("files and functions of src fit on a screen or have a reason not to", () => {
  const long: string[] = [];
  for (const file of sourceFiles("src")) {
    const lines = Deno.readTextFileSync(root + file).split("\n");
    if (lines.length > maxLinesOfFile) long.push(`${file} has ${lines.length} lines`);
    for (const { name, length } of functionsOf(lines)) {
      if (length > maxLinesOfFunction) long.push(`${file}: ${name} has ${length} lines`);
    }
  }
  assertEquals(long.filter((entry) => !Object.hasOwn(excused, entry.split(" has ")[0] ?? "")), []);
});

/**
 * Reads the shape that `deno fmt` gives: what opens at an indentation ends at the first line that
 * closes there, a list of parameters like a body.
 */
function functionsOf(lines: readonly string[]): { name: string; length: number }[] {
  const found: { name: string; length: number }[] = [];
  lines.forEach((line, start) => {
    const [, indent = "", text = ""] = /^(\s*)(.*)$/.exec(line) ?? [];
    if (!functionHead.test(text)) return;
    let body = start;
    if (text.endsWith("(")) {
      body = closing(lines, start, `${indent})`);
      if (!lines[body]?.endsWith("{")) return;
    }
    const end = closing(lines, body, `${indent}}`);
    if (end > 0) found.push({ name: text.slice(0, 60), length: end - start + 1 });
  });
  return found;
}

/** A function, a method or an arrow whose body or parameters continue below. */
const functionHead =
  /^(?!(?:if|for|while|switch|return)\b|\})(?:.*=> \{|(?:[\w*#]+ )*[\w#$]+(?:<.*>)?\(.*[{(])$/;

function closing(lines: readonly string[], after: number, start: string): number {
  return lines.findIndex((line, index) => index > after && line.startsWith(start));
}
