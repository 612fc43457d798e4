import { assert, assertEquals } from "@std/assert";
import {
  decodeStructure,
  encodeStructure,
  type MemberCodec,
  readArray,
} from "../../../src/engines/postgres/sql/structured_values.ts";
import { decoders, decodeTimestamp } from "../../../src/engines/sqlite/sql/decoders.ts";
import { isPlainPattern, parsePlainPattern } from "../../../src/sql/plain_pattern.ts";
import { matchesWildcards } from "../../../src/sql/wildcard_pattern.ts";
import { TextPattern } from "../../../src/schema/pattern/text_pattern.ts";
import { isInstant, parseInputTimestamp, parseInstant } from "../../../src/schema/instant.ts";
import { InvalidValue } from "../../../src/schema/kind.ts";
import { plainDecimal, shortestDecimal } from "../../../src/schema/kinds/number_kinds.ts";
import { kinds } from "../../../src/schema/kind_of.ts";
import { type ColumnInfo, plainColumn } from "../../../src/schema/table_info.ts";
import {
  parseConnectionString,
  readSettings,
  toConnectionUrl,
} from "../../../src/engines/postgres/connection/parse_connection_string.ts";
import { parseArguments } from "../../../src/cli/arguments.ts";
import { tableOf } from "../../filter/support.ts";
import type { FuzzTarget } from "../engine/fuzz_target.ts";

/** Timestamps. A canonical timestamp is its own canonical form, and the time of `Date`. */
export const timestampTarget: FuzzTarget = {
  files: ["src/schema/instant.ts", "src/engines/sqlite/sql/decoders.ts"],
  seeds: [
    ...[
      "2026-01-31T12:00:00.123456Z",
      "2024-02-29",
      "-62135596800000",
      "9999-12-31T23:59:59-00:01",
    ],
    ...["0001-01-01T00:00:00+00:01", "2024-01-01 00:00:00.5+23:59", "2024-13-01T00:00:00Z"],
  ],
  parse: (input) => ({
    strict: parseInstant(input),
    input: parseInputTimestamp(input),
    stored: decodeTimestamp(input, "date time[.fff]"),
  }),
  isDocumented: () => false,
  check(result, input) {
    // The cast is safe: `parse` returns this type.
    const found = result as Record<string, string | null>;
    for (const one of Object.values(found)) {
      if (one === null) continue;
      assert(isInstant(one), input);
      assertEquals(parseInstant(one), one, input);
    }
    if (found.strict !== null && found.strict !== undefined) {
      const iso = input.toUpperCase().replace(" ", "T").replace(/(\.\d{3})\d+/, "$1");
      assertEquals(Date.parse(`${found.strict.slice(0, 23)}Z`), Date.parse(iso), input);
    }
  },
};

const allKinds = tableOf({
  ...{ id: "integer", amount: "decimal", real: "real", big: "bigint", at: "timestamp" },
  ...{ day: "date", ok: "boolean", data: "json", name: "text", code: "uuid", blob: "bytes" },
});

/** Values of each kind of column, from texts of URLs and from the database. */
export const valueTarget: FuzzTarget = {
  files: ["src/schema/kinds/number_kinds.ts", "src/engines/sqlite/sql/decoders.ts"],
  seeds: [
    "1",
    "-007.50",
    "1e-7",
    "12345678901234567890",
    "true",
    '{"a":1}',
    "AAEC",
    "1e999",
    "NaN",
  ],
  parse: (input) =>
    allKinds.columns.map((column) => {
      decoders[column.kind](input, column);
      try {
        return kinds[column.kind].fromText(input, column);
      } catch (error) {
        if (error instanceof InvalidValue) return null;
        throw error;
      }
    }),
  isDocumented: () => false,
  check(result, input) {
    // The cast is safe: `parse` returns this type.
    const values = result as readonly unknown[];
    allKinds.columns.forEach(({ kind }, index) => {
      const value = values[index];
      if (value === null || kind === "json") return;
      const column = allKinds.columns[index];
      if (column === undefined) return;
      assertEquals(kinds[kind].fromText(String(value), column), value, `${kind} ${input}`);
    });
    const plain = plainDecimal(input);
    if (plain !== null) {
      assertEquals(plainDecimal(plain), plain, input);
      assertEquals(Number(shortestDecimal(plain)), Number(input) + 0, input);
    }
  },
};

/** Patterns of LIKE. A pattern that is one operator matches what this operator matches. */
export const likeTarget: FuzzTarget = {
  files: ["src/sql/plain_pattern.ts", "src/sql/wildcard_pattern.ts"],
  seeds: ["%a%", "a\\%%", "_b%c", "\\", "%%", "a%b%c%d"],
  parse: (input) => ({
    plain: parsePlainPattern(input),
    matches: matchesWildcards("ab%c_".repeat(10), input),
    self: matchesWildcards(input, input.replace(/[\\%_]/g, "\\$&")),
  }),
  isDocumented: () => false,
  check(result, input) {
    // The cast is safe: `parse` returns this type.
    const { plain, self } = result as {
      plain: ReturnType<typeof parsePlainPattern>;
      self: boolean;
    };
    if (!input.isWellFormed()) return;
    assert(self, input);
    assert(plain === null || isPlainPattern(input));
    if (plain === null) return;
    for (const text of [plain.text, `${plain.text}x`, `x${plain.text}`, `x${plain.text}x`, ""]) {
      const expected = plain.operator === "contains"
        ? text.includes(plain.text)
        : plain.operator === "startsWith"
        ? text.startsWith(plain.text)
        : text.endsWith(plain.text);
      assertEquals(matchesWildcards(text, input), expected, `${input} ${text}`);
    }
  },
};

