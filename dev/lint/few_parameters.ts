import { isSource, projectPath } from "./project_path.ts";

const maxParameters = 4;

/** Limits the parameters of an exported function. Named fields are easier to read. */
export const fewParameters: Deno.lint.Rule = {
  create(context) {
    if (!isSource(projectPath(context.filename))) return {};
    return {
      "ExportNamedDeclaration > FunctionDeclaration"(node: Deno.lint.FunctionDeclaration) {
        if (node.params.length <= maxParameters) return;
        context.report({
          node,
          message:
            `An exported function takes at most ${maxParameters} parameters, this one ${node.params.length}`,
          hint: "Pass the rest as an object with named fields.",
        });
      },
    };
  },
};
