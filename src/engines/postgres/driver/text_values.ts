/** Makes postgres.js return values as strings, because the library's conversions lose digits. */
export const textValues = {
  to: 25,
  from: [25, 21, 23, 26, 700, 701, 114, 3802, 16, 1082, 1114, 1184, 17],
  serialize: (value: string): string => value,
  parse: (text: string): string => text,
};
