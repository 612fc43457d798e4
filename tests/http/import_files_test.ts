import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  all,
  boolean,
  date,
  decimal,
  integer,
  real,
  resource,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import { csvValue } from "../../src/resource/import/csv_value.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { testOnEngines, userHeader, withService } from "../support/http.ts";

const people = table("people", {
  id: integer().primaryKey(),
  name: text(),
  age: integer(),
  balance: decimal({ precision: 12, scale: 2 }),
  ratio: real(),
  active: boolean(),
  joined: timestamp(),
  born: date(),
  note: text(),
});

type Row = Readonly<Record<string, unknown>>;

interface FileCase {
  readonly name: string;
  readonly body: string | Uint8Array;
  /** The media type of the request. Default: `text/csv`. */
  readonly type?: string;
  /** The options that the refusals name one after the other, as `name=value`. */
  readonly options?: readonly string[];
  /** The rows of the table after the import, or what the last refusal says. */
  readonly rows?: readonly Row[];
  readonly refused?: RegExp;
}

const ann = { id: 1, name: "Ann" };
const bob = { id: 2, name: "Bob" };

function utf16le(value: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(2 * value.length);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < value.length; at++) view.setUint16(2 * at, value.charCodeAt(at), true);
  return bytes;
}

function swapped(bytes: Uint8Array): Uint8Array {
  return bytes.map((_, at) => bytes[at ^ 1] ?? 0);
}

function latin1(value: string): Uint8Array {
  return Uint8Array.from(value, (char) => char.charCodeAt(0));
}

