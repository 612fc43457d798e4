import { bytesToBase64 } from "../protocol/base64.ts";
import { type CacheNode, StatementCache, valueInPath } from "./statement_cache.ts";

/** The cache of SQL strings. All apps in the process share it. */
const kept = new StatementCache();

/** A value that database drivers bind and return. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** A piece of SQL with separate values. The SQL never contains a value. */
export class Fragment {
  /** Makes TypeScript reject every other object that has the same members. */
  declare private readonly isFragment: true;
  /** The SQL before, between and after the values: one string more than values. */
  readonly texts: readonly string[];
  /** The bound values. */
  readonly values: readonly SqlValue[];
  /** True if the cache contains `texts`. Then all fragments with the same SQL share this array. */
  readonly isKept: boolean;

  /** Creates a fragment whose strings are SQL. Use {@link sql} instead. */
  constructor(texts: readonly string[], values: readonly SqlValue[], isKept = false) {
    this.texts = texts;
    this.values = values;
    this.isKept = isKept;
  }
}

/** A complete SQL statement for one engine. */
export interface Statement {
  /** SQL with the placeholders of its engine. */
  readonly text: string;
  /** The values of the placeholders, in their order. */
  readonly values: readonly SqlValue[];
  /** True if the result must contain the names and types of its columns. */
  readonly describe?: boolean;
  /** True if the result always has at most one row, because the statement reads by primary key. */
  readonly isSingle?: boolean;
  /** True if the statement runs in the service's own role, even in a user's transaction. */
  readonly isSystem?: boolean;
  /** True if the transaction can change the session, e.g. its settings, which are then restored. */
  readonly changesSession?: boolean;
  /** The time limit in a SQLite transaction, in milliseconds. Postgres has its own time limit. */
  readonly timeoutMs?: number;
}

/**
 * The template tag for SQL. A fragment becomes a part of the SQL. Any other value is bound, and the
 * driver must accept it. {@link sqlTemplate} also rejects values inside quotes and comments.
 */
export function sql(
  strings: readonly string[],
  ...parts: readonly (Fragment | SqlValue)[]
): Fragment {
  // An array that is not from a template is new at each call, so the cache could never find it.
  let place = "raw" in strings ? kept.template(strings) : null;
  let values = noValues;
  for (const part of parts) {
    const isFragment = part instanceof Fragment;
    if (!isFragment) values = values.length === 0 ? [part] : [...values, part];
    else if (part.values.length > 0) values = withValues(values, part.values);
    if (place !== null) {
      place = isFragment
        ? part.isKept ? kept.after(place, part.texts) : null
        : kept.after(place, valueInPath);
    }
  }
  if (place === null) return new Fragment(textsOfTemplate(strings, parts), values);
  const texts = place.texts ?? kept.keep(place, textsOfTemplate(strings, parts));
  return new Fragment(texts, values, true);
}

function textsOfTemplate(
  strings: readonly string[],
  parts: readonly (Fragment | SqlValue)[],
): readonly string[] {
  const texts = [strings[0] ?? ""];
  parts.forEach((part, index) => {
    if (part instanceof Fragment) addTexts(texts, part);
    else texts.push("");
    texts[texts.length - 1] += strings[index + 1] ?? "";
  });
  return texts;
}

function addTexts(texts: string[], { texts: [first, ...further] }: Fragment): void {
  texts[texts.length - 1] += first ?? "";
  texts.push(...further);
}

const noValues: readonly SqlValue[] = Object.freeze([]);

function withValues(values: readonly SqlValue[], more: readonly SqlValue[]): readonly SqlValue[] {
  return values.length === 0 ? more : [...values, ...more];
}

/** Returns a fragment of SQL that is a constant of this project and never contains input. */
export function rawSql(text: string): Fragment {
  return new Fragment(kept.word(text), noValues, true);
}

/** Returns a fragment with a quoted name. All engines use the double quotes of the standard. */
export function identifier(name: string): Fragment {
  return new Fragment(kept.name(name, quoteIdentifier), noValues, true);
}

export function columnOf({ dbName }: { readonly dbName: string }, row?: Fragment): Fragment {
  return row === undefined ? identifier(dbName) : sql`${row}.${identifier(dbName)}`;
}

/** Returns a table's name with its schema, or `rows`, a function call, with the name as alias. */
export function tableName({ schema, name, rows }: {
  readonly schema: string | null;
  readonly name: string;
  readonly rows?: Fragment;
}): Fragment {
  if (rows !== undefined) return sql`${rows} AS ${identifier(name)}`;
  return schema === null ? identifier(name) : sql`${identifier(schema)}.${identifier(name)}`;
}

/** Quotes an identifier: `a"b` → `"a""b"`. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function isSameName(left: string, right: string): boolean {
  return left === right || left.toLowerCase() === right.toLowerCase();
}

/** Returns a string literal. Its string comes from a declaration or a catalog, never from input. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

export function sqlName(
  { schema, name }: { readonly schema: string | null; readonly name: string },
): string {
  return [...(schema === null ? [] : [schema]), name].map(quoteIdentifier).join(".");
}

export function join(fragments: readonly Fragment[], separator: string): Fragment {
  const values: SqlValue[] = [];
  let place: CacheNode | null = kept.list(separator);
  for (const fragment of fragments) {
    for (const value of fragment.values) values.push(value);
    place = place !== null && fragment.isKept ? kept.after(place, fragment.texts) : null;
  }
  if (place === null) return new Fragment(textsOfList(fragments, separator), values);
  const texts = place.texts ?? kept.keep(place, textsOfList(fragments, separator));
  return new Fragment(texts, values, true);
}

function textsOfList(fragments: readonly Fragment[], separator: string): readonly string[] {
  const texts = [""];
  fragments.forEach((fragment, index) => {
    if (index > 0) texts[texts.length - 1] += separator;
    addTexts(texts, fragment);
  });
  return texts;
}

export function toStatement(
  { texts, values, isKept }: Fragment,
  placeholder: (position: number) => string,
): Statement {
  const write = () => texts.reduce((text, after, index) => text + placeholder(index) + after);
  return { text: isKept ? kept.statement(texts, placeholder, write) : write(), values };
}

export function requireBindable(value: unknown): SqlValue {
  if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") {
    return value;
  }
  if (value instanceof Uint8Array) return value;
  throw new Error(`Cannot bind a value of type ${typeof value}`);
}

/** Returns an invalid stored value for JSON: bytes as base64, infinities and NaN as their names. */
export function storedValueAsJson(value: SqlValue): unknown {
  if (value instanceof Uint8Array) return bytesToBase64(value);
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}
