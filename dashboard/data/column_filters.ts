import { quoteName } from "../../src/filter/syntax/quoted_name.ts";
import type { FieldFacts } from "../service/facts.ts";
import { nameOfItem } from "../service/names.ts";

/** A condition on one column. */
export interface ColumnFilter {
  readonly field: string;
  /** One of {@link operators}. */
  readonly operator: string;
  /** Empty for operators without a value; values of a list are separated by commas. */
  readonly value: string;
}

/** The operators of the filter row: as it is written, how it is shown, and what it takes. */
export const operators: Readonly<Record<string, readonly [sign: string, name: string]>> = {
  "=icontains=": ["∋", "contains"],
  "==": ["=", "equals"],
  "!=": ["≠", "differs from"],
  ">": [">", "is greater than"],
  ">=": ["≥", "is at least"],
  "<": ["<", "is less than"],
  "<=": ["≤", "is at most"],
  "=between=": ["↔", "is between (a,b)"],
  "=istartswith=": ["a…", "begins with"],
  "=iendswith=": ["…z", "ends with"],
  "=like=": ["%", "matches the pattern"],
  "=in=": ["∈", "is one of (a,b,c)"],
  "": ["", "any value"],
  "==null": ["∅", "is NULL"],
  "!=null": ["!∅", "is not NULL"],
};

/** The operator where none was chosen, of fields whose other operators take no value. */
export const noCondition = "";

const ordered = ["==", "!=", ">", ">=", "<", "<=", "=between=", "=in="];
const nulls = ["==null", "!=null"];

/** The operators that fit a field, the usual one first. */
export function operatorsOf({ type, enum: values }: FieldFacts): readonly string[] {
  if (type === "json" || type === "bytes") return [noCondition, ...nulls];
  if (type === "boolean") return ["==", "!=", ...nulls];
  if (!["text", "any"].includes(type) || values) return [...ordered, ...nulls];
  return ["=icontains=", ...ordered, "=istartswith=", "=iendswith=", "=like=", ...nulls];
}

/** Whether an operator takes a value. */
export function takesValue(operator: string): boolean {
  return operator !== noCondition && !nulls.includes(operator);
}

/** Writes conditions in the filter language: all of them must be true. */
export function printFilters(filters: readonly ColumnFilter[]): string {
  return filters.map(({ field, operator, value }) => {
    if (!takesValue(operator)) return quoteName(field) + operator;
    const isList = operator === "=in=" || operator === "=between=";
    return quoteName(field) + operator +
      (isList ? `(${value.split(",").map(quoted)})` : quoted(value));
  }).join(";");
}

/** Returns the filter of the rows that have a value in a field. */
export function equals(field: string, value: unknown): string {
  return `${quoteName(field)}==${exact(String(value))}`;
}

/** Returns a value as the filter language writes it, with its white space. */
export function exact(value: string): string {
  return /^[\w.:-]+$/.test(value) && value !== "null"
    ? value
    : `"${value.replace(/["\\]/g, "\\$&")}"`;
}

/** A value in the filter language: between quotes, unless it is a plain word. */
export function quoted(value: string): string {
  const text = exact(value.trim());
  return text.startsWith('"') ? exact(value) : text;
}

/**
 * Reads what {@link printFilters} writes; null for any other filter, such as one with an OR, or with
 * two conditions on a column.
 */
export function parseFilters(text: string): readonly ColumnFilter[] | null {
  const filters: ColumnFilter[] = [];
  if (text.trim() === "") return filters;
  const condition = new RegExp(conditionPattern, "uy");
  while (condition.lastIndex < text.length) {
    const match = condition.exec(text);
    if (match === null) return null;
    const [, name = "", operator = "", value = ""] = match;
    const field = nameOfItem(name);
    const read = readValue(operator, value);
    if (read === null || filters.some((one) => one.field === field)) return null;
    filters.push({ field, ...read });
    if (match[4] === ";" && condition.lastIndex === text.length) return null;
  }
  return filters;
}

const scalar = String.raw`(?:"(?:[^"\\]|\\.)*"|[^\s"'()\[\],;=!<>~]+)`;
const conditionPattern = String
  .raw`\s*("(?:[^"\\]|\\.)*"|[\p{L}_$][\p{L}\p{N}_$\-/]*)(==|!=|>=|<=|>|<|=[a-z]+=)(${scalar}|\(${scalar}(?:,${scalar})*\))\s*(;|$)`;

function readValue(
  operator: string,
  text: string,
): Pick<ColumnFilter, "operator" | "value"> | null {
  if (text === "null") {
    return `${operator}null` in operators ? { operator: `${operator}null`, value: "" } : null;
  }
  if (!(operator in operators)) return null;
  const values = (text.startsWith("(") ? text.slice(1, -1) : text)
    .match(new RegExp(scalar, "g"))?.map(unquoted) ?? [];
  // A comma within a value of a list has no place in the filter row.
  const isList = text.startsWith("(");
  if (isList && values.some((value) => value.includes(","))) return null;
  return { operator, value: values.join(",") };
}

function unquoted(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/gs, "$1") : text;
}
