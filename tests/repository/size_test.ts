import { assertEquals } from "@std/assert";
import ts from "typescript";
import { root, sourceFiles } from "./module_graph.ts";

const maxLinesOfFile = 330;
const maxLinesOfFunction = 75;

/** What may be longer, each with the reason. */
const excused: Readonly<Record<string, string>> = {
  "src/resource/define/resource_definition.ts: export function resource<":
    "all of its lines but one are types, and each named part of them would be a public name",
};

Deno.test("files and functions of src fit on a screen or have a reason not to", () => {
  const long: string[] = [];
  for (const file of sourceFiles("src")) {
    const text = Deno.readTextFileSync(root + file);
    const length = text.split("\n").length;
    if (length > maxLinesOfFile) long.push(`${file} has ${length} lines`);
    for (const { head, length } of functionsOf(text)) {
      if (length > maxLinesOfFunction) long.push(`${file}: ${head} has ${length} lines`);
    }
  }
  const names = long.map((entry) => entry.split(" has ")[0] ?? "");
  assertEquals(long.filter((_, index) => !Object.hasOwn(excused, names[index] ?? "")), []);
  assertEquals(Object.keys(excused).filter((name) => !names.includes(name)), [], "out of date");
});

Deno.test("a line of prose in a comment of src has at most 100 characters", () => {
  const long = sourceFiles("src").flatMap((file) =>
    // The lines of an example are those of a program.
    Deno.readTextFileSync(root + file).replace(/```.*?```/gs, (code) => code.replace(/[^\n]/g, ""))
      .split("\n").flatMap((line, index) =>
        /^\s*(?:\/\/|\/\*\*|\*)/.test(line) && [...line].length > 100
          ? [`${file}:${index + 1}`]
          : []
      )
  );
  assertEquals(long, []);
});

Deno.test("the lines of a function are counted in every shape of its head", () => {
  const program = `
/** A comment is no part of the function. */
export function generic<
  One,
  Other,
>(
  one: One,
): Promise<{
  other: Other;
}> {
  return later(one);
}
const arrow = async (
  one: string,
): Promise<void> => {
  await later(one);
};
const curried = (one: string) => (other: string) => ({
  both: one + other,
});
class Store<
  Row,
> {
  constructor(
    readonly row: Row,
  ) {
    super();
  }
  get first(): Row {
    return this.row;
  }
  static async *#rows(
    { limit }: { limit: number },
  ) {
    yield limit;
  }
}
export default {
  close() {
    stop();
  },
  stop: function () {
    close();
  },
};
function overloaded(one: string): void;
function overloaded(
  one: unknown,
): void {}
`;
  assertEquals(functionsOf(program).map(({ head, length }) => [head, length]), [
    ["export function generic<", 10],
    ["const arrow = async (", 5],
    ["const curried = (one: string) => (other: string) => ({", 3],
    ["const curried = (one: string) => (other: string) => ({", 3],
    ["constructor(", 5],
    ["get first(): Row {", 3],
    ["static async *#rows(", 5],
    ["close() {", 3],
    ["stop: function () {", 3],
    ["function overloaded(", 3],
  ]);
});

/** A function with a body, and the first of its lines. */
interface CountedFunction {
  readonly head: string;
  readonly length: number;
}

/** Returns all functions of a file, also those inside of other functions, which count for both. */
function functionsOf(text: string): CountedFunction[] {
  const source = ts.createSourceFile("file.ts", text, ts.ScriptTarget.Latest);
  const lines = text.split("\n");
  const found: CountedFunction[] = [];
  const lineAt = (position: number) => source.getLineAndCharacterOfPosition(position).line;
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      const start = lineAt(node.getStart(source));
      found.push({ head: lines[start]?.trim() ?? "", length: lineAt(node.end) - start + 1 });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
