import { assertEquals } from "@std/assert";
import { CsvError, parse } from "csv-parse/sync";
import { type CsvRecord, parseCsv } from "../../../src/resource/import/parse_csv.ts";
import { csvValue } from "../../../src/resource/import/csv_value.ts";
import { bodyJsonLimits } from "../../../src/resource/http/request_body.ts";
import { UnreadableLine } from "../../../src/resource/import/import_record.ts";
import { textBlocks, wholeLines } from "../../../src/resource/import/text_blocks.ts";
import { checkImportOptions, formatMap } from "../../../src/resource/import/import_options.ts";
import {
  parseJson,
  rawJsonItems,
  rawJsonMembers,
  writeJson,
} from "../../../src/schema/exact_json.ts";
import { InvalidValue } from "../../../src/schema/kind.ts";
import { tableOf } from "../../filter/support.ts";
import type { FuzzTarget } from "../engine/fuzz_target.ts";
import { isProblem } from "./documented.ts";

interface ParsedCsv {
  readonly records: CsvRecord[];
  readonly fault: string | null;
}

/** CSV. Its records are those of `csv-parse`, and those of the same text in two parts. */
export const csvTarget: FuzzTarget = {
  files: ["src/resource/import/parse_csv.ts"],
  seeds: ['a,b\r\n"c ""d""",e\n\n,NULL\n', '"x\ny",1\n"', "a\tb", 'a"b,c', '"a"b'],
  // The places of fields that may mean NULL were copied for each further field.
  pumps: [{ before: "a\nNA", piece: ",NA", after: "" }],
  parse: (input) => csvOf(input, true, 1),
  isDocumented: () => false,
  check(result, input) {
    // The cast is safe: `parse` returns this type.
    const { records, fault } = result as ParsedCsv;
    const ending = /\r\n|\r|\n/.exec(input)?.[0] ?? "\n";
    const hasOneEnding = input.replaceAll(ending, "").search(/[\r\n]/) < 0;
    // `csv-parse` encodes strings as UTF-8, and accepts NUL after a closing quote.
    if (hasOneEnding && input.isWellFormed() && !input.includes("\0")) {
      const other = byCsvParse(input, ending);
      // Of several faults in a line, `csv-parse` reports another one.
      const found = { records: records.map(({ fields }) => fields), isFaulty: fault !== null };
      assertEquals(found, other, input);
    }
    const half = Math.floor(input.length / 2);
    assertEquals(inParts(input, half), { records, fault }, input);
  },
};

function csvOf(text: string, isLast: boolean, line: number) {
  const records: CsvRecord[] = [];
  const options = { line, delimiter: ",", nullText: null, isLast };
  const end = parseCsv(text, options, (record) => records.push(record));
  return { records, fault: end.fault, end };
}

function inParts(text: string, at: number): ParsedCsv {
  const first = csvOf(text.slice(0, at), false, 1);
  if (first.fault !== null) return { records: first.records, fault: first.fault };
  const { records, fault } = csvOf(text.slice(first.end.at), true, first.end.line);
  return { records: [...first.records, ...records], fault };
}

function byCsvParse(text: string, ending: string) {
  const records: CsvRecord["fields"][] = [];
  try {
    parse(text, {
      relax_column_count: true,
      record_delimiter: ending,
      cast: (value, { quoting }) => value === "" && !quoting ? null : value,
      on_record: (record: (string | null)[]) => {
        records.push(record);
        return null;
      },
    });
    return { records, isFaulty: false };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return { records, isFaulty: true };
  }
}

/** Bodies in parts. The lines of a body do not depend on where its parts end. */
export const textBlocksTarget: FuzzTarget = {
  files: ["src/resource/import/text_blocks.ts"],
  seeds: [
    "a\nb\n",
    "\xef\xbb\xbfa\n\xc3\xa9",
    "\xff\xfea\0\n\0",
    "\xfe\xff\0a",
    "\xff\xfe\0\0",
    "\x80",
  ],
  parse: (input) => linesOf([bytesOf(input)]),
  isDocumented: (error) => error instanceof UnreadableLine,
  async check(result, input) {
    const bytes = bytesOf(input);
    const parts = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
    assertEquals(await linesOf(parts), result, JSON.stringify(input));
  },
};

