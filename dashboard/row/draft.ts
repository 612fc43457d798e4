import { documentText, readDocument } from "./document_text.ts";
import type { FieldFacts } from "../service/facts.ts";
import type { Row } from "../service/resources.ts";

/** What the operator has written into a field. */
export interface Draft {
  readonly text: string;
  readonly isNull: boolean;
}

/** What was written into the fields of a row, by their names; other fields are as they were. */
export type Drafts = ReadonlyMap<string, Draft>;

/** A value as it is edited. */
export function draftOf(value: unknown, { type, wide }: FieldFacts): Draft {
  if (value === null || value === undefined) return { text: "", isNull: true };
  const isText = typeof value === "string" && type !== "json" &&
    !(type === "any" && !wide && number.test(value));
  return { text: isText ? value : documentText(value, 2), isNull: false };
}

/** Returns the draft of a field from the JSON of its name and its value; no draft for other texts. */
export function draftsOfText(
  text: string | null,
  { fields }: { readonly fields: readonly FieldFacts[] },
): Drafts {
  try {
    const given: unknown = JSON.parse(text ?? "[]");
    const [name, value] = Array.isArray(given) ? given : [];
    const field = fields.find((one) => one.name === name);
    return new Map(field === undefined ? [] : [[field.name, draftOf(value, field)]]);
  } catch {
    return new Map();
  }
}

/** In a field of numbers and strings a string that looks like one has quotes. */
const number = /^-?\d+(?:\.\d+)?(?:e[-+]?\d+)?$/i;

/** A value that was written, or what is wrong with it. */
export type ReadDraft = { readonly value: unknown } | { readonly problem: string };

/** Reads what was written as a value of the field. Numbers keep all their digits, or are refused. */
export function readDraft({ text, isNull }: Draft, { type, wide }: FieldFacts): ReadDraft {
  if (isNull) return { value: null };
  switch (type) {
    case "integer": {
      const digits = text.trim();
      if (!/^-?\d+$/.test(digits)) return { problem: "must be a whole number" };
      return { value: wide || !Number.isSafeInteger(Number(digits)) ? digits : Number(digits) };
    }
    case "real": {
      const value = Number(text);
      return text.trim() !== "" && Number.isFinite(value) ? { value } : {
        problem: "must be a number",
      };
    }
    case "any":
      if (number.test(text)) return { value: anyNumber(text) };
      // A key is sent as it is shown.
      if (wide) return { value: text };
      return {
        value: text.startsWith('"') && number.test(text.slice(1, -1)) ? text.slice(1, -1) : text,
      };
    case "boolean":
      return text === "true" || text === "false"
        ? { value: text === "true" }
        : { problem: "must be true or false" };
    case "json":
      try {
        return { value: readDocument(text) };
      } catch (error) {
        return { problem: `is not JSON: ${error instanceof Error ? error.message : error}` };
      }
    case "bigint": {
      const value = text.trim();
      return /^-?\d+$/.test(value) ? { value } : { problem: "must be a whole number" };
    }
    case "decimal": {
      const value = text.trim();
      return /^-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(value)
        ? { value }
        : { problem: "must be a decimal number" };
    }
    default:
      return { value: text };
  }
}

/** A number beyond 2^53 with its digits: the service refuses one that may have been rounded. */
function anyNumber(text: string): unknown {
  const value = Number(text);
  return Math.abs(value) > Number.MAX_SAFE_INTEGER ? { $number: text } : value;
}

/** What a save would send, and what is wrong with what was written. */
export interface Patch {
  readonly patch: Row;
  /** By the names of the fields. */
  readonly problems: ReadonlyMap<string, string>;
}

/** Reads what was written into the fields. */
export function patchOf(fields: readonly FieldFacts[], drafts: Drafts): Patch {
  const values = new Map<string, unknown>();
  const problems = new Map<string, string>();
  for (const field of fields) {
    const draft = drafts.get(field.name);
    if (draft === undefined) continue;
    const read = readDraft(draft, field);
    if ("problem" in read) problems.set(field.name, read.problem);
    else values.set(field.name, read.value);
  }
  return { patch: Object.fromEntries(values), problems };
}

/** Whether two values of a field are the same. */
export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
}
