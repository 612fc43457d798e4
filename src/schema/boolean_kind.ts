import { InvalidValue, type Kind } from "./kind.ts";

/** True or false, with equality only; sorted, false comes first. */
export const booleanKind: Kind = {
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
