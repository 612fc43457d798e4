import type { Dialect } from "../../src/sql/dialect.ts";
import { isIn, isSource, projectPath } from "./project_path.ts";

/** The names of engines in types, databases and traces. */
const names: Readonly<Record<Dialect["engine"], readonly string[]>> = {
  sqlite: ["sqlite"],
  postgres: ["postgres", "postgresql"],
};
const engines: ReadonlySet<unknown> = new Set(Object.values(names).flat());

/**
 * The files and folders that may name engines. Drizzle declares a table for one engine. The dialect
 * declares the type of the names, and the certified operators are a table over that type.
 */
const knowing = [
  ...["src/engines/", "src/schema/drizzle/"],
  ...["src/sql/dialect.ts", "src/sql/certified_operators.ts"],
];

/** Requires that differences between engines are members of the Dialect or the DatabaseEngine. */
export const engineBlind: Deno.lint.Rule = {
  create(context) {
    const path = projectPath(context.filename);
    if (!isSource(path) || isIn(path, knowing)) return {};

    function check(node: Deno.lint.Node, text: unknown): void {
      if (!engines.has(text)) return;
      report(node, `"${text}" is for src/engines/ to know`);
    }

    function report(node: Deno.lint.Node, message: string): void {
      const hint = "Add a member to the Dialect or the DatabaseEngine, and use its value.";
      context.report({ node, message, hint });
    }

    return {
      Literal: (node) => check(node, node.value),
      TemplateElement: (node) => check(node, node.cooked),
      Property: ({ key }) => key.type === "Identifier" && check(key, key.name),
      Identifier(node) {
        if (/^(?:is|has|on)(?:Sqlite|Postgres)(?:[A-Z]|$)/.test(node.name)) {
          report(node, `${node.name} tests for one engine`);
        }
      },
    };
  },
};
