import { isSource, projectPath } from "./project_path.ts";

/** Forbids state in modules, because two apps in one process must share nothing. */
export const noModuleState: Deno.lint.Rule = {
  create(context) {
    if (!isSource(projectPath(context.filename))) return {};
    return {
      VariableDeclaration(node) {
        const isTopLevel = node.parent.type === "Program" ||
          node.parent.type === "ExportNamedDeclaration";
        if (!isTopLevel) return;
        for (const declarator of node.declarations) {
          if (node.kind !== "const" || isMutableCollection(declarator)) {
            context.report({
              node: declarator,
              message: "State of a module is shared by every app in the process",
              hint: "Create it where the app is built, and pass it.",
            });
          }
        }
      },
    };
  },
};

/**
 * An empty collection is meant to be filled, unless its declared type forbids that. A collection
 * with initial values is a constant table.
 */
function isMutableCollection({ id, init }: Deno.lint.VariableDeclarator): boolean {
  if (init?.type !== "NewExpression" || init.callee.type !== "Identifier") return false;
  if (!collections.has(init.callee.name) || init.arguments.length > 0) return false;
  const type = id.type === "Identifier" ? id.typeAnnotation?.typeAnnotation : undefined;
  return type?.type !== "TSTypeReference" || type.typeName.type !== "Identifier" ||
    collections.has(type.typeName.name);
}

const collections: ReadonlySet<string> = new Set(["Map", "Set", "WeakMap", "WeakSet"]);
