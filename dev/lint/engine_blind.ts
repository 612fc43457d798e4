import { isIn, isSource, projectPath } from "./project_path.ts";

/** Drizzle declares a table for one engine. */
const knowing = ["src/engines/", "src/sql/", "src/db/", "src/search/", "src/schema/drizzle/"];

/** Differences between the engines are in the Dialect; no other code depends on which one it is. */
export const engineBlind: Deno.lint.Rule = {
  create(context) {
    const path = projectPath(context.filename);
    if (!isSource(path) || isIn(path, knowing)) return {};

    function check(node: Deno.lint.Node, text: unknown): void {
      if (text !== "postgres" && text !== "sqlite") return;
      context.report({
        node,
        message: `"${text}" is for src/engines/, src/sql/, src/db/ and src/search/ to know`,
        hint: "Let the Dialect answer, or put the difference into it.",
      });
    }

    return {
      Literal: (node) => check(node, node.value),
      TemplateElement: (node) => check(node, node.cooked),
    };
  },
};
