import { isIn, isSource, projectPath } from "./project_path.ts";

/**
 * Requires that time, randomness, the environment and the console come from the Runtime, so that
 * tests can control them. Only the entry points of the package may use `systemRuntime`.
 */
export const noAmbient: Deno.lint.Rule = {
  create(context) {
    const path = projectPath(context.filename);
    if (!isSource(path) || isIn(path, ambientFiles)) return {};
    const isCommandLine = isIn(path, ["src/cli/"]);

    function report(node: Deno.lint.Node, name: string): void {
      if (isCommandLine && commandLineMayUse.has(name)) return;
      context.report({
        node,
        message: `${name} is ambient: take it from the Runtime`,
        hint: "Only these reach for the world themselves: " + ambientFiles.join(", "),
      });
    }

    function checkSystemImport(node: Deno.lint.Node, source: unknown, name: string): void {
      if (typeof source !== "string" || !source.endsWith("/system_runtime.ts")) return;
      if (isIn(path, mayImport[name] ?? [])) return;
      context.report({
        node,
        message: `${name} is ambient: take it from the Runtime that is handed in`,
        hint: "Only the ways into the package take the Runtime of the machine, as a default.",
      });
    }

    return {
      ImportDeclaration({ source, specifiers }) {
        for (const specifier of specifiers) {
          const name = specifier.type === "ImportSpecifier" ? nameOf(specifier.imported) : "*";
          checkSystemImport(specifier, source.value, name);
        }
      },
      ExportNamedDeclaration({ source, specifiers }) {
        for (const specifier of specifiers) {
          checkSystemImport(specifier, source?.value, nameOf(specifier.local));
        }
      },
      ExportAllDeclaration(node) {
        checkSystemImport(node, node.source.value, "*");
      },
      ImportExpression(node) {
        if (node.source.type === "Literal") checkSystemImport(node, node.source.value, "*");
      },
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

/** The sources of time and randomness: the service's Runtime, and the client's environment. */
const ambientFiles: readonly string[] = [
  "src/runtime/",
  "src/app/serve.ts",
  "src/client/environment.ts",
];

/** The exports of `system_runtime.ts`, and where each may be imported. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  systemRuntime: [
    ...["src/app/app.ts", "src/app/track_mutations.ts", "src/engines/open_database.ts", "src/cli/"],
    ...["src/billing/open_billing.ts", "src/engines/postgres/kv/open_postgres_key_value.ts"],
  ],
  // A driver that is opened without an app has no Runtime. It needs a clock, but no randomness.
  systemClock: ["src/engines/sqlite/driver/", "src/engines/postgres/driver/"],
  // A database is opened before the app, and only the app has the Runtime.
  environmentVariable: [
    "src/db/file_permission.ts",
    "src/engines/postgres/driver/postgres_js_driver.ts",
  ],
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

function nameOf(node: Deno.lint.Identifier | Deno.lint.StringLiteral): string {
  return node.type === "Identifier" ? node.name : node.value;
}

function memberName(node: Deno.lint.MemberExpression): string | null {
  if (node.property.type === "Identifier" && !node.computed) return node.property.name;
  if (node.property.type === "Literal" && typeof node.property.value === "string") {
    return node.property.value;
  }
  return null;
}
