import { assert, assertEquals } from "@std/assert";
import ts from "typescript";
import { root, sourceFiles } from "./module_graph.ts";

/** An option whose description has a constant default: `flag().default(false)`. */
interface DescribedDefault {
  readonly types: readonly string[];
  readonly name: string;
  readonly value: string | number | boolean;
}

/** The docstrings of the members of interfaces, and the interfaces that these extend. */
const docs = new Map<string, ReadonlyMap<string, string>>();
const bases = new Map<string, readonly string[]>([["AnyHooks", ["Hooks"]]]);
const defaults: DescribedDefault[] = [];
for (const file of sourceFiles("src")) {
  const text = Deno.readTextFileSync(root + file);
  readDeclarations(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
}

Deno.test("the docstring of an option ends in the default of its description", () => {
  assert(defaults.length > 80, "defaults are found");
  const wrong = defaults.filter(({ types, name, value }) =>
    !types.flatMap((type) => docsOf(type, name)).some((doc) =>
      wordings(value).some((said) =>
        new RegExp(`Default: ${RegExp.escape(said)}(?!,?\\d)`).test(doc)
      )
    )
  );
  assertEquals(wrong.map(({ types, name, value }) => `${types[0]}.${name}: ${value}`), []);
});

/** Reads interfaces, and `groupOf<Options>()({ name: flag().default(false) })`. */
function readDeclarations(node: ts.Node): void {
  if (ts.isInterfaceDeclaration(node)) {
    const members = node.members.map((one) => [one.name?.getText() ?? "", docOf(one)] as const);
    docs.set(node.name.text, new Map(members));
    const extended = node.heritageClauses?.flatMap(({ types }) => types) ?? [];
    bases.set(node.name.text, extended.map(({ expression }) => expression.getText()));
  }
  const [type, members] = describedIn(node);
  const types = type?.getText().match(/\w+/g) ?? [];
  for (const property of members?.properties ?? []) {
    const value = ts.isPropertyAssignment(property) ? defaultOf(property.initializer) : null;
    if (value !== null) defaults.push({ types, name: property.name?.getText() ?? "", value });
  }
  ts.forEachChild(node, readDeclarations);
}

/** Returns the type of options and its description: `{ … } satisfies Described<Type>`, too. */
function describedIn(
  node: ts.Node,
): readonly [type?: ts.TypeNode | undefined, members?: ts.ObjectLiteralExpression] {
  if (ts.isSatisfiesExpression(node) && ts.isTypeReferenceNode(node.type)) {
    const { type: { typeName, typeArguments }, expression } = node;
    const isDescribed = typeName.getText() === "Described";
    return isDescribed && ts.isObjectLiteralExpression(expression)
      ? [typeArguments?.[0], expression]
      : [];
  }
  if (!ts.isCallExpression(node) || !ts.isCallExpression(node.expression)) return [];
  const { expression: { expression, typeArguments }, arguments: [members] } = node;
  const isGroup = expression.getText() === "groupOf" && members !== undefined;
  return isGroup && ts.isObjectLiteralExpression(members) ? [typeArguments?.[0], members] : [];
}

function docOf(node: ts.Node): string {
  return ts.getJSDocCommentsAndTags(node).map((doc) =>
    ts.isJSDoc(doc) ? ts.getTextOfJSDocComment(doc.comment)?.replaceAll(/\s+/g, " ") : ""
  ).join(" ");
}

/** Returns the argument of a call of `default` at the end of a description, if it is a constant. */
function defaultOf(node: ts.Expression): DescribedDefault["value"] | null {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return null;
  const text = node.expression.name.text === "default" ? node.arguments[0]?.getText() ?? "" : "";
  if (text === "true" || text === "false") return text === "true";
  if (/^"[^"]+"$/.test(text)) return text.slice(1, -1);
  if (!/^[\d_]+(?: \* [\d_]+)*$/.test(text)) return null;
  return text.split(" * ").map((factor) => Number(factor.replaceAll("_", "")))
    .reduce((product, factor) => product * factor);
}

function docsOf(type: string, name: string): readonly string[] {
  const own = docs.get(type)?.get(name);
  return own !== undefined ? [own] : (bases.get(type) ?? []).flatMap((base) => docsOf(base, name));
}

function wordings(value: DescribedDefault["value"]): readonly string[] {
  if (typeof value === "boolean") return value ? ["true", "on"] : ["false", "off"];
  if (typeof value === "string") return [`\`${value}\``];
  const units = { MiB: 1_048_576, hours: 3_600_000, days: 86_400_000 };
  return [
    value.toLocaleString("en-US"),
    String(value),
    ...Object.entries(units).filter(([, unit]) => value % unit === 0)
      .map(([name, unit]) => `${value / unit} ${name}`),
    ...value === units.hours ? ["an hour", "one hour"] : [],
    ...value === units.days ? ["a day"] : [],
  ];
}
