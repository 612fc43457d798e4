import { type Described, group, groupOf, listOf, type Option } from "../options/option.ts";
import { flag, number, oneOf, testedValue, textLike, whole } from "../options/option_kinds.ts";
import { type ColumnKind, InvalidValue, unrestrictedRules, type ValueRules } from "./kind.ts";
import { kinds } from "./kind_of.ts";
import type { ForeignKeyActions, ReferentialAction } from "./table_constraints.ts";
import { TextPattern } from "./pattern/text_pattern.ts";

/** The inclusive limits for the values of a column. */
export interface ValueLimits<T> {
  /** Lowest allowed value. Default: no lower limit. */
  readonly min?: T;
  /** Highest allowed value. Default: no upper limit. */
  readonly max?: T;
}

/** The options of a text column. */
export interface TextColumnOptions<Member extends string> {
  /** The only values that the column accepts. Default: any string. */
  readonly enum?: readonly Member[];
  /** Minimum length of a value in characters (code points). */
  readonly minLength?: number;
  /** Maximum length of a value in characters (code points). */
  readonly maxLength?: number;
  /** A regular expression, as RegExp or as string, that must match a part of each value. */
  readonly pattern?: string | RegExp;
  /** True if each value must be an e-mail address. */
  readonly email?: boolean;
}

/** The options of a decimal column. */
export interface DecimalColumnOptions extends ValueLimits<string> {
  /** Maximum number of digits of a value, before and after the decimal point. */
  readonly precision?: number;
  /** Number of digits of a value after the decimal point. */
  readonly scale?: number;
}

/** The options of a foreign key. */
export interface ReferenceOptions {
  /** Action when the referenced row is deleted. Default: the deletion fails. */
  readonly onDelete?: ReferentialAction;
  /** Action when the referenced column is changed. Default: the change fails. */
  readonly onUpdate?: ReferentialAction;
}

const action = oneOf<ReferentialAction>("cascade", "restrict", "set null", "set default");

export const referenceOptionRules = groupOf<ReferenceOptions>()({
  onDelete: action,
  onUpdate: action,
}).required();

export function readForeignKeyActions(options: ReferenceOptions): ForeignKeyActions {
  const place = { subject: "Cannot declare a foreign key", path: "" };
  const { onDelete = null, onUpdate = null } = referenceOptionRules.read(options, place);
  return { onDelete, onUpdate };
}

export const textColumnOptionRules = groupOf<TextColumnOptions<string>>()({
  enum: listOf("strings", testedValue<string>("a string", (given) => typeof given === "string")),
  minLength: whole({ from: 1 }),
  maxLength: whole({ from: 1 }),
  pattern: testedValue<string | RegExp>(
    'a regular expression without flags but "u", or its source',
    (given) => typeof given === "string" || given instanceof RegExp && /^u?$/.test(given.flags),
  ),
  email: flag(),
}).required();

/** Defines the options of a decimal column. The maxima of 1000 are those of Postgres. */
export const decimalColumnOptionRules = groupOf<DecimalColumnOptions>()({
  precision: whole({ from: 1, to: 1000 }),
  scale: whole({ from: 0, to: 1000 }),
  ...limit(digits()),
}).required();

export const valueLimitOptionRules = {
  integer: group(limit(whole({ from: Number.MIN_SAFE_INTEGER }))).required(),
  bigint: group(limit(digits())).required(),
  real: group(limit(number())).required(),
  date: group(limit(textLike("a date, YYYY-MM-DD", /^\d/))).required(),
  timestamp: group(limit(textLike("an RFC 3339 timestamp", /^\d/))).required(),
};

function digits(): Option<string | undefined> {
  return textLike("a number as a string of digits", /^-?\d/);
}

function limit<T>(each: Option<T | undefined>): Described<ValueLimits<T>> {
  return { min: each, max: each };
}

export function declarationErrorPrefix(kind: ColumnKind): string {
  return `Cannot declare ${/^[aeiou]/.test(kind) ? "an" : "a"} ${kind} column`;
}

/** Returns the rules for a `text()` column. Throws an Error if no string can meet them. */
export function textRules(options: TextColumnOptions<string>): Partial<ValueRules> {
  const subject = declarationErrorPrefix("text");
  const { enum: enumValues = null, minLength = null, maxLength = null, pattern, email = false } =
    textColumnOptionRules.read(options, { subject, path: "" });
  if (enumValues?.length === 0) throw new Error("Cannot declare an enum column without members");
  if (minLength !== null && maxLength !== null && minLength > maxLength) {
    throw new Error(`${subject}: minLength is above maxLength`);
  }
  const format = email ? "email" : null;
  const parsed = pattern === undefined ? null : textPattern(pattern, subject);
  return { enumValues, minLength, maxLength, pattern: parsed, format };
}

function textPattern(pattern: string | RegExp, subject: string): TextPattern {
  try {
    return new TextPattern(typeof pattern === "string" ? pattern : pattern.source);
  } catch (cause) {
    const fault = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${subject}: its pattern ${fault}`, { cause });
  }
}

export function parseValueLimits(
  kind: ColumnKind,
  { min, max }: ValueLimits<unknown>,
  details: Partial<ValueRules> = {},
): Pick<ValueRules, "min" | "max"> {
  const { fromJson, compare } = kinds[kind];
  const subject = declarationErrorPrefix(kind);
  const rules = { ...unrestrictedRules, ...details };
  const limit = (name: "min" | "max", given: unknown) => {
    if (given === undefined) return null;
    try {
      return fromJson(given, rules);
    } catch (cause) {
      if (!(cause instanceof InvalidValue)) throw cause;
      throw new Error(`${subject}: its ${name} ${cause.message}`, { cause });
    }
  };
  const limits = { min: limit("min", min), max: limit("max", max) };
  if (limits.min !== null && limits.max !== null && compare !== null) {
    if (compare(limits.min, limits.max) > 0) {
      throw new Error(`${subject}: its min is above its max`);
    }
  }
  return limits;
}