const files: readonly FileCase[] = [
  {
    name: "Excel in Europe: semicolons, UTF-8 with a mark",
    body: "\ufeffid;name;active;age\r\n1;Jürgen;TRUE;36\r\n2;Zoë, Ω;FALSE;\r\n",
    options: ["delimiter=;"],
    rows: [{ id: 1, name: "Jürgen", active: true, age: 36 }, {
      id: 2,
      name: "Zoë, Ω",
      active: false,
    }],
  },
  {
    name: "Excel, Unicode text: UTF-16 with a mark, tabs",
    body: utf16le('\ufeffid\tname\tnote\r\n1\tAnn\t"a\r\nb"\r\n'),
    options: ["delimiter=tab"],
    rows: [{ ...ann, note: "a\r\nb" }],
  },
  {
    name: "UTF-16 without a mark",
    body: utf16le("id,name\r\n1,Ann\r\n"),
    options: ["encoding=utf-16le"],
    rows: [ann],
  },
  {
    name: "UTF-16, most significant byte first, with a mark",
    body: swapped(utf16le("\ufeffid\n1\n")),
    rows: [{ id: 1 }],
  },
  {
    name: "Excel for Macintosh: lines end in CR",
    body: 'id,name\r1,Ann\r2,"B\rob"\r',
    rows: [ann, { ...bob, name: "B\rob" }],
  },
  {
    name: "sqlite3 -header -csv",
    body: "id,name,active,joined,born\r\n" +
      '1,"Ann ""A""",1,"2024-01-02 03:04:05",2000-02-29\r\n2,Bob,0,,\r\n',
    rows: [{
      ...{ id: 1, name: 'Ann "A"', active: true, born: "2000-02-29" },
      joined: "2024-01-02T03:04:05.000Z",
    }, { ...bob, active: false }],
  },
  {
    name: "psql \\copy with csv header",
    body: 'id,name,active,joined,note\n1,Ann,t,2024-01-02 03:04:05.123+00,""\n' +
      '2,Bob,f,2024-01-02 03:04:05.123456+05:30,"NULL"\n',
    rows: [
      { ...ann, active: true, joined: "2024-01-02T03:04:05.123Z", note: "" },
      { ...bob, active: false, joined: "2024-01-01T21:34:05.123456Z", note: "NULL" },
    ],
  },
  {
    name: "psql COPY in text format with header",
    body: "id\tname\tage\tnote\n1\tAnn\t\\N\tx\n2\tBob\t3\t\\N\n",
    options: ["delimiter=tab", "null=\\N"],
    rows: [{ ...ann, note: "x" }, { ...bob, age: 3 }],
  },
  {
    name: "MySQL INTO OUTFILE",
    body: '"id","name","note"\n"1","Ann",\\N\n"2","Bob","\\N"\n',
    options: ["null=\\N"],
    rows: [ann, { ...bob, note: "\\N" }],
  },
  {
    name: "MySQL Workbench: NULL in columns of strings",
    body: "id,name,note\n1,Ann,NULL\n2,Bob,null\n",
    options: ["null=NULL"],
    rows: [ann, { ...bob, note: "null" }],
  },
  {
    name: "pandas to_csv with its index",
    body: ",id,name,age,active,ratio,joined\n0,1,Ann,36.0,True,1e-05,2024-01-02 03:04:05+00:00\n" +
      "1,2,Bob,,False,2.5,\n",
    options: ["ignoreExtra=true"],
    rows: [
      { ...ann, age: 36, active: true, ratio: 1e-5, joined: "2024-01-02T03:04:05.000Z" },
      { ...bob, active: false, ratio: 2.5 },
    ],
  },
  {
    name: "R write.csv with row names and NA",
    body: '"","id","name","age"\n"1",1,"Ann",NA\n"2",2,"NA",5\n',
    options: ["ignoreExtra=true", "null=NA"],
    rows: [ann, { id: 2, name: "NA", age: 5 }],
  },
  {
    name: "R write.csv2 without row names",
    body: '"id";"name";"balance"\n1;"Ann";12,5\n',
    options: ["delimiter=;"],
    refused: /line 2: balance is "12,5": write a number with digits and a decimal point only/,
  },
  {
    name: "Google Sheets: names in upper case, empty columns at the end",
    body: "ID,Name,Active,,\r\n1,Ann,TRUE,,\r\n2,Bob,FALSE,,",
    options: ["map=ID=id,Name=name,Active=active"],
    rows: [{ ...ann, active: true }, { ...bob, active: false }],
  },
  {
    name: "Google Sheets: a value below an empty name",
    body: "id,name,\r\n1,Ann,\r\n2,Bob,left\r\n",
    options: ["ignoreExtra=true"],
    rows: [ann, bob],
  },
  {
    name: "LibreOffice with windows-1252",
    body: latin1("id,name\n1,Andr\xe9\n2,Bob \x80\n"),
    options: ["encoding=windows-1252"],
    rows: [{ id: 1, name: "André" }, { id: 2, name: "Bob €" }],
  },
  {
    name: "Airtable: a mark, its own names, and links",
    body: '\ufeffId,Name,Notes,Attachments\n1,Ann,"a,b",https://x.example/1\n',
    options: ["map=Id=id,Name=name,Notes=note", "ignoreExtra=true"],
    rows: [{ ...ann, note: "a,b" }],
  },
  {
    name: "Salesforce: all fields in quotes",
    body: '"ID","NAME","JOINED","IsDeleted"\n"1","Ann","2024-01-02T03:04:05.000+0000","false"\n',
    options: ["map=ID=id,NAME=name,JOINED=joined", "ignoreExtra=true"],
    rows: [{ ...ann, joined: "2024-01-02T03:04:05.000Z" }],
  },
  {
    name: "phpMyAdmin: semicolons and quotes, with a comma in a name of the file",
    body: '"id";"Name, full";"active"\n"1";"Ann";"1"\n',
    options: ["delimiter=;", "ignoreExtra=true"],
    rows: [{ id: 1, active: true }],
  },
  {
    name: "a line sep=",
    body: 'sep=;\r\nid;name;active\r\n1;"A;nn";yes\r\n2;Bob;No\r\n',
    rows: [{ id: 1, name: "A;nn", active: true }, { ...bob, active: false }],
  },
  {
    name: "a line sep= for tabs, after a mark",
    body: "\ufeffsep=\t\nid\tname\n1\tAnn\n",
    rows: [ann],
  },
  {
    name: "semicolons, with names in upper case and a space",
    body: "ID; Name;AGE\n1;Ann;3\n",
    options: ["delimiter=;", "map=ID=id, Name=name,AGE=age"],
    rows: [{ ...ann, age: 3 }],
  },
  { name: "pipes", body: "id|name\n1|Ann\n", options: ["delimiter=|"], rows: [ann] },
  {
    name: "names with spaces around",
    body: "id, name\n1,Ann\n",
    options: ["map= name=name"],
    rows: [ann],
  },
  { name: "empty lines", body: "\n\nid,name\n\n1,Ann\n\n\n2,Bob\n\n", rows: [ann, bob] },
  {
    name: "quoted line ends and quotes",
    body: 'id,name\n1,"Ann\n""A"",\r\nx"\n2,Bob',
    rows: [{ id: 1, name: 'Ann\n"A",\r\nx' }, bob],
  },
  {
    name: "timestamps in ISO forms",
    body:
      "id,joined\n1,2024-01-02\n2,2024-01-02 03:04\n3,2024-01-02 03:04:05 UTC\n4,1704164645000\n",
    options: ["timestamps=ms"],
    rows: [
      { id: 1, joined: "2024-01-02T00:00:00.000Z" },
      { id: 2, joined: "2024-01-02T03:04:00.000Z" },
      { id: 3, joined: "2024-01-02T03:04:05.000Z" },
      { id: 4, joined: "2024-01-02T03:04:05.000Z" },
    ],
  },
  {
    name: "Python csv.QUOTE_ALL: columns without strings have no empty value",
    body: '"id","name","age","balance","ratio","active","joined","born"\n' +
      '"1","","","","","","",""\n"2","Bob","007","+12.5",".5","1","",""\n',
    rows: [
      { id: 1, name: "" },
      { ...bob, age: 7, balance: "12.50", ratio: 0.5, active: true },
    ],
  },
  {
    name: "numbers with signs and zeros",
    body: "id,age,balance,ratio\n+1,-03,-.5,+1e3\n02,0,000,-0.25\n",
    rows: [
      { id: 1, age: -3, balance: "-0.50", ratio: 1000 },
      { id: 2, age: 0, balance: "0.00", ratio: -0.25 },
    ],
  },
  { name: "no number", body: "id,ratio\n1,+-5\n", refused: /ratio must be a number/ },
  {
    name: "Excel: rows without values below the last row",
    body: ",,\r\nid,name,age\r\n1,Ann,\r\n,,\r\n2,Bob,\r\n,,\r\n,,",
    rows: [ann, bob],
  },
  {
    name: "tabs, with quotes in a field",
    body: 'id\tname\tnote\n1\tAnn\t5" pipe\n',
    options: ["delimiter=tab"],
    rows: [{ ...ann, note: '5" pipe' }],
  },
  {
    name: "UTF-32",
    body: Uint8Array.of(0xff, 0xfe, 0, 0, 0x69, 0, 0, 0),
    refused: /line 1: is UTF-32: save the file as UTF-8/,
  },
  {
    name: "the charset of the request",
    type: "text/csv; charset=iso-8859-1",
    body: latin1("id,name\n1,Andr\xe9\n"),
    rows: [{ id: 1, name: "André" }],
  },
  {
    name: "serial numbers of a spreadsheet",
    body: "id,joined,born\n1,45293.5,45293\n2,25569,\n",
    options: ["timestamps=excel"],
    rows: [
      { id: 1, joined: "2024-01-02T12:00:00.000Z", born: "2024-01-02" },
      { id: 2, joined: "1970-01-01T00:00:00.000Z" },
    ],
  },
  {
    name: "seconds since 1970",
    body: "id,joined,born\n1,1704164645,2024-01-02\n",
    options: ["timestamps=s"],
    rows: [{ id: 1, joined: "2024-01-02T03:04:05.000Z", born: "2024-01-02" }],
  },
  {
    name: "a number beyond all timestamps",
    body: "id,joined\n1,999999999999999\n",
    options: ["timestamps=ms"],
    refused: /joined must be a timestamp in the years 1 to 9999/,
  },
  { name: "names twice", body: "id,name,name\n1,a,b\n", refused: /line 1: name occurs twice/ },
  { name: "short rows", body: "id,name,age\n1,Ann,3\n2\n", refused: /line 3: has 1 fields, and/ },
  {
    name: "long rows",
    body: "id,name\n1,Ann\n2,Bob,x,y\n",
    options: ["ignoreExtra=true"],
    rows: [ann, bob],
  },
  {
    name: "comment lines",
    body: "# made today\nid,name\n1,Ann\n",
    refused: /has no name of a field/,
  },
  { name: "no header", body: "1,Ann\n2,Bob\n", refused: /line 1: has no name of a field/ },
  {
    name: "thousands separators",
    body: 'id,balance\n1,"1,234.50"\n',
    refused:
      /balance is "1,234.50": write a number .* without a decimal comma, thousands separators/,
  },
  { name: "percent", body: "id,ratio\n1,12%\n", refused: /ratio is "12%": write a number/ },
  { name: "currency", body: "id,balance\n1,€ 12\n", refused: /balance is "€ 12": write a number/ },
  {
    name: "dates in the order of a country",
    body: "id,born\n1,31/12/2024\n",
    refused:
      /born is "31\/12\/2024", whose order of day and month is not certain: write YYYY-MM-DD/,
  },
  {
    name: "timestamps in the order of a country",
    body: "id,joined\n1,1/2/2024 3:04pm\n",
    refused: /joined is "1\/2\/2024 3:04pm", whose order of day and month is not certain/,
  },
  { name: "Excel in German", body: "id,active\n1,WAHR\n", refused: /active must be true or false/ },
];