/** Regular expressions of columns. They match what the platform's expressions match. */
export const regexTarget: FuzzTarget = {
  files: ["src/schema/pattern/parse_regex.ts", "src/schema/pattern/text_pattern.ts"],
  seeds: ["^[a-z]{2,3}$", "(?:a|b)*?\\bc+", "\\p{L}+|[^\\]]\\u{1f600}", "a{2}(?<n>x)", "^$|.\\B"],
  parse: (input) => new TextPattern(input),
  isDocumented: (error) =>
    error instanceof Error && !(error instanceof RangeError) &&
    !(error instanceof TypeError),
  check(result, input) {
    // Nested repetitions would make the platform's expression slow.
    if (input.length > 40 || (input.match(/[*+{]/g)?.length ?? 0) > 3) return;
    // The cast is safe: `parse` returns this type.
    const pattern = result as TextPattern;
    for (const text of ["", "a", "ab c", "xab1", "é👍", "aaaa", "b\nc"]) {
      assertEquals(pattern.matches(text), new RegExp(input, "u").test(text), `${input} ${text}`);
    }
  },
};

const member: ColumnInfo = { ...plainColumn, name: "m", dbName: "m", kind: "text" };
const codec: MemberCodec = { encode: (value) => String(value), decode: (text) => text };
const shapes = [
  { kind: "list", delimiter: ",", element: member },
  { kind: "record", fields: [member, { ...member, name: "n", dbName: "n" }] },
  { kind: "map" },
] as const;

/** Arrays, composites and hstores of Postgres. A value that is encoded is decoded as itself. */
export const structureTarget: FuzzTarget = {
  files: ["src/engines/postgres/sql/structured_values.ts"],
  seeds: ['{a,"b \\"c",NULL,{d}}', '("a b",,x)', '"a"=>"b", "c"=>NULL', "[0:1]={1,2}", "{{},{}}"],
  parse: (input) =>
    // Postgres prints an array with at most six dimensions. In an item, a brace is quoted.
    (input.match(/\{/g)?.length ?? 0) > 60
      ? null
      : shapes.map((shape) =>
        decodeStructure(input, shape as Parameters<typeof decodeStructure>[1], codec)
      ),
  isDocumented: () => false,
  check(_, input) {
    const values: readonly unknown[] = [
      [input, null, [input, ""], "NULL"],
      { m: input, n: null },
      Object.fromEntries([["k", input], [`x${input}`, null]]),
    ];
    shapes.forEach((given, index) => {
      const shape = given as Parameters<typeof decodeStructure>[1];
      const encoded = encodeStructure(values[index], shape, codec);
      assertEquals(decodeStructure(encoded, shape, codec), values[index], input);
    });
    readArray(input, ";");
  },
};

/** Connection strings. A parsed string, printed as a URL, has the same parameters. */
export const connectionTarget: FuzzTarget = {
  files: ["src/engines/postgres/connection/parse_connection_string.ts"],
  seeds: [
    "postgres://u:p%40@h1:5432,[::1]/db?sslmode=require&ssl=true",
    "host=a port=5 password='it\\'s' options='-c a=b --c-d=e'",
    "postgresql://?host=/tmp",
  ],
  parse: (input) => {
    const parameters = parseConnectionString(input);
    readSettings((name) => name === "options" ? input : undefined);
    return parameters;
  },
  isDocumented: (error) => error instanceof Error && error.constructor === Error,
  check(result) {
    // The cast is safe: `parse` returns this type.
    const parameters = result as ReadonlyMap<string, string>;
    assertEquals([...parseConnectionString(toConnectionUrl(parameters))], [...parameters]);
  },
};

/** Arguments of the command line, one in a line. Wrong arguments are a value, not an error. */
export const argumentsTarget: FuzzTarget = {
  files: ["src/cli/arguments.ts", "src/cli/command_options.ts", "src/cli/command_arguments.ts"],
  seeds: [
    "shop.db\n--port\n80\n--write",
    "keys\ncreate\n--expires\n90d\n--roles\na,b",
    "credits\ngrant\nacct\n5\n--reason=x",
    "backup\n--keep\n14\nfolder",
    "import\nnotes\nfile.csv\n--map\na=b",
    "migrate\n--to\n3",
  ],
  parse: (input) => parseArguments(input.split("\n")),
  isDocumented: () => false,
  superlinear: "`parseArgs` of `node:util` is not linear, and the operator writes the arguments",
};
