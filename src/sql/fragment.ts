/** A value that database drivers take and give. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** Distinguishes a fragment from a value. */
export const fragmentBrand: unique symbol = Symbol("fragment");

/** A piece of SQL whose values are apart from its text: no value is ever part of the text. */
export interface Fragment {
  /** Marks a fragment. */
  readonly [fragmentBrand]: true;
  /** One more than `values`: the values are bound between them. */
  readonly texts: readonly string[];
  /** What is bound between the texts. */
  readonly values: readonly SqlValue[];
}

/** Complete SQL for one engine. */
export interface Statement {
  /** SQL with the placeholders of its engine. */
  readonly text: string;
  /** What is bound at the placeholders, in their order. */
  readonly values: readonly SqlValue[];
}

/** The template tag for SQL: fragments nest, everything else is a bound value. */
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
    if (isFragment(part)) {
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
  return { [fragmentBrand]: true, texts, values };
}

/** SQL text that is a constant of this project: never input. */
export function rawSql(text: string): Fragment {
  return { [fragmentBrand]: true, texts: [text], values: [] };
}

/** A quoted name; both engines use the double quotes of the standard. */
export function identifier(name: string): Fragment {
  return rawSql(quoteIdentifier(name));
}

/** A column, after the name of its row where there is one. */
export function columnOf({ dbName }: { readonly dbName: string }, row?: Fragment): Fragment {
  return row === undefined ? identifier(dbName) : sql`${row}.${identifier(dbName)}`;
}

/** `a"b` → `"a""b"`. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The fragments with `separator` between them; no fragments give the empty text. */
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
  return { [fragmentBrand]: true, texts, values };
}

/** The text with placeholders. */
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

function isFragment(part: Fragment | SqlValue): part is Fragment {
  return typeof part === "object" && part !== null && fragmentBrand in part;
}
