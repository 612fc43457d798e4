import ts from "typescript";

/** A change of the code that a test should notice. */
export interface Mutant {
  readonly id: number;
  readonly file: string;
  readonly line: number;
  /** What is changed, such as `< to <=`. */
  readonly operator: string;
  /** The code that is changed, as written, in one line. */
  readonly code: string;
}

/** A module that contains all of its mutants. `MUTANT` in the environment selects one of them. */
export interface MutatedModule {
  readonly text: string;
  readonly mutants: readonly Mutant[];
}

/** Returns a module whose mutants have the numbers `from`, `from + 1`, …. */
export function mutatedModule(text: string, file: string, from: number): MutatedModule {
  const source = ts.createSourceFile("module.ts", text, ts.ScriptTarget.Latest, true);
  const insertions: { readonly at: number; readonly text: string; readonly deletes: number }[] = [];
  const mutants: Mutant[] = [];
  const edit = (at: number, inserted: string, deletes = 0) =>
    insertions.push({ at, text: inserted, deletes });
  const add = (node: ts.Node, operator: string) => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
    const code = node.getText(source).replace(/\s+/g, " ").slice(0, 120);
    mutants.push({ id: from + mutants.length, file, line: line + 1, operator, code });
    return from + mutants.length - 1;
  };
  const wrap = (node: ts.Node, before: string, visitInner: () => void) => {
    edit(node.getStart(source), before);
    visitInner();
    edit(node.getEnd(), ")");
  };
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || isDeclaration(node)) return;
    const visitAll = () => ts.forEachChild(node, visit);
    if (isCondition(node)) {
      return wrap(node, `__mutation.not(${add(node, "negated")}, `, () => mutateInside(node));
    }
    mutateInside(node, visitAll);
  };
  const mutateInside = (node: ts.Node, visitAll = () => ts.forEachChild(node, visit)): void => {
    if (ts.isBinaryExpression(node)) return mutateBinary(node, visitAll);
    if (ts.isNumericLiteral(node) && isValue(node)) {
      return wrap(node, `__mutation.number(${add(node, "plus 1")}, `, () => {});
    }
    if (ts.isExpressionStatement(node) && isCall(node.expression)) {
      // Without the braces, a following `else` would belong to the inserted condition.
      edit(node.getStart(source), `{ if (!__mutation.is(${add(node, "removed")})) `);
      visitAll();
      edit(node.getEnd(), " }");
      return;
    }
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      // The cast is safe: the body of a function is a block or an expression.
      const body = node.body as ts.Block | ts.Expression;
      if (ts.isBlock(body) && body.statements.length > 1 && !ts.isConstructorDeclaration(node)) {
        const name = node.name?.getText(source) ?? "function";
        const id = add(body, `${name} returns early`);
        edit(body.getStart(source) + 1, ` if (__mutation.is(${id})) return; `);
      }
    }
    visitAll();
  };
  const mutateBinary = (node: ts.BinaryExpression, visitAll: () => void): void => {
    const symbol = node.operatorToken.getText(source);
    const replaced = replacements[symbol];
    // A message is a text, and other texts with the same parts need no test.
    if (replaced === undefined || isText(node.left) || isText(node.right)) return visitAll();
    const isLogical = symbol === "&&" || symbol === "||";
    if (isLogical && /\b(?:await|yield)\b/.test(node.right.getText(source))) return visitAll();
    const id = add(node, `${symbol} to ${replaced}`);
    wrap(node, `__mutation.${functions[symbol]}(${id}, `, () => {
      visit(node.left);
      const { operatorToken } = node;
      const before = isLogical ? ", () => (" : ", ";
      edit(operatorToken.getStart(source), before, operatorToken.getWidth(source));
      visit(node.right);
      if (isLogical) edit(node.getEnd(), ")");
    });
  };
  visit(source);
  return { text: applied(text, insertions), mutants };
}

const replacements: Readonly<Record<string, string>> = {
  ...{ "<": "<=", "<=": "<", ">": ">=", ">=": ">", "===": "!==", "!==": "===" },
  ...{ "&&": "||", "||": "&&", "+": "-", "-": "+" },
};

const functions: Readonly<Record<string, string>> = {
  ...{ "<": "less", "<=": "atMost", ">": "more", ">=": "atLeast", "===": "equal" },
  ...{ "!==": "unequal", "&&": "and", "||": "or", "+": "plus", "-": "minus" },
};

function isDeclaration(node: ts.Node): boolean {
  return ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);
}

/** Returns true for a condition without a comparison of its own, which has a mutant already. */
function isCondition(node: ts.Node): boolean {
  const { parent } = node;
  if (parent === undefined) return false;
  const isTested = (ts.isIfStatement(parent) && parent.expression === node) ||
    (ts.isConditionalExpression(parent) && parent.condition === node);
  return isTested && !ts.isBinaryExpression(node);
}

/** Returns true for a number that is evaluated, and not the name or type of something. */
function isValue({ parent }: ts.NumericLiteral): boolean {
  return !ts.isLiteralTypeNode(parent) && !ts.isElementAccessExpression(parent) &&
    !ts.isEnumMember(parent) &&
    !(ts.isPropertyAssignment(parent) && ts.isNumericLiteral(parent.name));
}

function isText(node: ts.Expression): boolean {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node) ||
    (ts.isBinaryExpression(node) && (isText(node.left) || isText(node.right)));
}

function isCall(node: ts.Expression): boolean {
  return ts.isCallExpression(ts.isAwaitExpression(node) ? node.expression : node);
}

function applied(
  text: string,
  edits: readonly { readonly at: number; readonly text: string; readonly deletes: number }[],
): string {
  let result = "";
  let copied = 0;
  const ordered = edits.map((one, order) => ({ ...one, order }))
    .sort((a, b) => a.at - b.at || a.order - b.order);
  for (const { at, text: inserted, deletes } of ordered) {
    result += text.slice(copied, at) + inserted;
    copied = Math.max(copied, at + deletes);
  }
  return result + text.slice(copied);
}
