import { assert, assertEquals } from "@std/assert";
import { startChild } from "../../../serve/child_process.ts";
import { createScratchDatabase } from "../../../support/engines.ts";
import { scratchFolder } from "../../../support/scratch.ts";
import { testPostgres, testUnless } from "../../../support/skip.ts";
import { Chance } from "../chance.ts";
import { EventSourceParser } from "../event_source_parser.ts";
import { repeats } from "../../../support/repeats.ts";

const script = new URL("service_process.ts", import.meta.url).pathname;
const server = testPostgres();
const writers = 8;

/** A position that a stream has sent, and the rows that it had sent up to there. */
interface ResumePoint {
  readonly token: string;
  readonly known: ReadonlySet<string>;
}

testUnless(
  null,
  `sqlite: kill -9, ${
    repeats(10)
  } times: acknowledged writes are sent from any earlier position on`,
  async () => {
    await using folder = await scratchFolder();
    await killAgainAndAgain(`sqlite:${folder.path}/a.db`, repeats(10));
  },
);

testUnless(
  "missing" in server ? server.missing : null,
  "postgres: kill -9, 3 times: acknowledged writes are sent from any earlier position on",
  async () => {
    if ("missing" in server) throw new Error(server.missing);
    const scratch = await createScratchDatabase(server.url);
    try {
      await killAgainAndAgain(scratch.url, 3);
    } finally {
      await scratch.drop();
    }
  },
);

async function killAgainAndAgain(url: string, rounds: number): Promise<void> {
  const chance = new Chance(rounds);
  const acknowledged = new Set<string>();
  const points: ResumePoint[] = [];
  for (let round = 0; round <= rounds; round++) {
    await using child = startChild([script, url]);
    const base = `http://127.0.0.1:${(await child.printed(/port (\d+)/))[1]}/api/marks`;
    using client = Deno.createHttpClient({ poolMaxIdlePerHost: 2 * writers });
    const service = { base, client };
    if (round === 0) points.push(await begin(service));
    // After everything that the killed server may have left.
    const end = `end-${round}`;
    assert(await write(service, [end]));
    acknowledged.add(end);
    const first = points[0];
    const last = points.at(-1);
    if (first === undefined || last === undefined) throw new Error("There is a position");
    for (const point of new Set([first, chance.pick(points), last])) {
      const sent = await readUntilRow(service, point, end);
      assertEquals(
        [...acknowledged].filter((id) => !sent.has(id)),
        [],
        `after ${point.token}`,
      );
      assertEquals([...sent].filter((id) => id.includes("undone")), []);
      const halves = [...sent].filter((id) => /^pair.*-[12]$/.test(id) && !sent.has(otherHalf(id)));
      assertEquals(halves, [], "sent by half");
    }
    if (round === rounds) break;
    const before = acknowledged.size;
    const following = follow(service, last, points);
    await writeUntilKilled(service, round, acknowledged, () => child.signal("SIGKILL"));
    await following;
    assert(acknowledged.size > before, "nothing was acknowledged before the kill");
  }
  assert(points.length > rounds, `only ${points.length} positions were tried`);
}

interface Service {
  readonly base: string;
  readonly client: Deno.HttpClient;
}

/** Where an empty table ends. */
async function begin(service: Service): Promise<ResumePoint> {
  for await (const { token } of blocks(service, "")) {
    if (token !== "") return { token, known: new Set() };
  }
  throw new Error("The stream has ended");
}

/** All that is sent after a position until a row is. */
async function readUntilRow(
  service: Service,
  point: ResumePoint,
  end: string,
): Promise<ReadonlySet<string>> {
  const sent = new Set(point.known);
  for await (const { id, type } of blocks(service, point.token)) {
    assert(type !== "invalidate", "a position is good for as long as changes are kept");
    if (id !== null) sent.add(id);
    if (id === end) return sent;
  }
  throw new Error(`The stream has ended before ${end}`);
}

/** Follows until the server is gone, and notes every position on the way. */
async function follow(service: Service, from: ResumePoint, points: ResumePoint[]): Promise<void> {
  const known = new Set(from.known);
  try {
    for await (const { id, token } of blocks(service, from.token)) {
      if (id !== null) known.add(id);
      else if (token !== "") points.push({ token, known: new Set(known) });
    }
  } catch (error) {
    // The kill.
    if (!(error instanceof TypeError)) throw error;
  }
}

interface Received {
  readonly type: string | null;
  readonly id: string | null;
  readonly token: string;
}

async function* blocks({ base, client }: Service, token: string): AsyncGenerator<Received> {
  const headers: Record<string, string> = token === "" ? {} : { "last-event-id": token };
  const aborting = new AbortController();
  const response = await fetch(`${base}/subscribe`, { client, headers, signal: aborting.signal });
  assertEquals(response.status, 200);
  const waiting: Received[] = [];
  const parser = new EventSourceParser(({ event, lastEventId }) => {
    const data = event === null ? null : JSON.parse(event.data);
    waiting.push({ type: event?.type ?? null, id: data?.item?.id ?? null, token: lastEventId });
  }, token);
  try {
    for await (const bytes of response.body ?? []) {
      parser.push(bytes);
      yield* waiting.splice(0);
    }
  } finally {
    aborting.abort();
  }
}

/** Every writer continues until its server dies. */
async function writeUntilKilled(
  service: Service,
  round: number,
  acknowledged: Set<string>,
  kill: () => void,
): Promise<void> {
  let isDoomed = false;
  const firstAnswer = Promise.withResolvers<void>();
  const writing = Array.from({ length: writers }, async (_, writer) => {
    const kind = ["one", "pair", "wait", "undone"][(writer + round) % 4] ?? "one";
    for (let n = 0;; n++) {
      const name = `${kind}-${round}-${writer}-${n}`;
      const ids = kind === "pair" ? [`${name}-1`, `${name}-2`] : [name];
      try {
        if (await write(service, ids)) {
          for (const id of ids) acknowledged.add(id);
          firstAnswer.resolve();
        }
      } catch (error) {
        // The kill: whether this write was stored is unknown.
        if (error instanceof TypeError) return;
        throw error;
      }
      if (!isDoomed) continue;
      isDoomed = false;
      kill();
    }
  });
  await Promise.race([firstAnswer.promise, Promise.all(writing)]);
  // A different moment each time, and no rounder than that.
  await new Promise((resolve) => setTimeout(resolve, 50 + round * 37 % 200));
  isDoomed = true;
  await Promise.all(writing);
}

/** Whether the rows were stored; those that a hook refuses are not. */
async function write({ base, client }: Service, ids: readonly string[]): Promise<boolean> {
  const items = ids.map((id) => ({ id }));
  const response = await fetch(items.length > 1 ? `${base}/batch` : base, {
    client,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(items.length > 1 ? { items } : items[0]),
  });
  await response.text();
  assert(response.status === 201 || response.status === 403, `answered ${response.status}`);
  return response.status === 201;
}

function otherHalf(id: string): string {
  return id.slice(0, -1) + (id.endsWith("1") ? "2" : "1");
}