testOnEngines(
  "files of spreadsheets and databases are imported, or refused with the option that takes them",
  (engine) =>
    withService(engine, [people], () => ({
      resources: [
        resource(people, {
          id: people.id,
          auth: { public: { read: true }, create: () => all(), delete: () => all() },
          capabilities: { enableImport: true },
        }),
      ],
    }), async ({ app, get, db }) => {
      const columns = ["id", "name", "age", "balance", "ratio", "active", "joined", "born", "note"];
      for (const { name, body, type = "text/csv", options = [], rows, refused } of files) {
        const post = async (query: string) => {
          const headers = { [userHeader]: "ada", "content-type": type };
          const url = `http://test/api/people/import?${query}`;
          const response = await app.fetch(
            new Request(url, { method: "POST", body: body as BodyInit, headers }),
          );
          return { status: response.status, body: await response.json() };
        };
        const given = new Map<string, string>();
        const query = () => new URLSearchParams([...given]).toString();
        for (const expected of options) {
          const { status, body: { detail, details } } = await post(query());
          const [error] = details?.errors ?? [];
          assertEquals(status, 422, `${name}: ${expected}`);
          assertEquals(`${error.option?.name}=${error.option?.value}`, expected, name);
          const advice = `Pass ${error.option.name}=${encodeURIComponent(error.option.value)}`;
          assert(detail.endsWith(advice), detail);
          assertEquals((await get("/api/people/count")).body.count, 0, name);
          given.set(error.option.name, error.option.value);
        }
        const last = await post(query());
        if (refused !== undefined) {
          assertMatch(last.body.detail, refused, name);
          assertEquals(last.body.details.errors[0].option, undefined, name);
          assertEquals((await get("/api/people/count")).body.count, 0, name);
          continue;
        }
        assertEquals(
          [last.status, last.body],
          [200, { rows: rows?.length, written: rows?.length }],
          name,
        );
        const nulls = Object.fromEntries(columns.map((column) => [column, null]));
        const stored = (await get("/api/people?orderBy=id")).body.items;
        assertEquals(stored, rows?.map((row) => ({ ...nulls, ...row })), name);
        await db.query({ text: "DELETE FROM people", values: [] });
      }
    }),
);

