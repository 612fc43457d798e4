/**
 * Compares the filter language with the parsers of npm, and measures the later use of a filter.
 * Rounds alternate, so that other work affects all parsers equally. The figures are medians.
 *
 * deno run -A bench/rsql_bench.ts
 */
import rsqlParser from "npm:@rsql/parser@1.6.0";
import tsRsql from "npm:ts-rsql@1.0.0";
import { compileFilter } from "../src/compile/where.ts";
import { rowMatches } from "../src/filter/match/row_matches.ts";
import { createOperatorRegistry } from "../src/filter/operators/operator_registry.ts";
import { createCachingFilterParser } from "../src/filter/syntax/caching_filter_parser.ts";
import { parseFilter } from "../src/filter/syntax/parse_filter.ts";
import { resolveFilter } from "../src/filter/resolve_filter.ts";
import { integer, real, text } from "../src/schema/column_builder.ts";
import { table } from "../src/schema/table.ts";
import { tableInfoOf } from "../src/schema/table_like.ts";
import { sqliteDialect } from "../src/engines/sqlite/sql/dialect.ts";
import { sqliteText } from "../src/engines/sqlite/sql/text_operators.ts";
import { median } from "./figures.ts";

const expressions = [
  'genre=in=("sci-fi",action);year>=2000;director=="Ch. Nolan"',
  '(genre=in=("sci-fi",action,drama);year>=2000),(director=="Christopher Nolan";rating>8.5;year<999)',
];

const films = tableInfoOf(table("films", {
  id: integer().primaryKey(),
  genre: text(),
  year: integer(),
  director: text(),
  rating: real(),
}));
const row = { id: 1, genre: "action", year: 2010, director: "Ch. Nolan", rating: 8.8 };
const context = { table: films, operators: createOperatorRegistry({}), mayFilter: () => true };
const dialect = sqliteDialect({ text: sqliteText });
const remembering = createCachingFilterParser();

for (const expression of expressions) {
  const syntax = parseFilter(expression)!;
  const filter = resolveFilter(syntax, context);
  const medians = measure({
    "ours": () => parseFilter(expression),
    "npm:@rsql/parser": () => rsqlParser.parse(expression),
    "npm:ts-rsql": () => tsRsql.parseRsql(expression),
    "ours, remembered": () => remembering.parse(expression),
    "resolve and compile": () => compileFilter(resolveFilter(syntax, context), dialect),
    "match one row": () => rowMatches(filter, row),
  });
  console.log(`\n${expression.length} characters: ${expression}`);
  for (const [name, ns] of medians) console.log(`${name.padEnd(20)} ${format(ns)}`);
  const ours = medians.get("ours")!;
  for (const other of ["npm:@rsql/parser", "npm:ts-rsql"]) {
    console.log(`${other} / ours: ${(medians.get(other)! / ours).toFixed(1)}`);
  }
}

/** Returns nanoseconds per call: the median over alternating rounds. */
function measure(works: Readonly<Record<string, () => unknown>>): Map<string, number> {
  const rounds = 15;
  const samples = new Map(Object.keys(works).map((name) => [name, [] as number[]]));
  for (let round = -3; round < rounds; round++) {
    for (const [name, work] of Object.entries(works)) {
      const calls = 5_000;
      const started = performance.now();
      for (let i = 0; i < calls; i++) work();
      const ns = (performance.now() - started) * 1e6 / calls;
      // The first rounds only warm up the compiler.
      if (round >= 0) samples.get(name)!.push(ns);
    }
  }
  return new Map([...samples].map(([name, times]) => [name, median(times)]));
}

function format(ns: number): string {
  return ns < 1000 ? `${ns.toFixed(0)} ns` : `${(ns / 1000).toFixed(2)} µs`;
}
