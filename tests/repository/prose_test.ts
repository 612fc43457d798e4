import { assertEquals } from "@std/assert";
import { root, sourceFiles } from "./module_graph.ts";
import { sourceParts } from "./source_parts.ts";

/**
 * Words that docs/style.md replaces, with their replacements. Each has right uses too, or is too
 * frequent to be replaced in one step. Therefore a test holds their number, which may only fall.
 */
const replacements: Readonly<Record<string, readonly [pattern: RegExp, instead: string]>> = {
  "a text": [/\b(?:an?|another|each|every|no|any) text\b|\btexts\b/gi, "a string, strings"],
  "moment": [/\bmoments?\b/gi, "timestamp, point in time"],
  "beside": [/\bbeside\b/gi, "next to, in addition to, besides"],
  "stands": [/\bstands?\b/gi, "is, precedes, appears"],
  "gives": [/\bgives?\b/gi, "returns, calls back with"],
  "null where": [/\b(?:null|undefined) where\b/gi, "null if"],
  "Whether": [/(?:^|\*\*?) ?Whether\b/gm, "Returns true if, True if"],
  "The same": [/(?:^|[.*] )The same\b/gm, "the name of the thing"],
  "What": [/(?:^|\*\* ?)What\b/gm, "the name of the thing"],
  "but for": [/\bbut for\b/gi, "except for"],
  "dear": [/\bdear(?:er|est)?\b/gi, "expensive"],
  "at once": [/\bat once\b/gi, "immediately, at the same time"],
  "by itself": [/\b(?:by itself|of its own)\b/gi, "automatically, separate, custom"],
  "answer": [/\banswers?\b/gi, "response, responds"],
};

/** How often the comments of `src` and the documents may use a word. */
type Counts = Record<string, { source: number; documents: number }>;

const countsFile = `${root}tests/repository/prose_counts.json`;

Deno.test("comments and documents use no more words that docs/style.md replaces than before", () => {
  // By contract the test has written the file.
  const allowed = JSON.parse(Deno.readTextFileSync(countsFile)) as Counts;
  const found = countWords();
  const write = Deno.env.get("PROSE") === "write";
  const more: string[] = [];
  for (const [word, { source, documents }] of Object.entries(found)) {
    const limit = allowed[word] ?? (write ? { source, documents } : { source: 0, documents: 0 });
    const instead = replacements[word]?.[1];
    const say = (place: string, now: number, before: number) =>
      now > before && more.push(`"${word}" in ${place}: ${now}, not ${before}. Write: ${instead}`);
    say("comments of src", source, limit.source);
    say("documents", documents, limit.documents);
    allowed[word] = {
      source: Math.min(source, limit.source),
      documents: Math.min(documents, limit.documents),
    };
  }
  if (write) Deno.writeTextFileSync(countsFile, JSON.stringify(allowed, null, 2) + "\n");
  assertEquals(more, []);
});

Deno.test("a word is counted in comments and documents, and not in code", () => {
  const prose =
    "/** Whether a text stands beside `a text`. */\nconst moments = 1; // null where dear";
  const counts = Object.entries(replacements).map(([word, [pattern]]) =>
    [word, commentsIn("x.ts", prose).reduce((sum, text) => sum + count(text, pattern), 0)] as const
  );
  assertEquals(Object.fromEntries(counts.filter(([, number]) => number > 0)), {
    ...{ "a text": 1, beside: 1, stands: 1, "null where": 1, Whether: 1, dear: 1 },
  });
});

function countWords(): Counts {
  const comments = sourceFiles("src").flatMap((file) =>
    commentsIn(file, Deno.readTextFileSync(root + file))
  );
  const documents = ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...markdownFiles("docs")]
    .map((file) => withoutCode(Deno.readTextFileSync(root + file)));
  const total = (texts: readonly string[], pattern: RegExp) =>
    texts.reduce((sum, text) => sum + count(text, pattern), 0);
  return Object.fromEntries(
    Object.entries(replacements).map(([word, [pattern]]) => [
      word,
      { source: total(comments, pattern), documents: total(documents, pattern) },
    ]),
  );
}

/** Returns the comments of a file, each with the mark of its kind. */
function commentsIn(file: string, source: string): readonly string[] {
  return sourceParts(file, source).comments.map(({ text }) => withoutCode(`*${text}`));
}

function withoutCode(text: string): string {
  return text.replaceAll(/```[\s\S]*?```/g, "").replaceAll(/`[^`\n]*`/g, "x");
}

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length;
}

function markdownFiles(folder: string): readonly string[] {
  return [...Deno.readDirSync(root + folder)].flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory ? markdownFiles(path) : path.endsWith(".md") ? [path] : [];
  });
}
