import { assert, assertEquals } from "@std/assert";
import { run } from "../../support/scratch.ts";
import { type Chance, createModelClient, type ModelClient, type Note } from "./model_client.ts";
import type { ModelServer } from "./model_servers.ts";
import type { Database } from "../../../src/db/database.ts";

/** What a run of the model does. */
export interface ModelOptions {
  readonly seed: number;
  readonly rounds: number;
  /** The steps of a round, after which everything comes to rest. */
  readonly stepsInRound: number;
  /** The services of the clients, over one database: each client has one of them. */
  readonly servers: readonly ModelServer[];
  /** Past the services: what another program does, and what the database says. */
  readonly db: Database;
  /** How many restarts of a service a round has on average. */
  readonly restartsInRound: number;
}

/** What became of the writes of a run. */
export interface ModelReport {
  steps: number;
  writes: number;
  conflicts: number;
  discarded: number;
  restarts: number;
  reloads: number;
  rows: number;
}

/**
 * Lets clients write over connections that fail, reload, and go offline, while services restart and
 * another program writes; then lets everything come to rest, and compares the lists of all clients
 * with the table, and the stamps of all writes with the audit that the database has kept.
 */
export async function runModel(options: ModelOptions): Promise<ModelReport> {
  const { seed, rounds, stepsInRound, servers, db, restartsInRound } = options;
  const chance = chanceOf(seed);
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(chance() * list.length)];
  const trace: string[] = [];
  const clients = servers.flatMap((server, index) =>
    ["a", "b"].map((name) => createModelClient(server, { name: `${name}${index}`, chance, trace }))
  );
  /** The writes that were added, by their stamps. */
  const added = new Map<string, ModelClient>();
  /** The writes that were lost with the memory of a page, or were taken back: they may be missing. */
  const optional = new Set<string>();
  const report: ModelReport = {
    ...{ steps: 0, writes: 0, conflicts: 0, discarded: 0, restarts: 0, reloads: 0, rows: 0 },
  };
  let restarting: Promise<void> = Promise.resolve();
  let stamps = 0;

  function passwordVersionOf(client: ModelClient): string {
    const stamp = `s${++stamps}`;
    added.set(stamp, client);
    report.writes++;
    return stamp;
  }

  function write(client: ModelClient): void {
    const { outbox, api, lists } = client.page;
    const row = pick(pick(lists)?.get().items ?? []);
    const rank = Math.floor(chance() * 10);
    if (row?.id === undefined || chance() < 0.15) {
      const created = outbox.create(api.notes, {
        title: title(),
        rank,
        stamp: passwordVersionOf(client),
      });
      // Some rows are changed before they exist.
      if (chance() < 0.3) {
        outbox.update(api.notes, created, { rank, stamp: passwordVersionOf(client) });
      }
      return;
    }
    // So that there are about a hundred rows.
    const isCrowded = lists[0].get().items.length > 100;
    if (chance() < (isCrowded ? 0.3 : 0.05)) return void outbox.delete(api.notes, row.id);
    const stamp = passwordVersionOf(client);
    if (chance() < 0.1) outbox.replace(api.notes, row.id, { title: title(), rank, stamp });
    else {outbox.update(
        api.notes,
        row.id,
        chance() < 0.5 ? { rank, stamp } : { title: title(), stamp },
      );}
  }

  function title(): string {
    return ["a", "b", "ä", "😀", "Z"][Math.floor(chance() * 5)] ?? "";
  }

  /** A program that knows nothing of the service. */
  async function writeRaw(): Promise<void> {
    const [id] = pick((await run(db, "SELECT id FROM notes LIMIT 50")).rows) ?? [];
    const values = [title(), Math.floor(chance() * 10), `raw${++stamps}`];
    const at = chance();
    if (id === undefined || at < 0.2) {
      await run(
        db,
        "INSERT INTO notes (id, title, rank, stamp, version) VALUES (?, ?, ?, ?, 1)",
        ...[crypto.randomUUID(), ...values],
      );
    } else if (at < 0.4) await run(db, "DELETE FROM notes WHERE id = ?", id ?? null);
    else {
      await run(
        db,
        "UPDATE notes SET title = ?, rank = ?, stamp = ?, version = version + 1 WHERE id = ?",
        ...[...values, id ?? null],
      );
    }
  }

  async function reload(client: ModelClient): Promise<void> {
    report.reloads++;
    const before = client.page.outbox.get().jobs;
    client.reload();
    const stored = new Set((await client.stored()).map(({ id }) => id));
    // What no storage has had yet is lost with the page, as no answer has come for it.
    for (const { id, body } of before) {
      if (!stored.has(id)) optional.add(String(body?.stamp));
    }
  }

  async function step(): Promise<void> {
    report.steps++;
    const client = pick(clients);
    if (client === undefined) return;
    const at = chance();
    // Not by chance: which numbers a step takes depends on how fast the machine is.
    if (report.steps % Math.ceil(stepsInRound / (restartsInRound + 1)) === 0) {
      report.restarts++;
      const server = pick(servers);
      restarting = restarting.then(() => server?.restart());
    } else if (at < 0.02) client.breakStreams();
    else if (at < 0.03) client.setOffline(!client.isOffline);
    else if (at < 0.034) await reload(client);
    else if (at < 0.037) client.lose(chance() < 0.5 ? 0 : 0.2 * chance());
    else if (at < 0.04) client.meet(chance() < 0.5 ? 0 : 0.1 * chance());
    else if (at < 0.1) await writeRaw();
    else if (at < 0.103) client.page.lists[2].loadMore(3);
    else if (client.page.outbox.get().jobs.length < 40) write(client);
    if (report.steps % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  }

  async function comeToRest(): Promise<void> {
    await restarting;
    for (const client of clients) {
      client.lose(0);
      client.meet(0);
      client.setOffline(false);
    }
    await until(async () => {
      for (const { page: { outbox } } of clients) {
        for (const { id, state, body, problem } of outbox.get().jobs) {
          if (state !== "dead") continue;
          assert(problem?.slug !== "unexpected-answer", "a stranger refused a write");
          report.conflicts++;
          if (chance() < 0.5) await outbox.revive(id);
          else {
            report.discarded++;
            optional.add(String(body?.stamp));
            await outbox.discard(id);
          }
        }
      }
      return clients.every(({ page: { outbox } }) => outbox.get().jobs.length === 0);
    }, () => `jobs: ${Deno.inspect(clients.map(({ page }) => page.outbox.get()), { depth: 4 })}`);
  }

  async function check(): Promise<void> {
    const columns = "id, title, rank, stamp, version";
    const rows = (await run(db, `SELECT ${columns} FROM notes`)).rows.map((
      [id, title, rank, stamp, version],
    ) => ({ id, title, rank, stamp, version } as unknown as Note));
    report.rows = rows.length;
    const all = texts([...rows].sort(byRankAndTitle));
    const low = texts(rows.filter(({ rank }) => rank !== null && rank < 5).sort(byId));
    const high = texts([...rows].sort(byRank));
    for (const { name, page: { lists: [everything, filtered, window] } } of clients) {
      const shown = () => [texts(everything.get().items), texts(filtered.get().items)] as const;
      const isWindow = () => {
        const { items, hasMore } = window.get();
        return (hasMore ? items.length >= 5 : items.length === rows.length) &&
          String(texts(items)) === String(high.slice(0, items.length));
      };
      const rests = () =>
        [everything, filtered, window].every((list) => list.get().pending === 0) &&
        String(shown()[0]) === String(all) && String(shown()[1]) === String(low) && isWindow();
      await until(() => Promise.resolve(rests()), () => {
        const [first, second] = shown();
        const states = [everything, filtered, window].map((list) => ({ ...list.get(), items: 0 }));
        return `${name} differs: ${
          Deno.inspect({
            states,
            missing: all.filter((text) => !first.includes(text)),
            extra: first.filter((text) => !all.includes(text)),
            lowMissing: low.filter((text) => !second.includes(text)),
            lowExtra: second.filter((text) => !low.includes(text)),
            ...{ window: texts(window.get().items), high },
            isOrder: first.length === all.length && second.length === low.length,
          }, { depth: 5 })
        }`;
      });
    }
    const counts = new Map<string, number>();
    for (const [stamp] of (await run(db, "SELECT stamp FROM audit")).rows) {
      counts.set(String(stamp), (counts.get(String(stamp)) ?? 0) + 1);
    }
    const wrong = [...added.keys()].filter((stamp) => {
      const count = counts.get(stamp) ?? 0;
      return count > 1 || (count === 0 && !optional.has(stamp));
    });
    const paths = new Set(
      trace.filter((line) => wrong.includes(line.split(" ")[0] ?? "")).map((line) =>
        line.split(" ")[3]
      ),
    );
    const history = trace.filter((line) => line.startsWith("-") || paths.has(line.split(" ")[3]))
      .join("\n");
    const carriedOut = wrong.map((stamp) => `${stamp} ${counts.get(stamp) ?? 0} times`);
    assertEquals(carriedOut, [], `writes that were carried out twice, or not at all:\n${history}`);
    trace.length = 0;
    await run(db, "DELETE FROM audit");
    added.clear();
    optional.clear();
  }

  for (let round = 0; round < rounds; round++) {
    for (let n = 0; n < stepsInRound; n++) await step();
    await comeToRest();
    await check();
  }
  for (const client of clients) client.leave();
  assert(report.writes > report.steps / 5, "the model writes");
  return report;
}

function texts(rows: readonly object[]): string[] {
  return rows.map((row) => {
    const { id, title, rank, stamp, version } = row as Note;
    return JSON.stringify([id, title, rank, stamp, version]);
  });
}

function byRankAndTitle(one: Note, other: Note): number {
  return (other.rank ?? -1) - (one.rank ?? -1) || byCodePoint(one.title ?? "", other.title ?? "") ||
    byId(one, other);
}

function byRank(one: Note, other: Note): number {
  return (other.rank ?? -1) - (one.rank ?? -1) || byId(one, other);
}

/** The titles of the model are single characters. */
function byCodePoint(one: string, other: string): number {
  return (one.codePointAt(0) ?? -1) - (other.codePointAt(0) ?? -1);
}

function byId(one: Note, other: Note): number {
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}

async function until(isTrue: () => Promise<boolean>, state: () => string): Promise<void> {
  const end = performance.now() + 60_000;
  while (!await isTrue()) {
    if (performance.now() > end) throw new Error(`Not at rest: ${state()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A generator of random numbers by George Marsaglia (xorshift32). */
function chanceOf(seed: number): Chance {
  let state = seed * 2654435761 >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
