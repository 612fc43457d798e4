import { kindProperties } from "../kinds/kind_properties.ts";
import { InvalidValue, type Kind } from "../kind.ts";
import type { ColumnInfo, DatabaseType, ValueShape } from "../table_info.ts";
import { requireStorableText, textKind } from "../kinds/text_kind.ts";
import { parseJson } from "../exact_json.ts";
import { anyKind } from "../kinds/any_kind.ts";
import { kinds } from "../kind_of.ts";

type KindOfColumn = (column: ColumnInfo) => Kind;
type ShapeOf<Name extends ValueShape["kind"]> = Extract<ValueShape, { readonly kind: Name }>;

/** Parses a list, record or map of JSON. A string in Postgres's notation remains a string. */
function fromStructure(value: unknown, shape: ValueShape, kindOf: KindOfColumn): unknown {
  switch (shape.kind) {
    case "text":
    case "any":
      throw new Error("A text has no members");
    case "list":
      return isText(value, listText) ? value : fromList(value, shape, kindOf, 1);
    case "record":
      return isText(value, recordText) ? value : fromRecord(value, shape, kindOf);
    case "map":
      return fromMap(value);
  }
}

/** Matches a list as Postgres prints it: as `{1,2}` or, with bounds, as `[0:1]={1,2}`. */
const listText = /^(?:\[-?\d+:-?\d+\])*=?\{.*\}$/s;
const recordText = /^\(.*\)$/s;

function isText(value: unknown, pattern: RegExp): value is string {
  if (typeof value !== "string" || !pattern.test(value)) return false;
  requireStorableText(value);
  return true;
}

const maxDimensions = 6;

function fromList(
  value: unknown,
  shape: ShapeOf<"list">,
  kindOf: KindOfColumn,
  dimension: number,
): readonly unknown[] {
  if (!Array.isArray(value)) throw new InvalidValue("must be a JSON list");
  if (dimension > maxDimensions) {
    throw new InvalidValue(`must not be deeper than ${maxDimensions} levels`);
  }
  return value.map((item) => {
    if (item === null) return null;
    if (Array.isArray(item) && hasDimensions(shape)) {
      return fromList(item, shape, kindOf, dimension + 1);
    }
    return fromMember(item, shape.element, kindOf, "an item");
  });
}

export function hasDimensions({ element }: ShapeOf<"list">): boolean {
  return element.kind !== "json" || element.databaseType?.shape.kind === "record" ||
    element.databaseType?.shape.kind === "map";
}

function fromRecord(value: unknown, { fields }: ShapeOf<"record">, kindOf: KindOfColumn): unknown {
  const members = membersOf(value);
  const unknown = [...members.keys()].find((name) => !fields.some((field) => field.name === name));
  if (unknown !== undefined) {
    throw new InvalidValue(`must not have the member ${JSON.stringify(unknown.slice(0, 20))}`);
  }
  return Object.fromEntries(fields.map((field) => {
    const member = members.get(field.name) ?? null;
    const shown = `the member ${JSON.stringify(field.name)}`;
    return [field.name, member === null ? null : fromMember(member, field, kindOf, shown)];
  }));
}

function fromMap(value: unknown): unknown {
  for (const [name, member] of membersOf(value)) {
    requireStorableText(name);
    if (member === null) continue;
    if (typeof member !== "string") {
      throw new InvalidValue("has a member that must be a string or null");
    }
    requireStorableText(member);
  }
  return value;
}

function membersOf(value: unknown): ReadonlyMap<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new InvalidValue("must be a JSON object");
  }
  return new Map(Object.entries(value));
}

function fromMember(
  value: unknown,
  column: ColumnInfo,
  kindOf: KindOfColumn,
  shown: string,
): unknown {
  try {
    return kindOf(column).fromJson(value, column);
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    // JSON lacks values such as `NaN`. Postgres validates the strings that represent them.
    if (typeof value === "string" && !kindProperties[column.kind].isWholeInJson) {
      requireStorableText(value);
      return value;
    }
    throw new InvalidValue(`has ${shown} that ${error.message}`);
  }
}

export function isSortable({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kinds[kind].compare !== null : databaseType.ordered;
}

/** Returns true if filters can use `==` with a column. Bytes have equality, but no order. */
export function hasEquality({ kind, databaseType }: ColumnInfo): boolean {
  if (databaseType === undefined) return kind !== "json";
  return databaseType.shape.kind === "text" || databaseType.ordered;
}

export function isOrdered({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kinds[kind].ordered : databaseType.ordered;
}

export function hasExtremes({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kinds[kind].compare !== null : databaseType.hasExtremes;
}

export function elementOf({ databaseType }: ColumnInfo): ColumnInfo | null {
  return databaseType?.shape.kind === "list" ? databaseType.shape.element : null;
}

export function isAny(
  { databaseType }: { readonly databaseType?: DatabaseType | undefined },
): boolean {
  return databaseType?.shape.kind === "any";
}

export function isDocument({ kind, databaseType }: ColumnInfo): boolean {
  return kind === "json" && databaseType === undefined;
}

export function kindOfColumn({ kind, databaseType, enumValues }: ColumnInfo): Kind {
  if (databaseType === undefined) return kinds[kind];
  if (databaseType.shape.kind === "text") return enumValues === null ? textKind : labelKind;
  const { shape } = databaseType;
  if (shape.kind === "any") return anyKind;
  return {
    ...kinds.json,
    fromJson: (value) => fromStructure(value, shape, kindOfColumn),
    fromText: (text) => fromStructure(parseJson(text) ?? text, shape, kindOfColumn),
  };
}

/** The labels of an enum. Postgres cannot compare other strings with them. */
const labelKind: Kind = {
  ...textKind,
  fromText(text, { enumValues }) {
    if (enumValues?.includes(text) === true) return text;
    throw new InvalidValue(`must be one of: ${enumValues?.join(", ")}`);
  },
};
