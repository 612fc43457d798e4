import type postgres from "postgres";

/** Sends values as text. The library's conversions lose digits and alter invalid values. */
export const textValues: postgres.PostgresType<string> = {
  to: 25,
  // The numbers of the converted types: text, numbers, json, bool, times, bytea.
  from: [25, 21, 23, 26, 700, 701, 114, 3802, 16, 1082, 1114, 1184, 17],
  serialize: (value: string) => value,
  parse: (text: string) => text,
};
