import fc from "fast-check";
import { all } from "../../../src/filter/builders.ts";
import {
  type DescribedFilter,
  matchesDescribed,
} from "../../../src/filter/match/described_filter.ts";
import { resource } from "../../../src/resource/define/resource_definition.ts";
import { tableInfoOf } from "../../../src/schema/table_like.ts";
import { printSyntax } from "../../filter/print_syntax.ts";
import { edgeValues, things } from "../../invariants/filter_worlds.ts";
import { randomFilters } from "../../invariants/random_filters.ts";
import { openMultiplexed } from "../../live/multiplexed_support.ts";
import type { Engine } from "../../support/engines.ts";
import { type Service, withService } from "../../support/http.ts";

/** How many results of the client were compared with the service's lists, and which differ. */
export interface FilterTotals {
  filters: number;
  /** Rows that a client can decide. */
  decided: number;
  undecided: number;
  readonly differences: string[];
}

type Row = Readonly<Record<string, unknown>>;

export function noTotals(): FilterTotals {
  return { filters: 0, decided: 0, undecided: 0, differences: [] };
}

const { columns } = tableInfoOf(things);
const written = columns.filter(({ name }) => name !== "id");

/** Bodies with values of each kind, which lack some fields. */
const bodies: fc.Arbitrary<Row> = fc.record(
  Object.fromEntries(written.map(({ name, kind }) => [
    name,
    fc.option(fc.constantFrom(...edgeValues[kind].map(bodyValue)), { freq: 5 }),
  ])),
);

const filters: fc.Arbitrary<string> = fc.tuple(fc.nat(4), randomFilters(columns)).map(
  ([form, syntax]) => form === 0 ? `not(${printSyntax(syntax)})` : printSyntax(syntax),
);

/**
 * Compares what a client makes of random filters, for rows that it writes and rows that it receives,
 * with the lists of a service.
 */
export async function checkFilteredLists(
  engine: Engine,
  { seed, runs }: { readonly seed: number; readonly runs: number },
): Promise<FilterTotals> {
  const totals = noTotals();
  const auth = { public: true, create: () => all() } as const;
  const resources = [resource(things, { id: things.id, auth })];
  await withService(
    engine,
    [things],
    () => ({ resources, queryTimeoutMs: 600_000 }),
    async (service) => {
      const sent = fc.sample(bodies, { seed, numRuns: 60 });
      const rows = new Map<number, readonly Row[]>();
      for (const body of sent) {
        const { status, body: row } = await service.send("POST", "/api/things", body, writer);
        if (status === 201) rows.set(row.id, [body, row]);
      }
      for (let done = 0; done < runs; done += perStream) {
        const numRuns = Math.min(perStream, runs - done);
        const texts = fc.sample(filters, { seed: seed + done, numRuns });
        await compareLists(service.app, { path: "/api/things", texts, rows }, totals);
      }
    },
  );
  return totals;
}

/** Filters of one resource, and the forms in which a client knows each row. */
export interface ComparedLists {
  readonly path: string;
  readonly texts: readonly string[];
  readonly rows: ReadonlyMap<number, readonly Row[]>;
}

/** Adds the comparisons of at most fifty filters. */
export async function compareLists(
  app: Service["app"],
  { path, texts, rows }: ComparedLists,
  totals: FilterTotals,
): Promise<void> {
  const query = (text: string) => `?select=id&filter=${encodeURIComponent(text)}`;
  const asked = texts.map((text, index) => ({
    key: `${index}`,
    path: `${path}/subscribe${query(text)}`,
  }));
  const stream = await openMultiplexed({ app }, asked, { headers: safe });
  await stream.until(() => stream.facts.size === texts.length);
  await stream.close();
  for (const [index, text] of texts.entries()) {
    const listed = await listedIds(app, `${path}${query(text)}&limit=100`);
    // The cast is safe: the service describes filters in this form.
    const filter = stream.facts.get(`${index}`)?.["filter"] as DescribedFilter;
    totals.filters++;
    for (const [id, forms] of rows) {
      for (const row of forms) {
        const result = matchesDescribed(filter, row);
        if (result === null) totals.undecided++;
        else if (result === listed.has(id)) totals.decided++;
        else totals.differences.push(`${text}: ${result} for ${JSON.stringify(row)}`);
      }
    }
  }
}

/** Returns the ids in a list. Reads again while the queries of the streams still wait. */
async function listedIds(app: Service["app"], path: string): Promise<ReadonlySet<number>> {
  for (;;) {
    const response = await app.fetch(new Request(`http://test${path}`));
    const body = await response.json();
    if (response.status === 200) return new Set(body.items.map(({ id }: { id: number }) => id));
    if (response.status !== 503) throw new Error(`${path}: ${JSON.stringify(body)}`);
    await new Promise((resolve) => setTimeout(resolve));
  }
}

/** The value as the body of a request has it. */
function bodyValue(value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

const perStream = 40;
const safe = { accept: "text/event-stream;numbers=safe" };
const writer = { accept: "application/json;numbers=safe", "x-user": "ada" };
