import { bytesKind } from "./kinds/bytes_kind.ts";
import { decimalKind } from "./kinds/decimal_kind.ts";
import { jsonKind } from "./kinds/json_kind.ts";
import { type ColumnKind, InvalidValue, type Kind } from "./kind.ts";
import { bigintKind, integerKind, realKind } from "./kinds/number_kinds.ts";
import type { ColumnInfo } from "./table_info.ts";
import { textKind } from "./kinds/text_kind.ts";
import { dateKind, timestampKind } from "./kinds/time_kinds.ts";
import { uuidKind } from "./kinds/uuid_kind.ts";

/** True or false, with equality only; false sorts first. */
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

const kinds: Readonly<Record<ColumnKind, Kind>> = {
  text: textKind,
  integer: integerKind,
  bigint: bigintKind,
  real: realKind,
  decimal: decimalKind,
  boolean: booleanKind,
  timestamp: timestampKind,
  date: dateKind,
  uuid: uuidKind,
  json: jsonKind,
  bytes: bytesKind,
};

/** The kind of a column by the kind's name, with its checks, its texts and its order. */
export function kindOf(kind: ColumnKind): Kind {
  return kinds[kind];
}

/** Whether rows can be ordered by a column, and its values be grouped. */
export function isSortable({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kindOf(kind).compare !== null : databaseType.ordered;
}

/** Whether a column has equality. */
export function hasEquality({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kindOf(kind).compare !== null : true;
}

/** Whether `>` is defined for a column. */
export function isOrdered({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kindOf(kind).ordered : databaseType.ordered;
}

/** Whether min and max are defined for a column. */
export function hasExtremes({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kindOf(kind).compare !== null : databaseType.hasExtremes;
}

/** The checks and texts of a column's values: those of its kind, narrowed by its type. */
export function kindOfColumn({ kind, databaseType, enumValues }: ColumnInfo): Kind {
  if (databaseType === undefined) return kindOf(kind);
  return enumValues === null ? textKind : labelKind;
}

/** The labels of an enum: the database has no order for another text. */
const labelKind: Kind = {
  ...textKind,
  fromText(text, { enumValues }) {
    if (enumValues?.includes(text) === true) return text;
    throw new InvalidValue(`must be one of: ${enumValues?.join(", ")}`);
  },
};
