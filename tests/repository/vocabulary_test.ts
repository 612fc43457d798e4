import { assertEquals } from "@std/assert";
import { goneNames, goneProse, type GoneWord } from "./gone_words.ts";
import { root, sourceFiles } from "./module_graph.ts";
import { type Part, sourceParts } from "./source_parts.ts";

const folders = ["src", "tests", "bench", "dev", "examples"];
const sources = [...folders.flatMap(sourceFiles), "mod.ts", "cli.ts"]
  // The list itself names the words.
  .filter((file) => !file.startsWith("tests/repository/gone_words"));
const parts = sources.map((file) =>
  [file, sourceParts(file, Deno.readTextFileSync(root + file))] as const
);
const documents = [
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...markdownFiles("docs"),
  ...markdownFiles("tests"),
]
  .map((file) => [file, proseOfDocument(Deno.readTextFileSync(root + file))] as const);

Deno.test("identifiers have the terms of the glossary", () => {
  const inCode = parts.flatMap(([file, { identifiers, comments }]) => [
    ...hits(file, identifiers, goneNames),
    ...hits(file, comments.flatMap(quotedNames), goneNames),
  ]);
  const inDocuments = documents.flatMap(([file, prose]) =>
    hits(file, prose.flatMap(quotedNames), goneNames)
  );
  assertEquals([...new Set([...inCode, ...inDocuments])], []);
});

Deno.test("comments, documents and test titles are in ordinary technical English", () => {
  const inCode = parts.flatMap(([file, { comments, titles }]) => [
    ...hits(file, comments.map(asProse), goneProse),
    ...hits(file, titles, goneProse),
  ]);
  const inDocuments = documents.flatMap(([file, prose]) => hits(file, prose, goneProse));
  assertEquals([...inCode, ...inDocuments], []);
});

Deno.test("a gone word is found as a word of an identifier, in a comment and in a title", () => {
  const { identifiers, comments, titles } = sourceParts(
    "x.ts",
    '// Whoever asks\n/* is\n * told */\nDeno.test("goes on", () => firstPassage.of(#beats));'
      .replace("#beats", "rowBeats"),
  );
  assertEquals(hits("x.ts", identifiers, goneNames).length, 2);
  assertEquals(hits("x.ts", comments, goneProse).length, 2);
  assertEquals(hits("x.ts", titles, goneProse).length, 1);
});

Deno.test("docs/glossary.md names files that exist", () => {
  const text = Deno.readTextFileSync(`${root}docs/glossary.md`);
  const files = [...text.matchAll(/`((?:src|tests)\/[^`]+)`/g)].map(([, file = ""]) => file);
  assertEquals(files.length > 30, true);
  assertEquals(files.filter((file) => !exists(file)), []);
});

function hits(file: string, texts: readonly Part[], words: readonly GoneWord[]): string[] {
  return words
    .filter(({ below }) => below?.some((folder) => file.startsWith(`${folder}/`)) ?? true)
    .filter(({ except = [] }) => !except.some((place) => file.startsWith(place)))
    .flatMap(({ pattern, instead }) =>
      texts.flatMap(({ text, line }) => {
        const match = pattern.exec(text);
        if (match === null) return [];
        const at = line + text.slice(0, match.index).split("\n").length - 1;
        return [`${file}:${at} ${match[0]} → ${instead}`];
      })
    );
}

/** Names in backquotes. */
function quotedNames({ text, line }: Part): Part[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].flatMap(({ 1: code = "", index }) => {
    const at = line + text.slice(0, index).split("\n").length - 1;
    return code.match(/[\w$#]+/g)?.map((name) => ({ text: name, line: at })) ?? [];
  });
}

/** Without the examples and the names in backquotes; the lines stay. */
function asProse({ text, line }: Part): Part {
  const blank = (piece: string) => piece.replaceAll(/[^\n]/g, " ");
  return { text: text.replaceAll(/```[\s\S]*?```/g, blank).replaceAll(/`[^`\n]*`/g, blank), line };
}

/** A document's paragraphs without its code, and the code's names in backquotes. */
function proseOfDocument(text: string): Part[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, (piece) => piece.replaceAll(/[^\n]/g, ""));
  return prose.split("\n").map((line, index) => ({ text: line, line: index + 1 }));
}

function markdownFiles(folder: string): string[] {
  return [...Deno.readDirSync(root + folder)].flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory ? markdownFiles(path) : path.endsWith(".md") ? [path] : [];
  });
}

function exists(file: string): boolean {
  try {
    return Deno.statSync(root + file).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
