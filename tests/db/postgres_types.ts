/** A column of a Postgres type for a test: its values, as literals of SQL. */
export interface TypeCase {
  readonly name: string;
  readonly type: string;
  /** The type below a domain, and without numbers. */
  readonly baseType?: string;
  readonly values: readonly string[];
  /** How the type compares; by its own order unless said otherwise. */
  readonly compares?: "as text" | "not at all";
  /** A text that is no value of the type. */
  readonly refused?: string;
  /** An extension that has the type. */
  readonly extension?: string;
}

/** What the types need. */
export const typeScript: readonly string[] = [
  "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
  "CREATE DOMAIN mood_domain AS mood",
  "CREATE TYPE floats AS RANGE (subtype = float8)",
];

/** Types of Postgres that are served as texts, and compared by the database. */
export const typeCases: readonly TypeCase[] = [
  { name: "mood", refused: "no such thing", type: "mood", values: ["'sad'", "'ok'", "'happy'"] },
  {
    name: "mood_domain",
    type: "mood_domain",
    baseType: "mood",
    values: ["'happy'", "'sad'", "'ok'"],
  },
  {
    name: "inet",
    refused: "no such thing",
    type: "inet",
    values: ["'10.0.0.9'", "'10.0.0.10'", "'10.0.0.0/8'", "'::1'", "'9.255.255.255'"],
  },
  {
    name: "cidr",
    refused: "no such thing",
    type: "cidr",
    values: ["'10.0.0.0/8'", "'9.0.0.0/8'", "'10.1.2.3/32'"],
  },
  {
    name: "macaddr",
    refused: "no such thing",
    type: "macaddr",
    values: ["'08:00:2b:01:02:03'", "'ff:00:2b:01:02:03'"],
  },
  {
    name: "macaddr8",
    refused: "no such thing",
    type: "macaddr8",
    values: ["'08:00:2b:01:02:03:04:05'", "'00::1'"].slice(0, 1),
  },
  {
    name: "money",
    refused: "no such thing",
    type: "money",
    values: ["'9.50'", "'10'", "'-1234567.89'", "'92233720368547758.07'"],
  },
  {
    name: "span",
    refused: "no such thing",
    type: "interval",
    values: [
      "'2 days'",
      "'10 days'",
      "'1 mon'",
      "'-00:00:00.000001'",
      "'178000000 years'",
      "'24:00:00'",
      "'1 day'",
    ],
  },
  {
    name: "clock",
    refused: "no such thing",
    type: "time",
    values: ["'09:00'", "'10:00:00.000001'", "'24:00'", "'00:00'"],
  },
  { name: "clock_s", type: "time(0)", baseType: "time", values: ["'09:00'", "'10:00:01'"] },
  {
    name: "zoned",
    refused: "no such thing",
    type: "timetz",
    values: ["'09:00+02'", "'08:00+00'", "'23:59:59.999999-15:59'", "'07:00+00'"],
  },
  {
    name: "bits",
    refused: "no such thing",
    type: "bit(4)",
    baseType: `"bit"`,
    values: ["B'0101'", "B'1000'"],
  },
  {
    name: "varbits",
    refused: "no such thing",
    type: "varbit",
    values: ["B''", "B'1'", "B'01'", "B'10101010101'"],
  },
  { name: "lsn", refused: "no such thing", type: "pg_lsn", values: ["'0/9'", "'0/A0'", "'FF/1'"] },
  {
    name: "xid8",
    type: "xid8",
    values: ["'9'", "'10'", "'18446744073709551615'"],
  },
  { name: "xid", type: "xid", values: ["'9'", "'10'"], compares: "as text" },
  { name: "oid", refused: "no such thing", type: "oid", values: ["9", "10", "4294967295"] },
  { name: "name", type: "name", values: ["'b'", "'B'", "'é'"] },
  { name: "letter", type: `"char"`, values: ["'b'", "'B'"] },
  { name: "padded", type: "char(4)", baseType: "text", values: ["'b'", "'abcd'"] },
  { name: "tid", refused: "no such thing", type: "tid", values: ["'(9,1)'", "'(10,1)'"] },
  {
    name: "int4range",
    refused: "no such thing",
    type: "int4range",
    values: ["'[9,10)'", "'[10,)'", "'empty'", "'(,)'"],
  },
  { name: "int8range", type: "int8range", values: ["'[9,10)'", "'[100,200)'"] },
  {
    name: "numrange",
    refused: "no such thing",
    type: "numrange",
    values: ["'[9.5,10]'", "'(10.0,)'"],
  },
  {
    name: "daterange",
    refused: "no such thing",
    type: "daterange",
    values: ["'[2024-01-01,2024-02-01)'", "'[2023-12-31,infinity)'"],
  },
  {
    name: "tsrange",
    type: "tsrange",
    values: [`'["2024-01-01 00:00:00.000001",)'`, "'(,2024-01-01)'"],
  },
  { name: "tstzrange", type: "tstzrange", values: ["'[2024-01-01 00:00+02,)'", "'empty'"] },
  { name: "floats", type: "floats", values: ["'[9,10)'", "'[1e20,1e21]'"] },
  {
    name: "multi",
    refused: "no such thing",
    type: "int4multirange",
    values: ["'{[9,10),[20,30)}'", "'{}'", "'{[10,11)}'"],
  },
  { name: "vector", type: "tsvector", values: ["'fat:2 cat:3'", "'a'", "''"] },
  { name: "query", type: "tsquery", values: ["'fat & cat'", "'a'"] },
  { name: "point", type: "point", values: ["'(1,2)'", "'(-1e-10,1e300)'"], compares: "as text" },
  { name: "line", type: "line", values: ["'{1,2,3}'"], compares: "as text" },
  { name: "lseg", type: "lseg", values: ["'[(1,2),(3,4)]'"], compares: "as text" },
  { name: "box", type: "box", values: ["'(3,4),(1,2)'", "'(9,9),(1,1)'"], compares: "as text" },
  {
    name: "path",
    type: "path",
    values: ["'((1,2),(3,4))'", "'[(1,2),(3,4)]'"],
    compares: "as text",
  },
  { name: "polygon", type: "polygon", values: ["'((1,2),(3,4),(5,6))'"], compares: "as text" },
  { name: "circle", type: "circle", values: ["'<(1,2),3>'"], compares: "as text" },
  { name: "xml", type: "xml", values: ["'<a>1</a>'", "'text &amp; more'"], compares: "as text" },
  {
    name: "jsonpath",
    type: "jsonpath",
    values: ["'$.a'", "'$[*] ? (@ > 1)'"],
    compares: "as text",
  },
  { name: "regclass", type: "regclass", values: ["'pg_type'", "'pg_class'"], compares: "as text" },
  { name: "regtype", type: "regtype", values: ["'int4'", "'text'"], compares: "as text" },
  { name: "snapshot", type: "pg_snapshot", values: ["'10:20:10,14'"], compares: "as text" },
  { name: "citext", type: "citext", values: ["'b'", "'A'", "'a'", "'B'"], extension: "citext" },
  { name: "ltree", type: "ltree", values: ["'a.b'", "'a.a.a'", "''"], extension: "ltree" },
  { name: "isbn", type: "isbn", values: ["'978-0-393-04002-9'"], extension: "isn" },
  { name: "cube", type: "cube", values: ["'(9)'", "'(10)'"], extension: "cube" },
];
