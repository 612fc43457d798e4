import type { Option } from "../../src/options/option.ts";

/** An option in a tree of options, and the path to it. */
export interface FoundOption {
  readonly path: readonly string[];
  readonly option: Option<unknown>;
}

/** Every option of a description: of a list the first, of named ones those of `base`. */
export function everyOption(
  { rules: { shape } }: Option<unknown>,
  base: unknown,
  path: readonly string[] = [],
): readonly FoundOption[] {
  const below = (name: string, option: Option<unknown>): readonly FoundOption[] => [
    { path: [...path, name], option },
    ...everyOption(option, Reflect.get(Object(base), name), [...path, name]),
  ];
  switch (shape.kind) {
    case "group":
      return Object.entries(shape.members).flatMap(([name, option]) => below(name, option));
    case "named":
      return Object.keys(Object(base)).flatMap((name) => below(name, shape.each));
    case "list":
      return Array.isArray(base) && base.length > 0 ? below("0", shape.each) : [];
    case "either":
      return shape.options.flatMap((option) => everyOption(option, base, path));
    default:
      return [];
  }
}

/** Every group of options, and the names of its members. */
export function everyGroup(
  description: Option<unknown>,
  base: unknown,
): readonly { readonly path: readonly string[]; readonly names: readonly string[] }[] {
  return [{ path: [], option: description }, ...everyOption(description, base)]
    .flatMap(({ path, option }) => {
      const { shape } = option.rules;
      const kinds = shape.kind === "either"
        ? shape.options.map(({ rules }) => rules.shape)
        : [shape];
      return kinds.flatMap((one) =>
        one.kind === "group" ? [{ path, names: Object.keys(one.members) }] : []
      );
    });
}

/** The same options, and an empty object for each group that is not given. */
export function emptyGroups({ rules: { shape } }: Option<unknown>, base: unknown): unknown {
  if (shape.kind === "either") {
    const group = shape.options.find(({ rules }) => rules.shape.kind === "group");
    return group === undefined ? base : emptyGroups(group, base);
  }
  if (shape.kind !== "group") return base;
  const given: Record<string, unknown> = { ...Object(base) };
  const added = Object.entries(shape.members).flatMap(([name, option]) => {
    const value = emptyGroups(option, given[name]);
    return value === undefined ? [] : [[name, value]];
  });
  return { ...given, ...Object.fromEntries(added) };
}

export function misspelt(name: string): string {
  return name + name.slice(-1);
}

/** Values that an option of this shape must refuse, by what it says of itself. */
export function wrongValues({ rules: { shape } }: Option<unknown>): readonly unknown[] {
  switch (shape.kind) {
    case "number": {
      const { from, to, whole } = shape;
      const beyond = to < Number.MAX_SAFE_INTEGER ? [to + 1] : whole ? [2 ** 53] : [];
      const below = from - 1 < from ? [from - 1] : [];
      return [
        NaN,
        Infinity,
        -Infinity,
        ...below,
        ...beyond,
        ...(whole ? [Math.max(from, 0) + 0.5] : []),
      ]
        .concat(of("number") as number[], [String(from)] as unknown as number[]);
    }
    case "name":
      return ["", `${shape.names[0]}x`, shape.names[0]?.toUpperCase(), [shape.names[0]]]
        .concat(of("name") as string[]);
    case "flag":
      return ["no", "true", 0, 1, ...of("flag")];
    case "text":
      return ["\n", "é\u0000", 0, ...of("text")];
    case "function":
      return ["f", function* () {}, async function* () {}, ...of("function")];
    case "list":
      return ["x", new Set(), [, undefined], ...of("list")];
    case "named":
    case "group":
      return ["x", new Map(), Promise.resolve({}), new Date(0), ...of("object")];
    case "other":
      return of("other");
    case "either":
      return shape.options.flatMap(wrongValues).filter((value) =>
        shape.options.every((option) => !isOfKind(option, value))
      );
  }
}

/** A value of every type but the one that is meant. */
function of(kind: string): readonly unknown[] {
  const values: readonly (readonly [kind: string, value: unknown])[] = [
    ["null", null],
    ["flag", true],
    ["bigint", 1n],
    ["symbol", Symbol("x")],
    ["number", 7.25],
    ["list", []],
    ["object", {}],
    ["function", () => {}],
  ];
  // What is made elsewhere may be a list, an object or a function: its own tests say more.
  const open = kind === "other" ? ["list", "object", "function"] : [kind];
  return values.filter(([of]) => !open.includes(of)).map(([, value]) => value);
}

function isOfKind({ rules: { shape } }: Option<unknown>, value: unknown): boolean {
  if (shape.kind === "either") return shape.options.some((option) => isOfKind(option, value));
  const tag = Object.prototype.toString.call(value);
  switch (shape.kind) {
    case "flag":
      return typeof value === "boolean";
    case "group":
    case "named":
      return tag === "[object Object]";
    case "list":
      return Array.isArray(value);
    case "text":
      return typeof value === "string" && value !== "\n";
    case "function":
      return tag === "[object Function]";
    case "other":
      return typeof value === "string" || (typeof value === "object" && value !== null);
    default:
      return false;
  }
}
