import { insertRows, withService } from "../../support/http.ts";
import type { Engine } from "../../support/engines.ts";
import { type Dice, diceOf } from "./dice.ts";
import { textOf } from "./filter_text.ts";
import { type Case, type Form, isScopeForm, type Stand } from "./cases.ts";
import { answered, expected, undecided } from "./forms.ts";
import { inclusionOf } from "./found.ts";
import { tableNames } from "./model.ts";
import { randomRows } from "./rows.ts";
import { readers, resourcesOf, type Scopes, tableOf, tables } from "./tables.ts";
import { holdsCode, isBuilt, kindsOf, randomTree, sizeOf, smaller, type Tree } from "./tree.ts";

/** A filter that the service and the oracle decide otherwise. */
export interface Difference extends Case {
  readonly engine: string;
  /** Of the rows and the filters. */
  readonly seedOfRows: number;
  readonly expected: string;
  readonly actual: string;
}

/** What a run has compared. */
export interface Totals {
  filters: number;
  comparisons: number;
  empty: number;
  full: number;
  readonly kinds: Map<string, number>;
  readonly forms: Map<string, number>;
  readonly differences: Difference[];
}

export function noTotals(): Totals {
  const [kinds, forms] = [new Map<string, number>(), new Map<string, number>()];
  return { filters: 0, comparisons: 0, empty: 0, full: 0, kinds, forms, differences: [] };
}

/** What to do about a difference: its smallest filter, and how to find it again. */
export function describe(difference: Difference): string {
  const { engine, seedOfRows, form, table, reader, scope, tree, expected, actual } = difference;
  const written = holdsCode(tree) ? inspect(tree) : textOf(tree, diceOf(0));
  const of = scope === null ? reader : `who may read ${scope.table} by ${inspect(scope.tree)}`;
  return [
    `seed ${seedOfRows} on ${engine}: ${form} of ${table}, reader ${of || "of the scope"}`,
    `  ${written}`,
    `  expected ${expected}`,
    `  actual   ${actual}`,
  ].join("\n");
}

function inspect(tree: Tree): string {
  return Deno.inspect(tree, { depth: 20, breakLength: Infinity, compact: true });
}

/** Runs `work` with a service over the tables of the check. */
export async function withStand(
  engine: Engine,
  work: (stand: Stand) => Promise<void>,
): Promise<void> {
  const scopes: Scopes = new Map();
  const config = () => ({ basePath: "/api", resources: resourcesOf(scopes) });
  await withService(
    engine,
    tables,
    config,
    (service) => work({ ...service, scopes, rows: randomRows(diceOf(0)) }),
  );
}

/** Compares random filters over the random rows of a seed. */
export async function checkSeed(
  stand: Stand,
  seed: number,
  filters: number,
  totals: Totals,
): Promise<void> {
  const dice = diceOf(seed);
  await replaceRows(stand, dice);
  for (let count = 0; count < filters; count++) {
    // A database in this thread would keep the others waiting.
    await new Promise((resolve) => setTimeout(resolve));
    const cases = randomCases(dice);
    const [first] = cases;
    if (first === undefined) continue;
    totals.filters++;
    for (const kind of kindsOf(first.tree)) add(totals.kinds, kind);
    for (const one of cases) {
      totals.comparisons++;
      add(totals.forms, one.form);
      const difference = await differenceOf(stand, one, totals);
      if (difference === null) continue;
      const smallest = await shrink(stand, one);
      totals.differences.push({
        ...smallest,
        ...await differenceOf(stand, smallest, null) ?? difference,
        engine: stand.db.dialect.engine,
        seedOfRows: seed,
      });
    }
  }
}

/** One filter in several forms. */
function randomCases(dice: Dice): readonly Case[] {
  const table = dice.pick(tableNames);
  const shape = (code: boolean) => ({ steps: 1 + dice(3), depth: 1 + dice(4), code });
  const code = dice.chance(0.3);
  const tree = randomTree(dice, table, shape(code));
  const isTooLong = sizeOf(tree).walks > 16;
  const other = dice.pick(tableNames);
  const scope = { table: other, tree: randomTree(dice, other, shape(dice.chance(0.3))) };
  const chance = (form: Form, probability: number) => dice.chance(probability) ? [form] : [];
  const chosen: readonly Form[] = code ? ["scope", "filter in code"] : [
    ...["text", "scope", "filter in code"] as const,
    ...chance("printed text", 0.2),
    ...chance("printed filter", 0.3),
    ...chance("count", 0.15),
    ...chance("aggregate", 0.15),
    ...chance("text under a scope", 0.4),
    ...inclusionOf(table, 0) === null ? [] : chance("include", 0.3),
  ];
  const built: readonly Form[] = isBuilt(tree) ? ["statement"] : [];
  const writes: readonly Form[] = table === "people" ? ["create", "update"] : [];
  return isTooLong ? [] : [...chosen, ...built, ...writes].map((form) => ({
    form,
    table,
    tree,
    reader: isScopeForm(form) || form === "text under a scope"
      ? ""
      : dice.pick(Object.keys(readers)),
    scope: form === "text under a scope" ? scope : null,
    seed: dice(2 ** 31),
  }));
}

/** Null where the service and the oracle agree. */
async function differenceOf(
  stand: Stand,
  one: Case,
  totals: Totals | null,
): Promise<{ readonly expected: string; readonly actual: string } | null> {
  const { outcome, found, rows } = await expected(stand, one);
  if (totals !== null && found === 0) totals.empty++;
  else if (totals !== null && found === rows) totals.full++;
  const actual = await answered(stand, one).catch(String);
  const isDecided = outcome !== undecided;
  const agrees = isDecided ? actual === outcome : ["written", "forbidden"].includes(actual);
  return agrees ? null : { expected: outcome, actual };
}

/** The smallest filter that is still decided otherwise. */
async function shrink(stand: Stand, one: Case): Promise<Case> {
  const { scope } = one;
  const candidates = [...smaller(one.tree)].map((tree) => ({ ...one, tree }));
  const scopes = scope === null ? [] : [...smaller(scope.tree)];
  for (
    const less of [
      ...candidates,
      ...scopes.map((tree) => ({ ...one, scope: scope && { ...scope, tree } })),
    ]
  ) {
    if (await differenceOf(stand, less, null) !== null) return await shrink(stand, less);
  }
  return one;
}

async function replaceRows(stand: Stand, dice: Dice): Promise<void> {
  stand.rows = randomRows(dice);
  for (const table of tableNames) {
    await stand.db.query({ text: `DELETE FROM "${table}"`, values: [] });
    await insertRows(stand.db, tableOf(table), stand.rows[table]);
  }
}

function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
