import { isIn, isSource, projectPath } from "./project_path.ts";

/**
 * Time, chance, the environment and the console come in through the Runtime, so that a test can
 * move the clock, seed the dice and read what was observed.
 */
export const noAmbient: Deno.lint.Rule = {
  create(context) {
    const path = projectPath(context.filename);
    if (!isSource(path) || isIn(path, ["src/runtime/", "src/serve.ts"])) return {};
    const isCommandLine = isIn(path, ["src/cli/"]);

    function report(node: Deno.lint.Node, name: string): void {
      if (isCommandLine && commandLineMayUse.has(name)) return;
      context.report({
        node,
        message: `${name} is ambient: take it from the Runtime`,
        hint: "Only src/runtime/ and src/serve.ts reach for the world themselves.",
      });
    }

    return {
      MemberExpression(node) {
        if (node.object.type !== "Identifier") return;
        const property = memberName(node);
        if (node.object.name === "console") report(node, "console");
        else if (property === null) return;
        else if (ambientMembers.has(`${node.object.name}.${property}`)) {
          report(node, `${node.object.name}.${property}`);
        } else if (node.object.name === "globalThis" && ambientFunctions.has(property)) {
          report(node, property);
        }
      },
      CallExpression(node) {
        if (node.callee.type !== "Identifier") return;
        if (ambientFunctions.has(node.callee.name)) report(node, node.callee.name);
        if (node.callee.name === "Date") report(node, "Date()");
      },
      NewExpression(node) {
        if (node.callee.type !== "Identifier" || node.callee.name !== "Date") return;
        if (node.arguments.length === 0) report(node, "new Date()");
      },
      ImportSpecifier(node) {
        if (node.parent.type !== "ImportDeclaration" || node.imported.type !== "Identifier") return;
        const name = node.imported.name;
        if (node.parent.source.value === "node:crypto" && /^(random|getRandom)/.test(name)) {
          report(node, name);
        }
      },
    };
  },
};

const ambientMembers: ReadonlySet<string> = new Set([
  "Date.now",
  "Math.random",
  "performance.now",
  "performance.timeOrigin",
  "crypto.randomUUID",
  "crypto.getRandomValues",
  "Deno.env",
  "process.env",
  "globalThis.console",
]);

const ambientFunctions: ReadonlySet<string> = new Set([
  "setTimeout",
  "setInterval",
  "setImmediate",
]);

const commandLineMayUse: ReadonlySet<string> = new Set(["console", "Deno.env", "process.env"]);

function memberName(node: Deno.lint.MemberExpression): string | null {
  if (node.property.type === "Identifier" && !node.computed) return node.property.name;
  if (node.property.type === "Literal" && typeof node.property.value === "string") {
    return node.property.value;
  }
  return null;
}
