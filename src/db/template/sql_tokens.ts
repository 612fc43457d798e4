/** A token of SQL text, with the details that a template needs. */
export type SqlToken =
  /** A word as written, and in upper case for comparisons with keywords. */
  | { readonly kind: "word"; readonly text: string; readonly keyword: string }
  /** A quoted identifier, without its quotes. */
  | { readonly kind: "quoted"; readonly text: string }
  /** A number, or a string without its quotes, in the SQL itself. */
  | { readonly kind: "literal"; readonly value: string; readonly isText: boolean }
  /** An operator or a punctuation mark. */
  | { readonly kind: "sign"; readonly text: string }
  /** An interpolated part, identified by its index. */
  | { readonly kind: "part"; readonly index: number };

/**
 * Parses the strings of a template to SQL tokens, with a part between each two strings. Throws a
 * plain Error for SQL that engines read differently, or that some values could change.
 */
export function sqlTokens(texts: readonly string[]): readonly SqlToken[] {
  return texts.flatMap((text, index) => {
    const own = tokensOf(text, index === texts.length - 1);
    return index === 0 ? own : [{ kind: "part", index: index - 1 } as const, ...own];
  });
}

/** One alternative matches at every position, so no character is skipped. */
const pattern = new RegExp(
  [
    // Only Postgres supports nested comments. SQLite ends a comment at the first end mark.
    String.raw`(?<blank>\s+|--[^\n]*(?:\n|$)|/\*(?:[^*/]|\*(?!/)|/(?!\*))*\*/)`,
    String.raw`(?<text>'(?:[^']|'')*')`,
    String.raw`(?<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)`,
    String.raw`(?<quoted>"(?:[^"]|"")*")`,
    // A letter before a string can change where the string ends, as in `E'a\'b'`. SQLite allows
    // only `X`, as in `X'00'`.
    String.raw`(?<prefix>(?:[A-Za-z]|[uU]&)')`,
    String.raw`(?<word>[\p{L}_][\p{L}\p{N}_]*)`,
    String.raw`(?<open>['"]|/\*|\$)`,
    String.raw`(?<foreign>::|==)`,
    String.raw`(?<placeholder>\?|[:@](?=[\p{L}_]))`,
    String.raw`(?<sign><=|>=|<>|!=|\|\||->>|->|[^])`,
  ].join("|"),
  "guy",
);

function tokensOf(text: string, isLast: boolean): readonly SqlToken[] {
  const tokens: SqlToken[] = [];
  for (const { groups = {} } of text.matchAll(pattern)) {
    const { blank, text: literal, number, quoted, word, sign } = groups;
    if (blank !== undefined) {
      if (isLast || !blank.startsWith("--") || blank.endsWith("\n")) continue;
      // A value with several lines would continue after the comment.
      throw refusal({ open: "--" });
    }
    if (literal !== undefined) {
      const value = literal.slice(1, -1).replaceAll("''", "'");
      tokens.push({ kind: "literal", value, isText: true });
    } else if (number !== undefined) {
      tokens.push({ kind: "literal", value: number, isText: false });
    } else if (quoted !== undefined) {
      tokens.push({ kind: "quoted", text: quoted.slice(1, -1).replaceAll('""', '"') });
    } else if (word !== undefined) {
      tokens.push({ kind: "word", text: word, keyword: word.toUpperCase() });
    } else if (sign !== undefined) tokens.push({ kind: "sign", text: sign });
    else throw refusal(groups);
  }
  return tokens;
}

/** Returns the error for a token that some engines reject or read differently. */
function refusal(found: Readonly<Record<string, string | undefined>>): Error {
  const { open, placeholder, prefix, foreign } = found;
  const why = foreign !== undefined
    ? `"${foreign}" is not SQL of every engine: write ${foreign === "::" ? "CAST(… AS …)" : "="}`
    : prefix !== undefined
    ? `${prefix}…' is not SQL of every engine: interpolate the value`
    : placeholder !== undefined || open === "$"
    ? `"${placeholder ?? open}" looks like a placeholder: interpolate the value`
    : `${open} is not closed; nothing is interpolated inside a text, a quoted name or a comment`;
  return new Error(`Cannot read the SQL: ${why}`);
}

export function isWord(token: SqlToken | undefined, ...keywords: readonly string[]): boolean {
  return token?.kind === "word" && keywords.includes(token.keyword);
}

export function isSign(token: SqlToken | undefined, ...signs: readonly string[]): boolean {
  return token?.kind === "sign" && signs.includes(token.text);
}

/** The first words of supported statements. The rest is not portable, or affects other requests. */
const beginnings: readonly string[] = [
  ...["SELECT", "WITH", "VALUES", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP"],
];

/** Throws a plain Error unless the SQL is exactly one statement that affects no other requests. */
export function requireOneStatement(tokens: readonly SqlToken[]): void {
  const [first] = tokens;
  if (first === undefined || isSign(first, ";")) throw new Error("Cannot run an empty statement");
  const end = tokens.findIndex((token) => isSign(token, ";"));
  if (end >= 0 && tokens.slice(end).some((token) => !isSign(token, ";"))) {
    throw new Error("Cannot run several statements at once: run them one by one");
  }
  if (tokens.some((token) => isWord(token, "CURRENT_TIMESTAMP"))) {
    throw new Error("Cannot use CURRENT_TIMESTAMP, which SQLite has as text: interpolate a Date");
  }
  // An interpolated fragment can be a whole statement.
  if (first.kind === "part" || isWord(first, ...beginnings)) return;
  const what = first.kind === "word" ? first.keyword : "what begins so";
  throw new Error(
    `Cannot run ${what} as a statement: use transaction() for transactions, and query() for what one engine has`,
  );
}
