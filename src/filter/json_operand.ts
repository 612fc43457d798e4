import { isExactNumber } from "../schema/exact_number.ts";
import { plainDecimal, shortestDecimal } from "../schema/kinds/number_kinds.ts";
import { InvalidValue } from "../schema/kind.ts";
import { requireStorableText } from "../schema/kinds/text_kind.ts";
import type { Literal } from "./syntax/filter_syntax.ts";

/** The form of a literal determines its operand's type, because documents declare no types. */
export type JsonOperand = string | boolean | JsonNumberOperand;

export interface JsonNumberOperand {
  /** The number in decimal notation, without an exponent or trailing zeros. */
  readonly number: string;
}

export type JsonOperandType = "text" | "number" | "boolean";

/** Parses a JSON literal. Throws `InvalidValue` for a number of more than 1,000 digits. */
export function parseJsonOperand({ text, quoted }: Literal): JsonOperand {
  if (quoted) return text;
  if (text === "true" || text === "false") return text === "true";
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) ? numberOperand(text) : text;
}

/** Returns the operand for a value from code. Throws `InvalidValue` if JSON cannot contain it. */
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
