import type { FilterContext } from "./resolve_filter.ts";
import { type ComparisonSyntax, type FilterSyntax, termsOfSyntax } from "./syntax/filter_syntax.ts";

/** Warns of filters like `members.userId==7;members.role==admin`: two rows can match the terms. */
export function separateRows(syntax: FilterSyntax, context: FilterContext): string | null {
  if (syntax.kind === "and") {
    const found = new Map<string, ComparedPath>();
    for (const term of syntax.terms) {
      const compared = term.kind === "compare" ? pathToMany(term, context) : null;
      if (compared === null) continue;
      const { prefix, column } = compared;
      const before = found.get(prefix);
      if (before !== undefined && before.column !== column) return described(before, compared);
      found.set(prefix, compared);
    }
  }
  if ("path" in syntax && "term" in syntax) {
    const target = syntax.path.reduce<FilterContext | null>(
      (here, name) => here?.follow?.(name)?.target ?? null,
      context,
    );
    return target === null ? null : separateRows(syntax.term, target);
  }
  for (const term of termsOfSyntax(syntax)) {
    const inner = separateRows(term, context);
    if (inner !== null) return inner;
  }
  return null;
}

interface ComparedPath {
  readonly prefix: string;
  readonly column: string;
  readonly operator: string;
}

function pathToMany(
  { field, path = field.split("."), operator }: ComparisonSyntax,
  context: FilterContext,
): ComparedPath | null {
  let here = context;
  let isToMany = false;
  for (const [index, name] of path.entries()) {
    const next = here.follow?.(name) ?? null;
    if (next === null) {
      if (!isToMany) return null;
      return {
        prefix: path.slice(0, index).join("."),
        column: path.slice(index).join("."),
        operator,
      };
    }
    isToMany ||= next.relation.toMany;
    here = next.target;
  }
  return null;
}

function described(first: ComparedPath, second: ComparedPath): string {
  const { prefix } = first;
  const group = [first, second].map(({ column, operator }) => `${column}${operator}…`).join(";");
  return `compares ${prefix}.${first.column} and ${prefix}.${second.column} of different rows of ` +
    `${prefix}; where one row must pass both, write ${prefix}.some(${group})`;
}