testOnEngines(
  "the options map and ignoreExtra rename and omit fields of NDJSON",
  (engine) =>
    withService(engine, [people], () => ({
      resources: [
        resource(people, {
          id: people.id,
          auth: { public: { read: true }, create: () => all() },
          capabilities: { enableImport: true },
          strictInput: true,
        }),
      ],
    }), async ({ app, get }) => {
      const lines = ['{"Id":1,"Full name":"Ann","extra":1}', '{"Id":2}'].join("\n");
      const post = async (query: string, body = lines) => {
        const headers = { [userHeader]: "ada", "content-type": "application/x-ndjson" };
        const url = `http://test/api/people/import?${query}`;
        const response = await app.fetch(new Request(url, { method: "POST", body, headers }));
        return { status: response.status, body: await response.json() };
      };
      const map = "map=Id=id,Full%20name=name";
      const extra = await post(map);
      assertEquals(extra.status, 422);
      // Only CSV suggested the option.
      assertMatch(extra.body.detail, /line 1: extra is not a field.* Pass ignoreExtra=true/);
      const twice = await post(`${map}&ignoreExtra=true`, '{"Id":1,"id":2}');
      assertMatch(twice.body.detail, /line 1: id occurs twice/);
      const numbers = await post("timestamps=ms");
      assertMatch(numbers.body.detail, /"timestamps": it is only for CSV/);
      assertEquals((await post(`${map}&ignoreExtra=true`)).body, { rows: 2, written: 2 });
      const { items } = (await get("/api/people?select=id,name&orderBy=id")).body;
      assertEquals(items, [{ id: 1, name: "Ann" }, { id: 2, name: null }]);
      const unknown = await post("timestamps=days");
      assertEquals(unknown.status, 400);
    }),
);

Deno.test("seconds and milliseconds since 1970 lost their microseconds", () => {
  const columns = tableInfoOf(people).columns.filter(({ name }) =>
    ["joined", "born"].includes(name)
  );
  for (
    const [text, unit, expected] of [
      ["1704164645.123456", "s", "2024-01-02T03:04:05.123456Z"],
      ["-0.5", "s", "1969-12-31T23:59:59.500000Z"],
      ["-1704164645123.25", "ms", "1915-12-31T20:55:54.876750Z"],
      ["253402300799.999999", "s", "9999-12-31T23:59:59.999999Z"],
    ] as const
  ) {
    const [at, on] = columns.map((column) =>
      csvValue(text, column, { levels: 1, names: 1, digits: 9 }, unit)
    );
    assertEquals([at, on], [expected, expected.slice(0, 10)]);
  }
});
