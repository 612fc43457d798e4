import fc from "fast-check";
import { hasDanglingEscape } from "../../src/filter/operators/like_pattern.ts";
import type { Operator } from "../../src/filter/operators/operator.ts";
import { builtInOperators, listOperators } from "../../src/filter/operators/operator_registry.ts";
import type {
  ComparisonSyntax,
  FilterSyntax,
  Literal,
} from "../../src/filter/syntax/filter_syntax.ts";
import type { ColumnInfo } from "../../src/schema/table_info.ts";
import { edgeValues, nastyTexts } from "./filter_worlds.ts";

/** Filters over some columns, with every operator and every kind of argument. */
export function randomFilters(columns: readonly ColumnInfo[]): fc.Arbitrary<FilterSyntax> {
  const comparison = randomComparisons(columns);
  const { tree } = fc.letrec<{ tree: FilterSyntax }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 2, withCrossShrink: true },
      comparison,
      fc.record({
        kind: fc.constantFrom("and" as const, "or" as const),
        terms: fc.array(tie("tree"), { minLength: 2, maxLength: 3 }),
      }),
    ),
  }));
  return tree;
}

function randomComparisons(columns: readonly ColumnInfo[]): fc.Arbitrary<ComparisonSyntax> {
  return fc.constantFrom(
    ...columns.flatMap((column) =>
      builtInOperators.filter((operator) => !listOperators.includes(operator))
        .filter((operator) => operator.accepts(column))
        .map((operator) => [column, operator] as const)
    ),
  ).chain(([column, operator]) =>
    fc.constantFrom(...operator.symbols).chain((symbol) =>
      literals(column, operator).map((values) => ({
        kind: "compare" as const,
        field: column.name,
        fieldAt: 0,
        operator: symbol,
        operatorAt: 0,
        list: operator.takes === "list" || operator.takes === "pair",
        valuesAt: 0,
        values,
      }))
    )
  );
}

/** What stands between values: pieces of nasty texts, with wildcards, in another case. */
const textArgument = fc.oneof(
  fc.constantFrom(...nastyTexts),
  fc.array(fc.constantFrom(..."aA%_\\éÉσΣς👍iİ*[?kK", "\u212a", "e\u0301"), { maxLength: 5 })
    .map((parts) => parts.join("")),
  // A control character can be stored, but no filter's text may hold it.
  // deno-lint-ignore no-control-regex -- that is what is looked for
).filter((text) => !/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text));

function literals(column: ColumnInfo, { takes }: Operator): fc.Arbitrary<Literal[]> {
  const typed = column.kind === "text"
    ? textArgument.map(quoted)
    : fc.constantFrom(...edgeValues[column.kind]).map((value) =>
      quoted(Object.is(value, -0) ? "-0" : String(value))
    );
  switch (takes) {
    case "value":
    case "item":
      return fc.tuple(typed);
    case "list":
    case "items":
    case "texts":
      return fc.array(typed, { minLength: 1, maxLength: 4 });
    case "pair":
      return fc.tuple(typed, typed);
    case "text":
    case "query":
      return fc.tuple(textArgument.map(quoted));
    case "pattern":
      return fc.tuple(textArgument.filter((text) => !hasDanglingEscape(text)).map(quoted));
    case "flag":
      return fc.tuple(fc.constantFrom("true", "false").map(bare));
    case "count":
      return fc.tuple(fc.nat({ max: 4 }).map((count) => bare(String(count))));
  }
}

function quoted(text: string): Literal {
  return { text, quoted: true, at: 0 };
}

function bare(text: string): Literal {
  return { text, quoted: false, at: 0 };
}
