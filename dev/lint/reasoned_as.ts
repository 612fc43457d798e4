import { isSource, projectPath } from "./project_path.ts";

/** Requires a reason above each `as`: why the compiler cannot know the type. */
export const reasonedAs: Deno.lint.Rule = {
  create(context) {
    if (!isSource(projectPath(context.filename))) return {};
    const lines = context.sourceCode.text.split("\n");

    function check(node: Deno.lint.TSAsExpression | Deno.lint.TSTypeAssertion): void {
      // `x as unknown as Row` counts as one cast.
      if (isConst(node.typeAnnotation) || node.parent.type === "TSAsExpression") return;
      const first = lineOf(statementAround(node).range[0]);
      const last = lineOf(node.range[1]);
      for (let line = last; line >= first; line--) {
        if (isComment(lines[line - 1])) return;
      }
      // One reason is sufficient for successive lines, such as the columns of one row.
      let line = first - 1;
      while (line > 0 && / as (?!const\b)/.test(lines[line] ?? "")) line--;
      if (isComment(lines[line])) return;
      context.report({
        node,
        message: "`as` without a reason in a comment above it",
        hint: "Say what makes it true, or narrow the type by a check.",
      });
    }

    /** Returns the nearest statement around the expression. Its comment precedes the statement. */
    function statementAround(node: Deno.lint.Node): Deno.lint.Node {
      const ancestors = context.sourceCode.getAncestors(node);
      return ancestors.findLast((ancestor) =>
        /(Statement|Declaration|Definition)$/.test(ancestor.type)
      ) ??
        node;
    }

    function lineOf(offset: number): number {
      return context.sourceCode.text.slice(0, offset).split("\n").length - 1;
    }

    return { TSAsExpression: check, TSTypeAssertion: check };
  },
};

function isConst(type: Deno.lint.TypeNode): boolean {
  return type.type === "TSTypeReference" && type.typeName.type === "Identifier" &&
    type.typeName.name === "const";
}

function isComment(line: string | undefined): boolean {
  return /^\s*(\/\/|\/\*|\*)/.test(line ?? "");
}
