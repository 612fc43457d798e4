import { isSource, projectPath } from "./project_path.ts";

/** The kinds of columns with unambiguous names. Other kinds are also types of JSON or shapes. */
const kinds: ReadonlySet<unknown> = new Set([
  ...["integer", "bigint", "real", "decimal", "timestamp", "date", "uuid", "bytes"],
]);

const message = "A new kind of columns would be missing here, and nothing would say so";
const hint = "Use a property of src/schema/kinds/kind_properties.ts, a Record<ColumnKind, …>, " +
  "or a switch with all kinds and no default.";

/**
 * Requires that a list of several column kinds is complete for the compiler: a fact of each kind, a
 * record of all kinds, or a `switch` without a default. One kind alone may be named.
 */
export const completeKinds: Deno.lint.Rule = {
  create(context) {
    if (!isSource(projectPath(context.filename))) return {};
    return {
      LogicalExpression(node) {
        const sign = node.operator === "||" ? "===" : "!==";
        if (isKindTest(node.right, sign) && isKindTest(lastTerm(node.left), sign)) {
          context.report({ node, message, hint });
        }
      },
      SwitchStatement(node) {
        const hasDefault = node.cases.some(({ test }) => test === null);
        const named = node.cases.filter(({ test }) => isKindName(test));
        if (hasDefault && named.length > 1) context.report({ node, message, hint });
      },
      ArrayExpression(node) {
        const isAsked = node.parent.type === "NewExpression" ||
          node.parent.type === "MemberExpression";
        if (isAsked && node.elements.filter(isKindName).length > 1) {
          context.report({ node, message, hint });
        }
      },
    };
  },
};

/** Returns the last term before the operator: for `a || b || c`, the term b. */
function lastTerm(node: Deno.lint.Node): Deno.lint.Node {
  return node.type === "LogicalExpression" ? node.right : node;
}

function isKindTest(node: Deno.lint.Node, operator: string): boolean {
  return node.type === "BinaryExpression" && node.operator === operator && isKindName(node.right);
}

function isKindName(node: Deno.lint.Node | null): boolean {
  return node?.type === "Literal" && kinds.has(node.value);
}
