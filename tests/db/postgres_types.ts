/** A column of a Postgres type for a test: its values, as literals of SQL. */
export interface TypeCase {
  readonly name: string;
  readonly type: string;
  /** The type below a domain, and without numbers. */
  readonly baseType?: string;
  readonly values: readonly string[];
  /** What rows have in JSON, where that is not the text that Postgres prints. */
  readonly json?: readonly unknown[];
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
  "CREATE DOMAIN tag_list AS text[]",
  "CREATE DOMAIN whole AS int CHECK (VALUE > 0)",
  "CREATE DOMAIN small_whole AS whole",
  "CREATE TYPE place AS (street text, number int, since timestamptz, tags text[], price numeric(9,2))",
  "CREATE TYPE route AS (start place, stops place[], mood mood, extra jsonb)",
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
  { name: "whole", type: "small_whole", baseType: "int", values: ["9", "10"], json: [9, 10] },
  {
    name: "ints",
    type: "int[]",
    values: ["'{9,10}'", "'{10}'", "'{}'", "'{NULL,3}'", "'{{1,2},{3,4}}'", "'[0:1]={5,6}'"],
    json: [[9, 10], [10], [], [null, 3], [[1, 2], [3, 4]], "[0:1]={5,6}"],
  },
  {
    name: "bigs",
    type: "bigint[]",
    values: ["'{9007199254740991}'", "'{1}'"],
    json: [[9007199254740991], [1]],
  },
  {
    name: "texts",
    type: "text[]",
    values: [`'{"a b","","NULL",NULL,"x,y"}'`, `'{"q\\"z\\\\","{}"," "}'`, "'{B}'", "'{a}'"],
    json: [["a b", "", "NULL", null, "x,y"], ['q"z\\', "{}", " "], ["B"], ["a"]],
  },
  { name: "tags", type: "tag_list", baseType: "text[]", values: ["'{a,b}'"], json: [["a", "b"]] },
  {
    name: "chars",
    type: "varchar(3)[]",
    baseType: "varchar[]",
    values: ["'{abc,b}'"],
    json: [["abc", "b"]],
  },
  {
    name: "prices",
    type: "numeric(9,2)[]",
    baseType: "numeric[]",
    values: ["'{1.5,NaN}'", "'{-0.01}'"],
    json: [["1.50", "NaN"], ["-0.01"]],
  },
  {
    name: "doubles",
    type: "float8[]",
    values: ["'{0.1,1e300}'", "'{Infinity,-Infinity,NaN}'"],
    json: [[0.1, 1e300], ["Infinity", "-Infinity", "NaN"]],
  },
  { name: "halves", type: "float4[]", values: ["'{0.1,-2}'"], json: [[0.1, -2]] },
  { name: "flags", type: "boolean[]", values: ["'{t,f,NULL}'"], json: [[true, false, null]] },
  {
    name: "moments",
    type: "timestamptz[]",
    values: [`'{"2024-01-01 00:00:00.5+02",infinity}'`, `'{"0044-03-15 00:00:00+00 BC"}'`],
    json: [["2023-12-31T22:00:00.500Z", "infinity"], ["0044-03-15 00:00:00+00 BC"]],
  },
  {
    name: "days",
    type: "date[]",
    values: ["'{2024-02-29,-infinity}'"],
    json: [["2024-02-29", "-infinity"]],
  },
  {
    name: "uuids",
    type: "uuid[]",
    values: ["'{0190163d-8694-739b-aea5-966c26f8ad91}'"],
    json: [["0190163d-8694-739b-aea5-966c26f8ad91"]],
  },
  { name: "files", type: "bytea[]", values: [`'{"\\\\x00ff",""}'`], json: [["AP8=", ""]] },
  {
    name: "documents",
    type: "jsonb[]",
    values: [`'{"{\\"a\\": [1, \\"x\\"]}","[1, 2]"}'`, `'{"null"}'`],
    json: [[{ a: [1, "x"] }, [1, 2]], '{"null"}'],
  },
  {
    name: "moods",
    type: "mood[]",
    values: ["'{ok,sad}'", "'{sad}'"],
    json: [["ok", "sad"], ["sad"]],
  },
  { name: "nets", type: "inet[]", values: ["'{10.0.0.9}'", "'{10.0.0.10}'"] },
  { name: "spans", type: "interval[]", values: ["'{2 days,10 days}'"] },
  { name: "ranges", type: "int4range[]", values: [`'{"[9,10)",empty}'`] },
  { name: "boxes", type: "box[]", values: [`'{(3,4),(1,2);(9,9),(1,1)}'`], compares: "not at all" },
  {
    name: "place",
    type: "place",
    compares: "not at all",
    values: [
      `ROW('a "b", (c)', 7, '2024-01-01 00:00+00', '{x,"y z"}', 1.5)`,
      "ROW(NULL, NULL, NULL, NULL, NULL)",
      "ROW('', NULL, 'infinity', '{}', 'NaN')",
    ],
    json: [
      {
        street: 'a "b", (c)',
        number: 7,
        since: "2024-01-01T00:00:00.000Z",
        tags: ["x", "y z"],
        price: "1.50",
      },
      { street: null, number: null, since: null, tags: null, price: null },
      { street: "", number: null, since: "infinity", tags: [], price: "NaN" },
    ],
  },
  {
    name: "route",
    type: "route",
    compares: "not at all",
    values: [
      `ROW(ROW('a', 1, NULL, NULL, NULL)::place, ARRAY[ROW('b', 2, NULL, '{"c d"}', 3)]::place[], 'ok',
        '{"a":[1]}')`,
    ],
    json: [{
      start: { street: "a", number: 1, since: null, tags: null, price: null },
      stops: [{ street: "b", number: 2, since: null, tags: ["c d"], price: "3.00" }],
      mood: "ok",
      extra: { a: [1] },
    }],
  },
  {
    name: "attributes",
    type: "hstore",
    extension: "hstore",
    values: [`'a=>1, "b c"=>NULL, "q\\"z"=>"\\\\"'`, "''"],
    compares: "not at all",
    json: [{ a: "1", "b c": null, 'q"z': "\\" }, {}],
  },
];
