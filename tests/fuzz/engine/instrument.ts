import ts from "typescript";

/** An instrumented module: its text, and the line of each of its branches. */
export interface InstrumentedModule {
  readonly text: string;
  /** The line of each branch, counted from 1. The first branch has the number `from`. */
  readonly lines: readonly number[];
  /** The first branch of the function of each branch, as an index of `lines`. */
  readonly functions: readonly number[];
  /** The strings in the code: keywords, symbols and separators. */
  readonly words: readonly string[];
}

/** The name of the array of counters, which every instrumented module reads from `globalThis`. */
export const countersName = "__fuzzCounters";

/**
 * Inserts a counter at each branch of a module: function bodies, arms of conditions, loop bodies,
 * cases, and right operands of `&&`, `||` and `??`. Branches have the numbers `from`, `from + 1`, ….
 */
export function instrument(text: string, from: number): InstrumentedModule {
  const source = ts.createSourceFile("module.ts", text, ts.ScriptTarget.Latest, true);
  const insertions: { readonly at: number; readonly order: number; readonly text: string }[] = [];
  const lines: number[] = [];
  const functions: number[] = [];
  let current = 0;
  const words = new Set<string>();
  const insert = (at: number, inserted: string) =>
    insertions.push({ at, order: insertions.length, text: inserted });
  const counter = (node: ts.Node) => {
    lines.push(source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1);
    functions.push(current);
    return `__fuzz[${from + lines.length - 1}]++`;
  };
  const countExpression = (node: ts.Expression) => {
    insert(node.getStart(source), `(${counter(node)}, `);
    return () => insert(node.getEnd(), ")");
  };
  const countStatement = (node: ts.Statement) => {
    if (ts.isBlock(node)) {
      insert(node.getStart(source) + 1, ` ${counter(node)}; `);
      return () => {};
    }
    insert(node.getStart(source), `{ ${counter(node)}; `);
    return () => insert(node.getEnd(), " }");
  };
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node)) return;
    if (ts.isImportDeclaration(node)) return;
    if (ts.isStringLiteral(node) && node.text.length <= maxWordLength) words.add(node.text);
    const outer = current;
    if (ts.isFunctionLike(node)) current = lines.length;
    const closings = countedParts(node).map((part) => ({
      part,
      close: isExpression(part) ? countExpression(part) : countStatement(part),
    }));
    if (ts.isCaseOrDefaultClause(node) && node.statements.length > 0) {
      insert(node.statements[0]?.getStart(source) ?? 0, `${counter(node)}; `);
    }
    ts.forEachChild(node, (child) => {
      visit(child);
      closings.find(({ part }) => part === child)?.close();
    });
    current = outer;
  };
  visit(source);
  const prelude = `const __fuzz = (globalThis.${countersName} ??= new Uint32Array(1 << 17)); `;
  return { text: prelude + applied(text, insertions), lines, functions, words: [...words] };
}

const maxWordLength = 32;

function isExpression(part: ts.Statement | ts.Expression): part is ts.Expression {
  return !ts.isBlock(part) && !ts.isStatement(part);
}

/** Returns the parts of a node that run only sometimes. */
function countedParts(node: ts.Node): (ts.Statement | ts.Expression)[] {
  if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
    // The cast is safe: the body of a function is a block or an expression.
    return [node.body as ts.Block | ts.Expression];
  }
  if (ts.isIfStatement(node)) {
    return [node.thenStatement, ...node.elseStatement === undefined ? [] : [node.elseStatement]];
  }
  if (ts.isIterationStatement(node, false)) return [node.statement];
  if (ts.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse];
  if (ts.isCatchClause(node)) return [node.block];
  const isLogical = ts.isBinaryExpression(node) && [
    ts.SyntaxKind.AmpersandAmpersandToken,
    ts.SyntaxKind.BarBarToken,
    ts.SyntaxKind.QuestionQuestionToken,
  ].includes(node.operatorToken.kind);
  return isLogical ? [node.right] : [];
}

function applied(
  text: string,
  insertions: readonly { readonly at: number; readonly order: number; readonly text: string }[],
): string {
  let result = "";
  let copied = 0;
  for (
    const { at, text: inserted } of insertions.toSorted((a, b) => a.at - b.at || a.order - b.order)
  ) {
    result += text.slice(copied, at) + inserted;
    copied = at;
  }
  return result + text.slice(copied);
}
