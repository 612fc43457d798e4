import type { App } from "../../../../src/app/app.ts";
import { AggregateFollower, answerText } from "./aggregate_follower.ts";
import { listPath } from "./follower.ts";
import { questionQuery } from "./interests.ts";
import { RowFollower } from "./row_follower.ts";
import { printRows } from "./sight.ts";
import { macroturns, moment } from "./turns.ts";
import type { WorldParts } from "./world.ts";

/** The services have so much of their time to send everything: less than until their next look. */
const maxHandMs = 40_000;
/** And so much of ours: a server, or a reader thread of SQLite, knows no other. */
const maxRealMs = 15_000;

/**
 * No writes until every client holds what its list shows; those that do not get there are
 * findings. Returns how many were compared with theirs.
 */
export async function compare(parts: WorldParts, app: () => App): Promise<number> {
  const { rows, aggregates, cast, findings, plan: { options, sabotage } } = parts;
  const { busyTimeoutMs = maxRealMs } = sabotage;
  const isFar = options.engine === "postgres";
  const lists = new Lists(app(), parts);
  const startedAt = performance.now();
  cast.delaysReads = false;
  let handMs = 0;
  let late: readonly (RowFollower | AggregateFollower)[] = [...rows, ...aggregates];
  for (let round = 0;; round++) {
    for (const one of [...rows, ...aggregates]) if (!one.isConnected) one.connect(app());
    await drain(parts, isFar);
    // The first looks of the services at the log are never left out.
    if (round >= 2) late = await differing(late, lists);
    if (late.length === 0 || findings.first !== null) break;
    const realShare = (performance.now() - startedAt) / busyTimeoutMs;
    const isOver = handMs >= maxHandMs && realShare > 1;
    if (isOver) {
      for (const one of late) await blame(one, lists, parts);
      break;
    }
    // What waits for a reader has to find some of the time of the services left when it comes.
    if (handMs < maxHandMs * Math.min(1, 0.5 + realShare)) {
      const ms = round < 12 ? 130 : 1_000;
      cast.advance(ms);
      handMs += ms;
    } else await moment();
  }
  cast.delaysReads = true;
  for (const one of [...rows, ...aggregates]) one.markRested();
  requireNoFault(parts);
  return rows.length + aggregates.length;
}

/** Everything that was sent is read. */
async function drain({ rows, aggregates }: WorldParts, isFar: boolean): Promise<void> {
  const read = () => [...rows, ...aggregates].reduce((sum, { blocks }) => sum + blocks, 0);
  for (let before = -1, quiet = 0; quiet < 2;) {
    await macroturns(3);
    if (isFar) await moment();
    for (const one of [...rows, ...aggregates]) one.digest();
    const now = read();
    quiet = now === before ? quiet + 1 : 0;
    before = now;
  }
}

async function differing(
  some: readonly (RowFollower | AggregateFollower)[],
  lists: Lists,
): Promise<readonly (RowFollower | AggregateFollower)[]> {
  const differences = await Promise.all(some.map((one) => differenceOf(one, lists)));
  return some.filter((_one, index) => differences[index] !== null);
}

async function blame(
  one: RowFollower | AggregateFollower,
  lists: Lists,
  { findings }: WorldParts,
): Promise<void> {
  const difference = await differenceOf(one, lists);
  const rule = one instanceof RowFollower ? "quiet" : "aggregate-quiet";
  if (difference !== null) findings.add(rule, `${one.name}: ${difference}`);
}

async function differenceOf(
  one: RowFollower | AggregateFollower,
  lists: Lists,
): Promise<string | null> {
  if (one instanceof AggregateFollower) {
    const answer = await lists.answer(one);
    const isSame = one.last === answer || roundedSums(one.last) === roundedSums(answer);
    return isSame ? null : `it holds ${one.last} for ${answer}`;
  }
  if (one.isBlind) return null;
  if (!one.isSynced) return "it is in the middle of a snapshot";
  const listed = await lists.rows(one);
  const { select } = one.interest;
  if (select !== null && !select.includes("id")) return keylessDifference(one, listed);
  for (const { id, text } of listed) {
    const item = one.rows.get(id);
    if (item === undefined) return `it misses ${text}`;
    if (JSON.stringify(item) !== text) return `it holds\n${JSON.stringify(item)} for\n${text}`;
  }
  const ids = new Set(listed.map(({ id }) => id));
  for (const [id, item] of one.rows) {
    if (!ids.has(id)) return `it still holds ${JSON.stringify(item)}`;
  }
  return null;
}

