import { assertEquals } from "@std/assert";
import { CsvError, parse } from "csv-parse/sync";
import fc from "fast-check";
import { type CsvRecord, parseCsv } from "../../src/resource/import/parse_csv.ts";

/** What stands in each message of a fault, by the code of the other parser. */
const faults: Readonly<Record<string, string>> = {
  CSV_INVALID_CLOSING_QUOTE: "has text after a closing quote",
  INVALID_OPENING_QUOTE: "has a quote inside of a field that begins without one",
  CSV_QUOTE_NOT_CLOSED: "has a quote that is not closed",
};

function parsed(text: string, firstLine: number) {
  const records: CsvRecord[] = [];
  const fault = parseCsv(text, firstLine, (record) => records.push(record));
  return { records, fault };
}

/** The same by csv-parse, which takes one ending of lines. */
function parseByOther(text: string, ending: string) {
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
    return { records, fault: null };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return { records, fault: faults[error.code] ?? error.code };
  }
}

Deno.test("records of CSV and their faults are those of csv-parse, with every ending of lines", () => {
  for (const ending of ["\r\n", "\n", "\r"]) {
    const part = fc.constantFrom("a", "é👍", " ", ",", ",", '"', '""', '",', ',"', ending);
    fc.assert(
      fc.property(fc.array(part, { maxLength: 24 }), (parts) => {
        const text = parts.join("");
        const { records, fault } = parsed(text, 1);
        const given = {
          records: records.map(({ fields }) => fields),
          fault: fault?.message ?? null,
        };
        assertEquals(given, parseByOther(text, ending), JSON.stringify(text));
      }),
      { numRuns: 3_000, seed: 1 },
    );
  }
});

Deno.test("a record of CSV has its first line, and its characters", () => {
  const text = 'a,"b\r\nc"\r\n\r\n"d\n\n",e\nf\rg,"';
  assertEquals(parsed(text, 7), {
    records: [
      { fields: ["a", "b\r\nc"], line: 7, size: 8 },
      { fields: [null], line: 9, size: 0 },
      { fields: ["d\n\n", "e"], line: 10, size: 7 },
      { fields: ["f"], line: 13, size: 1 },
    ],
    fault: { line: 14, message: "has a quote that is not closed" },
  });
});
