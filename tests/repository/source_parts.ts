/** The parts of TypeScript files that the checks of names and words examine, by Deno's own parser. */

/** A piece of a file's text. */
export interface Part {
  readonly text: string;
  readonly line: number;
}

/** The parts of one file. */
export interface SourceParts {
  /** Names in code, each place of them. */
  readonly identifiers: readonly Part[];
  readonly comments: readonly Part[];
  /** The titles of tests: sentences beside a function in the arguments of a call. */
  readonly titles: readonly Part[];
  /** The exported names, without those of other files that it re-exports. */
  readonly exports: readonly string[];
}

/** Parses a TypeScript text; `path` is for error messages. */
export function sourceParts(path: string, source: string): SourceParts {
  const identifiers: Part[] = [];
  const comments: Part[] = [];
  const titles: Part[] = [];
  const exports: string[] = [];
  const imported = new Set<string>();
  const lineStarts = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const partAt = (text: string, at: number): Part => ({
    text,
    line: lineStarts.findLastIndex((start) => start <= at) + 1,
  });
  const rule: Deno.lint.Rule = {
    create: (context) => ({
      Identifier: (node) => void identifiers.push(partAt(node.name, node.range[0])),
      PrivateIdentifier: (node) => void identifiers.push(partAt(node.name, node.range[0])),
      CallExpression(node) {
        const hasFunction = node.arguments.some(({ type }) => /Function/.test(type));
        if (!hasFunction) return;
        for (const argument of node.arguments) {
          const text = context.sourceCode.getText(argument);
          const isTitle = /^(?:Literal|TemplateLiteral)$/.test(argument.type) && text.includes(" ");
          if (isTitle) titles.push(partAt(text, argument.range[0]));
        }
      },
      ImportDeclaration(node) {
        for (const { local } of node.specifiers) imported.add(local.name);
      },
      ExportNamedDeclaration: (node) => void exports.push(...exportedNames(node, path)),
      "Program:exit"() {
        for (const { value, range } of context.sourceCode.getAllComments()) {
          comments.push(partAt(value, range[0]));
        }
      },
    }),
  };
  Deno.lint.runPlugin({ name: "parts", rules: { parts: rule } }, path, source);
  // An imported name that is exported again is that of the other file.
  const own = exports.filter((name) => !imported.has(name));
  return { identifiers, comments, titles, exports: own };
}

function exportedNames(node: Deno.lint.ExportNamedDeclaration, path: string): readonly string[] {
  const { declaration, specifiers, source } = node;
  // The file that it comes from exports it.
  if (source !== null) return [];
  const names = specifiers.map(({ exported }) =>
    exported.type === "Identifier" ? exported.name : exported.value
  );
  if (declaration === null) return names;
  if (declaration.type === "VariableDeclaration") {
    return declaration.declarations.map(({ id }) => nameOf(id, path));
  }
  return [nameOf("id" in declaration ? declaration.id : null, path)];
}

/** Throws for an export that has no plain name: none may escape the check. */
function nameOf(
  id: { readonly type: string; readonly name?: unknown } | null,
  path: string,
): string {
  if (id?.type === "Identifier" && typeof id.name === "string") return id.name;
  throw new Error(`${path} exports something without a plain name`);
}
