/**
 * What it takes to decide in memory whether a changed row passes a filter: one filter, and the ten
 * thousand of as many subscribers, tried one by one and found by their equality terms.
 *
 *     deno run -A bench/match_bench.ts
 */
import { createCertifiedComparisons } from "../src/filter/match/certified_comparisons.ts";
import {
  createInMemoryMatcher,
  type InMemoryMatcher,
} from "../src/filter/match/in_memory_matcher.ts";
import { equalityTerms } from "../src/filter/match/equality_terms.ts";
import { canonicalFilterText } from "../src/filter/canonical_filter.ts";
import { rowMatches } from "../src/filter/match/row_matches.ts";
import { createOperatorRegistry } from "../src/filter/operators/operator_registry.ts";
import { parseFilter } from "../src/filter/syntax/parse_filter.ts";
import { resolveFilter } from "../src/filter/resolve_filter.ts";
import { integer, text, timestamp } from "../src/schema/column_builder.ts";
import { table } from "../src/schema/table.ts";
import { tableInfoOf } from "../src/schema/table_like.ts";
import { canonicalValueText } from "../src/schema/exact_json.ts";
import { sqliteDialect } from "../src/engines/sqlite/sql/dialect.ts";
import { sqliteText } from "../src/engines/sqlite/sql/text_operators.ts";

const notes = tableInfoOf(table("notes", {
  id: integer().primaryKey(),
  ownerId: integer(),
  status: text(),
  title: text(),
  createdAt: timestamp(),
}));
const image = {
  row: {
    id: 1,
    ownerId: 5_000,
    status: "open",
    title: "Buy milk",
    createdAt: "2026-01-31T12:00:00.000Z",
  },
};
const certification = createCertifiedComparisons(sqliteDialect({ text: sqliteText }));
const filterOf = (filter: string) =>
  resolveFilter(parseFilter(filter)!, {
    table: notes,
    operators: createOperatorRegistry({}),
    mayFilter: () => true,
  });

for (
  const text of [
    "ownerId==5000",
    "ownerId==5000;status=in=(open,waiting)",
    "title=icontains=MILK",
    "createdAt>=2026-01-01;ownerId=in=(1,2,5000);title%=Buy%",
  ]
) {
  const filter = filterOf(text);
  const decide = createInMemoryMatcher(filter, certification);
  report(`decide ${text}`, 200_000, () => decide(image));
  report(`match  ${text}`, 200_000, () => rowMatches(filter, image.row));
  report(`key of ${text}`, 20_000, () => canonicalFilterText(filter));
}

const filters = Array.from(
  { length: 10_000 },
  (_, owner) => filterOf(`ownerId==${owner};status==open`),
);
const all = filters.map((filter) => createInMemoryMatcher(filter, certification));
report("10,000 filters one by one", 200, () => all.filter((decide) => decide(image)).length);

const index = new Map<string, InMemoryMatcher[]>();
filters.forEach((filter, at) => {
  for (const { column, value } of equalityTerms(filter, certification.isCertain) ?? []) {
    const id = `${column.name} ${canonicalValueText(value, column)}`;
    index.set(id, [...index.get(id) ?? [], all[at]!]);
  }
});
report("10,000 filters by their terms", 200_000, () => {
  const found = ["ownerId", "status"].flatMap((name) => {
    const column = notes.byName.get(name)!;
    return index.get(`${name} ${canonicalValueText(image.row[name as "ownerId"], column)}`) ?? [];
  });
  return found.filter((decide) => decide(image)).length;
});

/** Prints the median of seven rounds. */
function report(name: string, calls: number, work: () => unknown): void {
  const rounds = Array.from({ length: 9 }, () => {
    const started = performance.now();
    for (let call = 0; call < calls; call++) work();
    return (performance.now() - started) * 1e3 / calls;
  }).slice(2).sort((left, right) => left - right);
  console.log(`${name.padEnd(66)} ${rounds[3]!.toFixed(3).padStart(9)} µs`);
}
