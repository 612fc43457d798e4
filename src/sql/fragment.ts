import { bytesToBase64 } from "../protocol/byte_text.ts";
/** A value in a fragment of SQL, as database drivers take and give it. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** A fragment of SQL whose values are apart from its text: no value is ever part of the text. */
export class Fragment {
  /** Exists for the compiler only, which takes no other object for a fragment. */
  declare private readonly isFragment: true;
  /** One more than `values`: the values are bound between them. */
  readonly texts: readonly string[];
  /** What is bound between the texts. */
  readonly values: readonly SqlValue[];

  /** {@link sql} makes fragments; what is in the texts here is SQL as it stands. */
  constructor(texts: readonly string[], values: readonly SqlValue[]) {
    this.texts = texts;
    this.values = values;
  }
}

/** A whole SQL statement for one engine, made from a fragment. */
export interface Statement {
  /** SQL with the placeholders of its engine. */
  readonly text: string;
  /** What is bound at the placeholders, in their order. */
  readonly values: readonly SqlValue[];
  /** Whether the result has the names and types of its columns. */
  readonly describe?: boolean;
}

/**
 * The template tag for fragments of SQL, which nest; everything else is a bound value, as the driver
 * takes it. Custom operators are made of fragments. A whole statement is a template of `db.sql`,
 * which knows tables, columns and kinds, and takes fragments as parts.
 */
export function sql(
  strings: readonly string[],
  ...parts: readonly (Fragment | SqlValue)[]
): Fragment {
  // A plain loop: this runs a dozen times for every request.
  const texts: string[] = [];
  const values: SqlValue[] = [];
  let text = strings[0] ?? "";
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] ?? null;
    if (part instanceof Fragment) {
      text += part.texts[0] ?? "";
      for (let i = 0; i < part.values.length; i++) {
        values.push(part.values[i] ?? null);
        texts.push(text);
        text = part.texts[i + 1] ?? "";
      }
    } else {
      values.push(part);
      texts.push(text);
      text = "";
    }
    text += strings[index + 1] ?? "";
  }
  texts.push(text);
  return new Fragment(texts, values);
}

/** A fragment of SQL text that is a constant of this project: never input. */
export function rawSql(text: string): Fragment {
  return new Fragment([text], []);
}

/** A fragment of SQL with a quoted name; both engines use the double quotes of the standard. */
export function identifier(name: string): Fragment {
  return rawSql(quoteIdentifier(name));
}

/** A fragment of SQL that names a column, after the name of its row where there is one. */
export function columnOf({ dbName }: { readonly dbName: string }, row?: Fragment): Fragment {
  return row === undefined ? identifier(dbName) : sql`${row}.${identifier(dbName)}`;
}

/** A fragment of SQL that names a table after FROM and INTO, with its schema where it has one. */
export function tableName(
  { schema, name }: { readonly schema: string | null; readonly name: string },
): Fragment {
  return schema === null ? identifier(name) : sql`${identifier(schema)}.${identifier(name)}`;
}

/** Quotes an identifier for a fragment of SQL: `a"b` → `"a""b"`. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Joins fragments of SQL with `separator` between them; no fragments give the empty text. */
export function join(fragments: readonly Fragment[], separator: string): Fragment {
  const texts = [""];
  const values: SqlValue[] = [];
  fragments.forEach((fragment, index) => {
    texts[texts.length - 1] += (index === 0 ? "" : separator) + (fragment.texts[0] ?? "");
    for (let i = 0; i < fragment.values.length; i++) {
      values.push(fragment.values[i] ?? null);
      texts.push(fragment.texts[i + 1] ?? "");
    }
  });
  return new Fragment(texts, values);
}

/** Turns a fragment of SQL into a statement, whose text has placeholders. */
export function toStatement(
  fragment: Fragment,
  placeholder: (position: number) => string,
): Statement {
  let text = fragment.texts[0] ?? "";
  for (let i = 1; i < fragment.texts.length; i++) {
    text += placeholder(i) + (fragment.texts[i] ?? "");
  }
  return { text, values: fragment.values };
}

/**
 * Narrows to a value that a fragment can bind as it is: no driver needs it converted. Throws on a
 * value that no driver can bind.
 */
export function bindable(value: unknown): SqlValue {
  if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") {
    return value;
  }
  if (value instanceof Uint8Array) return value;
  throw new Error(`Cannot bind a value of type ${typeof value}`);
}

/**
 * A stored SQL value that does not fit its kind, as JSON can hold it: bytes as base64, and the
 * numbers that JSON lacks by name.
 */
export function asStored(value: SqlValue): unknown {
  if (value instanceof Uint8Array) return bytesToBase64(value);
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}