/**
 * The text of an aggregate with twelve digits of each double. A sum of doubles depends on the order in
 * which the database reads the rows, and a restore changes that order.
 */
function roundedSums(text: string | null): string | null {
  return text?.replaceAll(
    /"#(-?\d+\.\d+(?:e[-+]\d+)?)"/g,
    (_all, digits: string) => `"#${Number(digits).toPrecision(12)}"`,
  ) ?? null;
}

/** A list without keys shows what its rows are, and not which. */
function keylessDifference({ rows }: RowFollower, listed: readonly Listed[]): string | null {
  const held = [...rows.values()].map((item) => JSON.stringify(item)).toSorted().join("\n");
  const due = listed.map(({ text }) => text).toSorted().join("\n");
  return held === due ? null : `it holds\n${held} for\n${due}`;
}

/** A row as a list shows it. */
interface Listed {
  readonly id: number;
  readonly text: string;
}

/** What lists show now; requested once for all clients that follow the same. */
class Lists {
  readonly #app: App;
  readonly #parts: WorldParts;
  readonly #known = new Map<string, Promise<readonly Listed[]>>();
  readonly #answers = new Map<string, Promise<string>>();

  constructor(app: App, parts: WorldParts) {
    this.#app = app;
    this.#parts = parts;
  }

  rows(follower: RowFollower): Promise<readonly Listed[]> {
    const known = this.#known.get(follower.name) ?? this.#list(follower);
    this.#known.set(follower.name, known);
    return known;
  }

  answer({ name, question }: AggregateFollower): Promise<string> {
    const path = `/api/items/aggregate?${questionQuery(question)}`;
    const known = this.#answers.get(name) ?? this.#get(path, question.user).then(answerText);
    this.#answers.set(name, known);
    return known;
  }

  async #list({ interest, name }: RowFollower): Promise<readonly Listed[]> {
    const { history, grantedView, findings } = this.#parts;
    const { items }: { readonly items: readonly Record<string, unknown>[] } = JSON.parse(
      await this.#get(listPath(interest), interest.user),
    );
    const expected = grantedView.rowsOf(history.at(history.now), interest);
    const hasKeys = interest.select?.includes("id") ?? true;
    const print = (rows: readonly Readonly<Record<string, unknown>>[]) =>
      printRows(rows.map((row) => [hasKeys ? Number(row["id"]) : 0, row]), interest);
    const [listed, due] = [print(items), print(expected)];
    if (listed !== due) findings.add("list", `${name}: the list is\n${listed} and not\n${due}`);
    return items.map((item) => ({ id: Number(item["id"]), text: JSON.stringify(item) }));
  }

  async #get(path: string, user: string): Promise<string> {
    const request = new Request(`http://test${path}`, { headers: { "x-user": user } });
    const response = await this.#app.fetch(request);
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path} is answered ${response.status} ${text}`);
    return text;
  }
}

/** What a service may observe of a database that was away. */
const outages = ["changes_unread", "stream_failed", "live_upkeep_failed", "request_failed"];

function requireNoFault({ cast, findings, plan: { options } }: WorldParts): void {
  for (const observation of cast.observations) {
    if (observation.kind === "notice") continue;
    if ((options.crashes || options.restores) && outages.includes(observation.kind)) continue;
    // A statement that the tables refuse is an error of the procedure that ran it.
    if (observation.kind === "request_failed" && observation.path.includes("/rpc/")) continue;
    findings.add("observed", Deno.inspect(observation, { depth: 6 }));
  }
}
