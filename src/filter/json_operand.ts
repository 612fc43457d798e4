import { isExactNumber } from "../schema/exact_number.ts";
import { plainDecimal, shortestDecimal } from "../schema/kinds/decimal_kind.ts";
import { InvalidValue } from "../schema/kind.ts";
import { requireStorableText } from "../schema/kinds/text_kind.ts";
import type { Literal } from "./syntax/filter_syntax.ts";

/**
 * The operand for a value within a JSON document. It has the type of the literal in the filter,
 * because a document declares no types.
 */
export type JsonOperand = string | boolean | JsonNumberOperand;

/** A number as an operand for a value within a JSON document. */
export interface JsonNumberOperand {
  /** A plain decimal without trailing zeros. */
  readonly number: string;
}

/** The types of operands for values within JSON documents. */
export type JsonOperandType = "text" | "number" | "boolean";

/**
 * Parses a literal by its form: a JSON number, `true` or `false`, and any other string as a string.
 * A quoted literal is always a string. Throws `InvalidValue` for more than 1,000 digits.
 */
export function parseJsonOperand({ text, quoted }: Literal): JsonOperand {
  if (quoted) return text;
  if (text === "true" || text === "false") return text === "true";
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) ? numberOperand(text) : text;
}

/** Returns a value from code as an operand. Throws `InvalidValue` if no document can have it. */
export function toJsonOperand(value: unknown): JsonOperand {
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

export function jsonOperandType(operand: JsonOperand): JsonOperandType {
  if (typeof operand === "string") return "text";
  return typeof operand === "boolean" ? "boolean" : "number";
}

function numberOperand(text: string): JsonNumberOperand {
  const plain = plainDecimal(text);
  if (plain === null) throw new InvalidValue("must be a number of at most 1000 digits");
  return { number: shortestDecimal(plain) };
}
