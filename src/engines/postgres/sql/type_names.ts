export function toPostgresTypeName(declared: string): string {
  const short = declared.trim().replace(/^(time(?:stamp)?)\s*(\(\d\))? with time zone/i, "$1tz$2")
    .replace(/^(time(?:stamp)?)\s*(\(\d\))? without time zone/i, "$1$2");
  const [, word = "", numbers = "", rest = ""] =
    /^([a-z_][\w]*?)\s*(\([\d,\s]*\))?((?:\[\])*(?:\s+COLLATE\b.*)?)$/i.exec(short) ?? [];
  if (word === "") return declared;
  const [name, tail = ""] = (names.get(word.toLowerCase()) ?? word.toLowerCase()).split("|");
  const digits = numbers.replaceAll(/\s/g, "");
  const whole = name === "numeric" && /^\(\d+\)$/.test(digits)
    ? digits.replace(")", ",0)")
    : digits;
  return `${name}${whole}${tail}${rest}`;
}

/** The part after `|` follows the numbers of the type, as in `time(3) with time zone`. */
const names: ReadonlyMap<string, string> = new Map([
  ["int2", "smallint"],
  ["int4", "integer"],
  ["int", "integer"],
  ["int8", "bigint"],
  ["smallserial", "smallint"],
  ["serial", "integer"],
  ["bigserial", "bigint"],
  ["float4", "real"],
  ["float8", "double precision"],
  ["float", "double precision"],
  ["bool", "boolean"],
  ["decimal", "numeric"],
  ["varchar", "character varying"],
  ["char", "character"],
  ["timestamptz", "timestamp| with time zone"],
  ["timestamp", "timestamp| without time zone"],
  ["timetz", "time| with time zone"],
  ["time", "time| without time zone"],
]);
