import { bytesToHex } from "../../../protocol/byte_text.ts";
import { rawJsonItems, rawJsonMembers } from "../../../schema/exact_json.ts";
import { hasDimensions } from "../../../schema/structured/structured_value.ts";
import type { ColumnInfo, ValueShape } from "../../../schema/table_info.ts";
import type { SqlValue } from "../../../sql/fragment.ts";

type ShapeOf<Name extends ValueShape["kind"]> = Extract<ValueShape, { readonly kind: Name }>;
type Structure = Exclude<ValueShape, { readonly kind: "text" | "any" }>;

export interface MemberCodec {
  encode(value: unknown, column: ColumnInfo): SqlValue;
  /** Decodes a member. Returns undefined for the document `null`, which would look like NULL. */
  decode(text: string, column: ColumnInfo): unknown;
}

/** Encodes a list, record or map for Postgres. A string is already in the form of Postgres. */
export function encodeStructure(value: unknown, shape: Structure, codec: MemberCodec): string {
  if (typeof value === "string") return value;
  switch (shape.kind) {
    case "list":
      return printArray(itemsOf(value, shape, codec), shape.delimiter);
    case "record": {
      const members = new Map(Object.entries(value ?? {}));
      return printRecord(
        shape.fields.map((field) => textOf(members.get(field.name) ?? null, field, codec)),
      );
    }
    case "map":
      return printHstore(
        Object.entries(value ?? {}).map(([name, member]) => [
          name,
          member === null ? null : String(member),
        ]),
      );
  }
}

function itemsOf(value: unknown, shape: ShapeOf<"list">, codec: MemberCodec): readonly ArrayItem[] {
  if (!Array.isArray(value)) throw new Error(`Cannot write a list from a ${typeof value}`);
  return value.map((item) =>
    Array.isArray(item) && hasDimensions(shape)
      ? itemsOf(item, shape, codec)
      : textOf(item ?? null, shape.element, codec)
  );
}

function textOf(value: unknown, column: ColumnInfo, { encode }: MemberCodec): string | null {
  if (value === null) return null;
  const encoded = encode(value, column);
  return encoded instanceof Uint8Array ? `\\x${bytesToHex(encoded)}` : String(encoded);
}

export function decodeStructure(text: string, shape: Structure, codec: MemberCodec): unknown {
  switch (shape.kind) {
    case "list": {
      const items = readArray(text, shape.delimiter);
      return items === null ? undefined : listOf(items, shape, codec);
    }
    case "record": {
      const texts = readRecord(text);
      const members = shape.fields.map((field, index) =>
        [field.name, memberOf(texts[index] ?? null, field, codec)] as const
      );
      return members.some(([, member]) => member === undefined)
        ? undefined
        : Object.fromEntries(members);
    }
    case "map":
      return Object.fromEntries(readMap(text));
  }
}

function listOf(
  items: readonly ArrayItem[],
  shape: ShapeOf<"list">,
  codec: MemberCodec,
): readonly unknown[] | undefined {
  const list: unknown[] = [];
  for (const item of items) {
    const isNested = typeof item === "object" && item !== null;
    // If the elements are JSON documents, an inner list would look like a document that is a list.
    if (isNested && !hasDimensions(shape)) return undefined;
    const value = isNested ? listOf(item, shape, codec) : memberOf(item, shape.element, codec);
    if (value === undefined) return undefined;
    list.push(value);
  }
  return list;
}

function memberOf(text: string | null, column: ColumnInfo, codec: MemberCodec): unknown {
  if (text === null) return null;
  const value = codec.decode(text, column);
  return value === null ? undefined : value;
}

export function structureFromImage(
  raw: string,
  shape: Structure,
  cell: (raw: string, column: ColumnInfo) => SqlValue,
): string {
  const textOf = (member: string | undefined, column: ColumnInfo) => {
    const value = member === undefined ? null : cell(member, column);
    return value === null ? null : String(value);
  };
  // A value whose type has no JSON form is a JSON string that contains its Postgres text.
  if (raw.startsWith('"')) return JSON.parse(raw);
  switch (shape.kind) {
    case "list": {
      const items = (text: string): readonly ArrayItem[] =>
        rawJsonItems(text).map((item) =>
          item.startsWith("[") && hasDimensions(shape) ? items(item) : textOf(item, shape.element)
        );
      return printArray(items(raw), shape.delimiter);
    }
    case "record": {
      const members = rawJsonMembers(raw);
      return printRecord(shape.fields.map((field) => textOf(members.get(field.name), field)));
    }
    case "map":
      return printHstore(
        [...rawJsonMembers(raw)].map(([name, member]) => [
          name,
          member === "null" ? null : JSON.parse(member),
        ]),
      );
  }
}

type ArrayItem = string | null | readonly ArrayItem[];

function printArray(items: readonly ArrayItem[], delimiter: string): string {
  const texts = items.map((item) =>
    typeof item === "object" && item !== null ? printArray(item, delimiter) : printItem(item)
  );
  return `{${texts.join(delimiter)}}`;
}

function printItem(item: string | null): string {
  return item === null ? "NULL" : quoted(item);
}

function printRecord(members: readonly (string | null)[]): string {
  return `(${members.map((member) => member === null ? "" : quoted(member)).join(",")})`;
}

function printHstore(members: readonly (readonly [string, string | null])[]): string {
  return members.map(([name, value]) => `${quoted(name)}=>${printItem(value)}`).join(", ");
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

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

function readRecord(text: string): readonly (string | null)[] {
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

function readMap(text: string): readonly (readonly [string, string | null])[] {
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
