import { bytesKind } from "./kinds/bytes_kind.ts";
import { bigintKind, decimalKind, integerKind, realKind } from "./kinds/number_kinds.ts";
import { jsonKind } from "./kinds/json_kind.ts";
import { type ColumnKind, InvalidValue, type Kind, type ValueRules } from "./kind.ts";
import { textKind } from "./kinds/text_kind.ts";
import { dateKind, timestampKind } from "./kinds/time_kinds.ts";
import { uuidKind } from "./kinds/uuid_kind.ts";

/** Booleans. Filters can only test them for equality. False sorts before true. */
const booleanKind: Kind = {
  fromJson(value) {
    if (typeof value !== "boolean") throw new InvalidValue("must be true or false");
    return value;
  },
  fromText(text) {
    if (text === "true" || text === "1") return true;
    if (text === "false" || text === "0") return false;
    throw new InvalidValue("must be true or false");
  },
  compare: (left, right) => left === right ? 0 : left === false ? -1 : 1,
  ordered: false,
};

export const kinds: Readonly<Record<ColumnKind, Kind>> = {
  text: textKind,
  integer: withLimits(integerKind),
  bigint: withLimits(bigintKind),
  real: withLimits(realKind),
  decimal: withLimits(decimalKind),
  boolean: booleanKind,
  timestamp: withLimits(timestampKind),
  date: withLimits(dateKind),
  uuid: uuidKind,
  json: jsonKind,
  bytes: bytesKind,
};

function withLimits(kind: Kind): Kind {
  return {
    ...kind,
    fromJson(value, rules) {
      const read = kind.fromJson(value, rules);
      if (rules.min !== null || rules.max !== null) requireRange(read, rules, kind);
      return read;
    },
  };
}

function requireRange(value: unknown, { min, max }: ValueRules, { compare }: Kind): void {
  if (compare === null) return;
  if (min !== null && compare(value, min) < 0) throw new InvalidValue(`must be at least ${min}`);
  if (max !== null && compare(value, max) > 0) throw new InvalidValue(`must be at most ${max}`);
}
