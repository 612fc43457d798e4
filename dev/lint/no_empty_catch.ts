import { isSource, projectPath } from "./project_path.ts";

/** Forbids an empty catch. A catch translates a known error, or observes it and continues. */
export const noEmptyCatch: Deno.lint.Rule = {
  create(context) {
    if (!isSource(projectPath(context.filename))) return {};
    return {
      CatchClause(node) {
        if (node.body.body.length > 0) return;
        context.report({
          node,
          message: "This catch swallows every error",
          hint: "Turn the one error that is expected into a Problem, or observe it.",
        });
      },
    };
  },
};
