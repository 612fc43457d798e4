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

interface Part {
  readonly line: number;
  readonly isLast: boolean;
  readonly nullText?: string | null;
}

function parsed(text: string, { nullText = null, ...part }: Part) {
  const records: CsvRecord[] = [];
  const end = parseCsv(text, { ...part, nullText, delimiter: "," }, (record) => {
    records.push(record);
  });
  return { records, end };
}

const whole = { line: 1, isLast: true };

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
        const { records, end: { fault } } = parsed(text, whole);
        const given = { records: records.map(({ fields }) => fields), fault };
        assertEquals(given, parseByOther(text, ending), JSON.stringify(text));
      }),
      { numRuns: 3_000, seed: 1 },
    );
  }
});

Deno.test("a record of CSV has its first line, and its characters", () => {
  const text = 'a,"b\r\nc"\r\n\r\n"d\n\n",e\nf\rg,"';
  const nullLike: readonly number[] = [];
  const records = [
    { fields: ["a", "b\r\nc"], line: 7, size: 8, nullLike },
    { fields: [null], line: 9, size: 0, nullLike },
    { fields: ["d\n\n", "e"], line: 10, size: 7, nullLike },
    { fields: ["f"], line: 13, size: 1, nullLike },
  ];
  const fault = "has a quote that is not closed";
  assertEquals(parsed(text, { ...whole, line: 7 }), { records, end: { at: 22, line: 14, fault } });
  const open = parsed(text, { line: 7, isLast: false });
  assertEquals(open, { records, end: { at: 22, line: 14, fault: null } });
});

Deno.test("a CSV in parts has the records of the whole, wherever it is divided", () => {
  const text = 'a,"b ""\r\n"\r\n"",\r"é\n",NULL\n\nf,"x"';
  const { records } = parsed(text, whole);
  assertEquals(records.map(({ line }) => line), [1, 3, 4, 6, 7]);
  for (let cut = 0; cut <= text.length; cut++) {
    const before = parsed(text.slice(0, cut), { line: 1, isLast: false });
    const { at, line } = before.end;
    const after = parsed(text.slice(at), { line, isLast: true });
    assertEquals([...before.records, ...after.records], records, `divided at ${cut}`);
  }
});

Deno.test("a field without quotes can mean NULL, and one that looks like it is marked", () => {
  const text = 'NULL,"NULL",NA,\\N,null,N,12';
  const [plain] = parsed(text, whole).records;
  assertEquals(plain?.fields, ["NULL", "NULL", "NA", "\\N", "null", "N", "12"]);
  assertEquals(plain?.nullLike, [0, 2, 3, 4]);
  const [nulled] = parsed(text, { ...whole, nullText: "NULL" }).records;
  assertEquals([nulled?.fields.slice(0, 3), nulled?.nullLike], [[null, "NULL", "NA"], [2, 3, 4]]);
});
