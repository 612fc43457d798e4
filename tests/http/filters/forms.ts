import { all, none } from "../../../mod.ts";
import type { Rule } from "../../../exports/filter.ts";
import { parseFilter } from "../../../src/filter/syntax/parse_filter.ts";
import { printFilter } from "../../../src/filter/syntax/print_filter.ts";
import { printSyntax } from "../../filter/print_syntax.ts";
import { type Case, engineOf, failure, type Outcome, type Stand } from "./cases.ts";
import { type Dice, diceOf } from "./dice.ts";
import { draft } from "../../../src/filter/rule.ts";
import { rsqlOf, ruleOf } from "./filter_rule.ts";
import { textOf } from "./filter_text.ts";
import { includedBySql, inclusionOf, passing } from "./found.ts";
import { model, type TableName } from "./model.ts";
import type { Row } from "./rows.ts";
import { rightOf, tableOf } from "./tables.ts";
import { mayWrite, written } from "./writes.ts";

/** The outcome where the contract leaves the decision to more than the filter. */
export const undecided = "written or forbidden";

/** What the oracle finds, and of how many rows. */
export async function expected(
  stand: Stand,
  case_: Case,
): Promise<{ readonly outcome: Outcome; readonly rows: number; readonly found: number }> {
  const { form } = case_;
  if (form === "create" || form === "update") {
    const isAllowed = await mayWrite(stand, case_);
    const outcome = isAllowed === null ? undecided : isAllowed ? "written" : "forbidden";
    return { outcome, rows: 1, found: isAllowed === true ? 1 : 0 };
  }
  if (form === "include") return await includedBySql(stand, case_);
  const { keys, rows } = await passing(stand.db.driver, engineOf(stand.db), case_);
  const isCounted = form === "count" || form === "aggregate";
  const outcome = isCounted ? String(keys.length) : JSON.stringify(keys);
  return { outcome, rows, found: keys.length };
}

/** What the service answers. */
export async function answered(stand: Stand, case_: Case): Promise<Outcome> {
  const { form, table, tree, reader, scope, seed } = case_;
  const dice = diceOf(seed);
  if (form === "filter in code") return await listedByCode(stand, case_, dice);
  if (form === "include") return await included(stand, case_, dice);
  if (form === "statement") return await selected(stand, case_, dice);
  const user = reader === "" ? `user ${seed}` : reader;
  const access = form === "create" || form === "update" ? form : "read";
  const given = scope ?? (reader === "" ? { table, tree } : null);
  if (given !== null) {
    const rule = ruleOf(given.tree, given.table, dice);
    const stated = form === "printed filter" ? printed(rule) : rule;
    stand.scopes.set(user, { table: given.table, access, rule: stated });
  }
  try {
    if (access !== "read") return await written(stand, case_, user);
    let filter = given?.tree === tree ? "" : textOf(tree, dice);
    const parsed = form === "printed text" ? parseFilter(filter) : null;
    if (parsed !== null) filter = printSyntax(parsed);
    const { key } = model[table];
    const path = form === "count"
      ? "/count?"
      : form === "aggregate"
      ? "/aggregate?count=true&"
      : `?limit=50&select=${key.join(",")}&`;
    const answer = await stand.get(
      `/api/${table}${path}filter=${encodeURIComponent(filter)}`,
      { "x-user": user },
    );
    const isCounted = form === "count" || form === "aggregate";
    // Without any row of a scope, nothing may be read at all.
    if (answer.status === 403 && mayBeForbidden(case_)) return isCounted ? "0" : "[]";
    if (answer.status !== 200) return failure(stand, answer, filter);
    if (form === "count") return String(answer.body.count);
    if (form === "aggregate") return String(answer.body.groups[0].count);
    return keysOf(table, answer.body.items);
  } finally {
    stand.scopes.delete(user);
  }
}

/** The rule again, as the text of the filter that it means. */
function printed(rule: Rule): Rule {
  return draft((context, resolve) => {
    const text = printFilter(resolve(rule, context));
    return text === "none" ? none() : text === "" ? all() : resolve(rsqlOf([text]), context);
  });
}

function mayBeForbidden({ reader, table, scope }: Case): boolean {
  if (reader === "") return scope === null || scope.table === table;
  return rightOf(reader, table).sql("a") === "1 = 0";
}

function keysOf(table: TableName, items: readonly Row[]): string {
  return JSON.stringify(items.map((row) => model[table].key.map((name) => row[name])).sort());
}

async function listedByCode(
  { app }: Stand,
  case_: Case,
  dice: Dice,
): Promise<Outcome> {
  const { table, tree, reader } = case_;
  // The names of the resources are known only when it runs.
  const api = app.as({ id: reader }) as unknown as Record<TableName, {
    list(options: object): Promise<{ readonly items: readonly Row[] }>;
  }>;
  try {
    const filter = ruleOf(tree, table, dice);
    const { items } = await api[table].list({ filter, select: model[table].key, limit: 50 });
    return keysOf(table, items);
  } catch (error) {
    const isForbidden = error instanceof Error && "status" in error && error.status === 403;
    return isForbidden && mayBeForbidden(case_) ? "[]" : String(error);
  }
}

async function included(stand: Stand, case_: Case, dice: Dice): Promise<Outcome> {
  const { table, tree, reader, seed } = case_;
  const { from, name } = inclusionOf(table, seed)!;
  const [own, select] = [model[from].key, model[table].key];
  const filter = textOf(tree, dice);
  const include = `${name}(select:${select.join(",")};filter:${filter};limit:50)`;
  const path = `/api/${from}?limit=50&select=${own.join(",")}&include=`;
  const answer = await stand.get(path + encodeURIComponent(include), { "x-user": reader });
  if (answer.status === 403 && rightOf(reader, from).sql("a") === "1 = 0") return "[]";
  if (answer.status !== 200) return failure(stand, answer, include);
  const items: readonly (Row & Record<string, readonly Row[]>)[] = answer.body.items;
  const keys = items.flatMap((row) =>
    row[name]!.map((other) => [...own.map((key) => row[key]), ...select.map((key) => other[key])])
  );
  return JSON.stringify(keys.sort());
}

/** By a statement of the deployer's code, which takes filters of the builders. */
async function selected({ db }: Stand, { table, tree }: Case, dice: Dice): Promise<Outcome> {
  const rule = ruleOf(tree, table, dice, 0);
  const all = tableOf(table);
  const { rows } = await db.sql<Row>`SELECT * FROM ${all} WHERE ${rule}`;
  const kept = rows.filter((row) => table !== "posts" || row["gone"] !== true);
  return keysOf(table, kept);
}
