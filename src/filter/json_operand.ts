import { isExactNumber } from "../schema/exact_number.ts";
import { plainDecimal, shortestDecimal } from "../schema/kinds/decimal_kind.ts";
import { InvalidValue } from "../schema/kind.ts";
import { requireStorableText } from "../schema/kinds/text_kind.ts";
import type { Literal } from "./syntax/filter_syntax.ts";

/**
 * What a value within a JSON document is compared with: its type is that of the literal in a filter,
 * because a document has no types of its own.
 */
export type JsonOperand = string | boolean | JsonNumberOperand;

/** A number that a value within a JSON document is compared with. */
export interface JsonNumberOperand {
  /** A plain decimal without zeros at its end. */
  readonly number: string;
}

/** The types of operands for values within JSON documents. */
export type JsonOperandType = "text" | "number" | "boolean";

/**
 * Reads a literal by its look: a number of JSON, `true` or `false`, and any other string as a string;
 * a quoted one is always a string. Throws `InvalidValue` for a number of more than 1,000 digits.
 */
export function jsonOperand({ text, quoted }: Literal): JsonOperand {
  if (quoted) return text;
  if (text === "true" || text === "false") return text === "true";
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) ? numberOperand(text) : text;
}

/** Takes a value from code as an operand. Throws `InvalidValue` for what no document holds. */
export function jsonOperandOf(value: unknown): JsonOperand {
  switch (typeof value) {
    case "boolean":
      return value;
    case "string":
      requireStorableText(value);
      return value;
    case "number":
    case "bigint":
      return numberOperand(String(value));
    case "object":
      if (value !== null && isExactNumber(value)) return numberOperand(value.rawJSON);
      throw new InvalidValue("must be a string, a number or a boolean");
    default:
      throw new InvalidValue("must be a string, a number or a boolean");
  }
}

/** The type of an operand. */
export function jsonOperandType(operand: JsonOperand): JsonOperandType {
  if (typeof operand === "string") return "text";
  return typeof operand === "boolean" ? "boolean" : "number";
}

function numberOperand(text: string): JsonNumberOperand {
  const plain = plainDecimal(text);
  if (plain === null) throw new InvalidValue("must be a number of at most 1000 digits");
  return { number: shortestDecimal(plain) };
}
