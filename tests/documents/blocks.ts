/** The fenced blocks of README.md and docs/, and the ways to run one of them. */
import { stop, transform } from "esbuild";
import { root } from "../repository/module_graph.ts";

// esbuild starts a process at the first call, and not in a test.
await transform("");
Deno.test.afterAll(() => stop());

export interface Block {
  readonly document: string;
  readonly language: string;
  readonly text: string;
}

export const blocks: readonly Block[] = documentsBelow("docs").concat("README.md").toSorted()
  .flatMap((document) => blocksOf(document, Deno.readTextFileSync(root + document)));

/**
 * The text of the only block of a document that starts with these characters. The check of all
 * blocks finds the calls of this function in the tests of this folder.
 */
export function block(document: string, start: string): string {
  const found = blocks.filter((one) => one.document === document && one.text.startsWith(start));
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new Error(`${document} has ${found.length} blocks that start with ${start}`);
  }
  return only.text;
}

/** A call of `block` in the text of a test. */
export interface Call {
  readonly document: string;
  readonly start: string;
}

/** The calls of `block` with strings in the tests of this folder, or in these texts. */
export function callsOfBlock(texts: readonly string[] = textsOfTests()): readonly Call[] {
  const pattern = /\bblock\(\s*("[^"\n]+"),\s*("(?:[^"\\\n]|\\.)+"|'(?:[^'\\\n]|\\.)+'),?\s*\)/g;
  return texts.flatMap((text) =>
    [...text.matchAll(pattern)].map(([, document = "", start = ""]) => ({
      document: document.slice(1, -1),
      start: start.slice(1, -1).replaceAll(/\\(.)/g, (_, one) => one === "n" ? "\n" : one),
    }))
  );
}

/**
 * Runs a fragment of a program: the names of `scope` are its variables, and an import is one of this
 * package. Returns the value of an expression after the fragment.
 */
export async function runFragment(
  text: string,
  scope: Readonly<Record<string, unknown>>,
  result = "undefined",
): Promise<unknown> {
  const { code } = await transform(`async () => {\n${withoutImports(text)}\nreturn ${result};\n}`, {
    ...{ loader: "tsx", jsxFactory: "createElement", target: "esnext" },
  });
  const given = { imported, ...scope };
  const make = new Function(
    ...Object.keys(given),
    `"use strict"; return (${code.trim().replace(/;$/, "")})`,
  );
  return await make(...Object.values(given))();
}

/** The value of an expression, or of members of an object, that a document shows. */
export async function valueOf(
  text: string,
  scope: Readonly<Record<string, unknown>> = {},
): Promise<unknown> {
  const isMembers = /^\w+:/.test(text);
  return await runFragment("", scope, isMembers ? `({${text}})` : text.replace(/;\s*$/, ""));
}

/** Imports of names become variables, for the text is the body of a function. */
function withoutImports(text: string): string {
  return text.replaceAll(
    /^import (?:(type) )?(?:\{([^}]*)\}|\* as (\w+)) from "([^"]+)";$/gm,
    (_, type, names = "", all, from) => {
      if (type !== undefined) return "";
      const left = all ?? `{${names.replaceAll(" as ", ": ")}}`;
      return `const ${left} = await imported(${JSON.stringify(from)});`;
    },
  );
}

function imported(specifier: string): Promise<unknown> {
  const path = specifier.replace(/^@svc\/resource-api/, ".");
  const file = path === specifier ? undefined : exportsOfPackage[path];
  return import(
    file === undefined ? specifier.replace(/^drizzle-orm/, "drizzle-0.45") : root + file
  );
}

const exportsOfPackage: Readonly<Record<string, string>> = JSON.parse(
  Deno.readTextFileSync(`${root}deno.json`),
).exports;

function documentsBelow(folder: string): readonly string[] {
  return [...Deno.readDirSync(root + folder)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    return isDirectory ? documentsBelow(path) : path.endsWith(".md") ? [path] : [];
  });
}

function blocksOf(document: string, text: string): readonly Block[] {
  return [...text.matchAll(/^( *)```([^\n]*)\n([^]*?)^\1```$/gm)]
    .map(([, indent = "", language = "", text = ""]) => ({
      ...{ document, language, text: text.replaceAll(RegExp(`^${indent}`, "gm"), "").trim() },
    }));
}

function textsOfTests(): readonly string[] {
  return ["tests/documents/", "tests/documents/client/"].flatMap((folder) =>
    [...Deno.readDirSync(root + folder)].filter(({ name }) => name.endsWith("_test.ts"))
      .map(({ name }) => Deno.readTextFileSync(root + folder + name))
  );
}
