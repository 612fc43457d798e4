import { compileFilter } from "../../compile/where.ts";
import { allRows } from "../../filter/filter.ts";
import type { Dialect } from "../../sql/dialect.ts";
import {
  type Fragment,
  quoteIdentifier,
  rawSql,
  sql,
  type SqlValue,
  type Statement,
  tableName,
  toStatement,
} from "../../sql/fragment.ts";
import type { QueryResult } from "../driver.ts";
import { bindAtPlace, bindForColumn } from "./bind_value.ts";
import { columnsInSql } from "./columns_in_sql.ts";
import { resultItems, rowReader } from "./result_columns.ts";
import { type FlatTemplate, requireOneStatement, type SqlPart } from "./sql_parts.ts";
import { type ValuePlace, valuePlaces } from "./value_places.ts";

/** A parsed template without its values. It is parsed once, and each run binds other values. */
export interface SqlPlan {
  readonly shape: readonly unknown[];
  /** The SQL, with names of tables and columns, before, between and after the `rendered` parts. */
  readonly texts: readonly string[];
  /** The parts that each run renders again: their index, and their place in the statement. */
  readonly rendered: readonly { readonly index: number; readonly place: ValuePlace | null }[];
  /** The SQL of the previous run, with placeholders. Most runs need exactly this SQL again. */
  last: { readonly fragments: readonly (readonly string[])[]; readonly text: string } | null;
  toObjects(result: QueryResult, dialect: Dialect): Record<string, unknown>[];
}

/** The maximum number of plans of a template: one for each combination of columns and filters. */
const maxPlansOfText = 16;
/** The maximum number of placeholders, which is the limit of SQLite, the lowest of all engines. */
const maxValues = 32_766;

/** Caches parsed templates until the code that contains the template is garbage collected. */
export class SqlPlans {
  readonly #byText = new WeakMap<readonly string[], SqlPlan[]>();

  planOf(text: readonly string[], shape: readonly unknown[], flatten: () => FlatTemplate): SqlPlan {
    const known = this.#byText.get(text) ?? [];
    for (const plan of known) {
      if (isEqual(plan.shape, shape)) return plan;
    }
    const plan = readPlan(shape, withoutValues(flatten()));
    this.#byText.set(text, [plan, ...known.slice(0, maxPlansOfText - 1)]);
    return plan;
  }
}

/** Removes the values, because the plan is kept after the run for which it was created. */
function withoutValues({ texts, tokens, parts }: FlatTemplate): FlatTemplate {
  const kept = parts.map((part): SqlPart => {
    switch (part.kind) {
      case "value":
        return { kind: "value", value: part.value instanceof Date ? new Date(0) : null };
      case "valueOf":
        return { kind: "valueOf", column: part.column, value: null };
      case "filter":
        return { kind: "filter", filter: allRows };
      case "fragment":
        return { kind: "fragment", fragment: rawSql("") };
      default:
        return part;
    }
  });
  return { texts, tokens, parts: kept };
}

function isEqual(left: readonly unknown[], right: readonly unknown[]): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) {
    if (left[index] !== right[index]) return false;
  }
  return true;
}

function readPlan(shape: readonly unknown[], template: FlatTemplate): SqlPlan {
  requireOneStatement(template.tokens);
  const columns = columnsInSql(template);
  const places = valuePlaces(template, columns);
  const toObjects = rowReader(resultItems(template, columns));
  const texts = [template.texts[0] ?? ""];
  const rendered: { index: number; place: ValuePlace | null }[] = [];
  template.parts.forEach((part, index) => {
    const name = nameOf(part);
    if (name === null) {
      rendered.push({ index, place: places.get(index) ?? null });
      texts.push("");
    } else texts[texts.length - 1] += name;
    texts[texts.length - 1] += template.texts[index + 1] ?? "";
  });
  return { shape, texts, rendered, last: null, toObjects };
}

function nameOf(part: SqlPart): string | null {
  if (part.kind === "column" || part.kind === "alias") return quoteIdentifier(part.column.dbName);
  return part.kind === "table" ? tableName(part.table).texts.join("") : null;
}

export function statementOf(plan: SqlPlan, parts: readonly SqlPart[], dialect: Dialect): Statement {
  const fragments: Fragment[] = [];
  const values: SqlValue[] = [];
  for (const { index, place } of plan.rendered) {
    const fragment = render(parts[index], place, dialect);
    fragments.push(fragment);
    for (const value of fragment.values) values.push(value);
  }
  if (values.length > maxValues) {
    throw new Error(
      `Cannot bind ${values.length} values in one statement: SQLite takes ${maxValues}`,
    );
  }
  const { last } = plan;
  if (last !== null && fragments.every(({ texts }, i) => isEqual(texts, last.fragments[i] ?? []))) {
    return { text: last.text, values, describe: true };
  }
  const { text } = toStatement(sql(plan.texts, ...fragments), dialect.placeholder);
  plan.last = { fragments: fragments.map(({ texts }) => texts), text };
  return { text, values, describe: true };
}

function render(part: SqlPart | undefined, place: ValuePlace | null, dialect: Dialect): Fragment {
  switch (part?.kind) {
    case "filter":
      return compileFilter(part.filter, dialect);
    case "fragment":
      return part.fragment;
    case "valueOf":
      return bindForColumn(part.value, part.column, dialect);
    case "value":
      if (place !== null) return bindAtPlace(part.value, place, dialect);
  }
  throw new Error("Cannot render a template by the plan of another");
}
