/** A value in the text form of a Postgres array, or a nested list of values. */
export type ArrayItem = string | null | readonly ArrayItem[];

/** Returns the text of a Postgres array, such as `{"a",NULL}`. */
export function printArray(items: readonly ArrayItem[], delimiter: string): string {
  const texts = items.map((item) =>
    typeof item === "object" && item !== null ? printArray(item, delimiter) : printItem(item)
  );
  return `{${texts.join(delimiter)}}`;
}

function printItem(item: string | null): string {
  return item === null ? "NULL" : quoted(item);
}

/** Returns the text of a Postgres composite value: `("a",)`. A NULL is an empty member. */
export function printRecord(members: readonly (string | null)[]): string {
  return `(${members.map((member) => member === null ? "" : quoted(member)).join(",")})`;
}

/** Returns the text of a Postgres hstore, such as `"a"=>"1", "b"=>NULL`. */
export function printHstore(members: readonly (readonly [string, string | null])[]): string {
  return members.map(([name, value]) => `${quoted(name)}=>${printItem(value)}`).join(", ");
}

/** Quotes a value. In arrays, composites and hstores, a backslash can precede any character. */
function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** Parses an array as Postgres prints it. Returns null if its lower bound is not 1. */
export function readArray(text: string, delimiter: string): readonly ArrayItem[] | null {
  if (!text.startsWith("{")) return null;
  let at = 0;

  function readItems(): readonly ArrayItem[] {
    const items: ArrayItem[] = [];
    at++;
    while (text[at] !== "}" && at < text.length) {
      if (text[at] === delimiter) at++;
      else items.push(text[at] === "{" ? readItems() : readItem());
    }
    at++;
    return items;
  }

  function readItem(): string | null {
    if (text[at] === '"') {
      const { value, end } = readQuoted(text, at);
      at = end;
      return value;
    }
    const start = at;
    while (at < text.length && text[at] !== delimiter && text[at] !== "}") at++;
    const word = text.slice(start, at);
    return word === "NULL" ? null : word;
  }

  return readItems();
}

/** Parses a composite value as Postgres prints it. */
export function readRecord(text: string): readonly (string | null)[] {
  const members: (string | null)[] = [];
  let at = 1;
  while (at < text.length) {
    if (text[at] === '"') {
      const { value, end } = readQuoted(text, at);
      members.push(value);
      at = end;
    } else {
      const start = at;
      while (text[at] !== "," && text[at] !== ")" && at < text.length) at++;
      members.push(start === at ? null : text.slice(start, at));
    }
    at++;
  }
  return members;
}

/** Parses an hstore as Postgres prints it. */
export function readMap(text: string): readonly (readonly [string, string | null])[] {
  const members: (readonly [string, string | null])[] = [];
  let at = 0;
  while (text[at] === '"') {
    const name = readQuoted(text, at);
    const start = name.end + "=>".length;
    const isNull = text[start] !== '"';
    const member = isNull ? { value: null, end: start + "NULL".length } : readQuoted(text, start);
    members.push([name.value, member.value]);
    at = member.end + ", ".length;
  }
  return members;
}

/** Reads the quoted string at `at`. Both `""` and `\"` represent one quote. */
function readQuoted(text: string, at: number): { readonly value: string; readonly end: number } {
  let value = "";
  let from = at + 1;
  for (let end = from; end < text.length; end++) {
    const character = text[end];
    if (character === "\\" || character === '"' && text[end + 1] === '"') {
      value += text.slice(from, end);
      from = ++end;
    } else if (character === '"') {
      return { value: value + text.slice(from, end), end: end + 1 };
    }
  }
  return { value: value + text.slice(from), end: text.length };
}