/** Returns bytes from characters: one byte for each character below 256. */
function bytesOf(input: string): Uint8Array {
  return /^[\0-\xff]*$/.test(input)
    ? Uint8Array.from(input, (character) => character.charCodeAt(0))
    : new TextEncoder().encode(input);
}

async function linesOf(parts: readonly Uint8Array[]): Promise<string[]> {
  const lines: string[] = [];
  async function* stream() {
    yield* parts;
  }
  for await (const block of textBlocks(stream(), { maxRecordBytes: 4_000 })) {
    const [first = "", ...rest] = wholeLines(block);
    lines.push((lines.pop() ?? "") + first, ...rest);
  }
  return lines;
}

const values = tableOf({
  ...{ id: "integer", amount: "decimal", real: "real", big: "bigint", at: "timestamp" },
  ...{ day: "date", ok: "boolean", data: "json", name: "text", code: "uuid", blob: "bytes" },
});

/** The fields of CSV files: each is a value or an invalid value for each kind of column. */
export const csvValueTarget: FuzzTarget = {
  files: ["src/resource/import/csv_value.ts"],
  seeds: [
    ...["1", "-1.5e3", "1,5", "2024-01-31 10:00+02", "31.01.2024", "yes", '{"a":1}', "1'000"],
    ...["1706695200", "45322.5", "12:00", "$5", "5 %"],
  ],
  parse: (input) =>
    values.columns.map((column) => {
      try {
        return csvValue(input, column, bodyJsonLimits(100), "s");
      } catch (error) {
        if (error instanceof InvalidValue) return "invalid";
        throw error;
      }
    }),
  isDocumented: () => false,
};

/** JSON with all digits. It is valid if and only if it is valid for `JSON.parse`. */
export const jsonTarget: FuzzTarget = {
  files: ["src/schema/exact_json.ts", "src/schema/exact_number.ts"],
  seeds: [
    '{"a":[1,2.50,12345678901234567890],"b\\"":null,"__proto__":{"c":1e400}}',
    '[1e-7,0.1000000000000000055511151231257827,-0,true,false,"\\ud800"]',
    '{"\\n":1,"":"\\\\"}',
    "[".repeat(600),
  ],
  parse: (input) => parseJson(input),
  isDocumented: () => false,
  check(result, input) {
    let plain: unknown;
    try {
      plain = JSON.parse(input);
    } catch {
      assertEquals(result, undefined, input);
      return;
    }
    if (result === undefined) return;
    // Numbers lose digits in `plain`, and both must then be equal as doubles.
    const written = writeJson(result);
    assertEquals(JSON.stringify(JSON.parse(written)), JSON.stringify(plain), input);
    assertEquals(writeJson(parseJson(written)), written, input);
    if (Array.isArray(result)) {
      const items = rawJsonItems(input).map((item) => writeJson(parseJson(item)));
      assertEquals(items, result.map(writeJson), input);
    } else if (typeof result === "object" && result !== null && input.trimStart().startsWith("{")) {
      for (const [name, raw] of rawJsonMembers(input)) {
        const value = Object.getOwnPropertyDescriptor(result, name)?.value;
        assertEquals(writeJson(parseJson(raw)), writeJson(value), input);
      }
    }
  },
};

/** The option `map` of an import. Its pairs, printed, are read as the same pairs. */
export const importMapTarget: FuzzTarget = {
  files: ["src/resource/import/import_options.ts"],
  seeds: ["Name=name", '"Sum, all=sum",a=b', "=", '"', "a=b=c"],
  parse: (input) => checkImportOptions({ format: "csv", map: input }),
  isDocumented: isProblem("invalid-parameter"),
  check(result, input) {
    // The cast is safe: `parse` returns this type.
    const { map } = result as ReturnType<typeof checkImportOptions>;
    if (map.size === 0) return;
    const again = checkImportOptions({ format: "csv", map: formatMap(map) });
    assertEquals([...again.map], [...map], input);
  },
};
