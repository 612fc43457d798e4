/** A token of SQL text, as far as a template needs to understand it. */
export type SqlToken =
  /** A word as it is written, and in upper case for comparing it with keywords. */
  | { readonly kind: "word"; readonly text: string; readonly keyword: string }
  /** A quoted identifier, without its quotes. */
  | { readonly kind: "quoted"; readonly text: string }
  /** A text or a number that the statement itself contains. */
  | { readonly kind: "literal" }
  /** An operator or a punctuation mark. */
  | { readonly kind: "sign"; readonly text: string }
  /** What is interpolated, by its index. */
  | { readonly kind: "part"; readonly index: number };

/**
 * Reads the texts of a template as SQL tokens, a part between each two. Throws a plain Error for
 * SQL that would not mean the same on every engine or with every value.
 */
export function sqlTokens(texts: readonly string[]): readonly SqlToken[] {
  return texts.flatMap((text, index) => {
    const own = tokensOf(text);
    return index === 0 ? own : [{ kind: "part", index: index - 1 } as const, ...own];
  });
}

/** One alternative matches at every position, so that no character is skipped. */
const pattern = new RegExp(
  [
    String.raw`(?<blank>\s+|--[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/)`,
    String.raw`(?<literal>'(?:[^']|'')*'|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)`,
    String.raw`(?<dollar>\$(?<tag>[A-Za-z_]*)\$[^]*?\$\k<tag>\$)`,
    String.raw`(?<quoted>"(?:[^"]|"")*")`,
    String.raw`(?<word>[\p{L}_][\p{L}\p{N}_]*)`,
    String.raw`(?<open>['"]|/\*|\$)`,
    String.raw`(?<placeholder>\?|[:@](?=[\p{L}_]))`,
    String.raw`(?<sign><=|>=|<>|!=|==|\|\||::|->>|->|[^])`,
  ].join("|"),
  "guy",
);

function tokensOf(text: string): readonly SqlToken[] {
  const tokens: SqlToken[] = [];
  for (const { groups = {} } of text.matchAll(pattern)) {
    const { blank, literal, dollar, quoted, word, sign } = groups;
    if (blank !== undefined) continue;
    if (literal !== undefined || dollar !== undefined) tokens.push({ kind: "literal" });
    else if (quoted !== undefined) {
      tokens.push({ kind: "quoted", text: quoted.slice(1, -1).replaceAll('""', '"') });
    } else if (word !== undefined) {
      tokens.push({ kind: "word", text: word, keyword: word.toUpperCase() });
    } else if (sign !== undefined) tokens.push({ kind: "sign", text: sign });
    else throw refusal(groups);
  }
  return tokens;
}

function refusal({ open, placeholder }: Readonly<Record<string, string | undefined>>): Error {
  const found = open ?? placeholder ?? "";
  return placeholder !== undefined || open === "$"
    ? new Error(`Cannot read the SQL: "${found}" looks like a placeholder: interpolate the value`)
    : new Error(
      `Cannot read the SQL: ${found} is not closed; nothing is interpolated inside a text, a quoted name or a comment`,
    );
}

/** Whether a token is one of these keywords. */
export function isWord(token: SqlToken | undefined, ...keywords: readonly string[]): boolean {
  return token?.kind === "word" && keywords.includes(token.keyword);
}

/** Whether a token is one of these signs. */
export function isSign(token: SqlToken | undefined, ...signs: readonly string[]): boolean {
  return token?.kind === "sign" && signs.includes(token.text);
}

/** What a statement may not begin with: other requests use the connection, too. */
const boundaries: readonly string[] = [
  ...["BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE"],
  ...["PREPARE", "SET", "RESET"],
];

/** Throws a plain Error for more than one statement, and for what other requests would notice. */
export function requireOneStatement(tokens: readonly SqlToken[]): void {
  const end = tokens.findIndex((token) => isSign(token, ";"));
  if (end >= 0 && tokens.slice(end).some((token) => !isSign(token, ";"))) {
    throw new Error("Cannot run several statements at once: run them one by one");
  }
  if (tokens.some((token) => isWord(token, "CURRENT_TIMESTAMP"))) {
    throw new Error("Cannot use CURRENT_TIMESTAMP, which SQLite has as text: interpolate a Date");
  }
  if (isWord(tokens[0], ...boundaries)) {
    throw new Error(
      "Cannot begin or end a transaction, or change its session, by a statement: use transaction()",
    );
  }
}
