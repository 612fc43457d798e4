/**
 * Full-text search by FTS5 over 100,000 documents: `deno task bench:search [seconds] [turns]`.
 *
 * - Requests per second of a search for two words of one document, each in 0.3 to 1 % of the
 *   documents, with a scope that passes a tenth of the rows and a filter that passes two thirds.
 * - Creates per second with and without the index, in turns: over one connection, and over 16
 *   connections, whose commits SQLite shares.
 */
import { onSignal } from "./attack/processes.ts";
import { median } from "./figures.ts";
import { measure } from "./load.ts";
import { startScript } from "./start_server.ts";
// @ts-types="./better_sqlite3.d.ts"
import Database from "better-sqlite3";

const seconds = Number(Deno.args[0] ?? 3);
const turns = Number(Deno.args[1] ?? 5);
const rows = 100_000;
const vocabulary = 5_000;
const syllables = ["ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu"]
  .concat(["na", "pe", "qui", "ro", "su", "ta", "ve", "wi", "xo", "zu"]);
/** Each of these words is in more than a hundredth of the documents. A search has rarer words. */
const frequent = new Set(Array.from({ length: 500 }, (_, rank) => wordOf(rank)));
const targets = { searches: 1_000, creates: 0.5 };

console.log(`Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores`);
const folder = await Deno.makeTempDir();
onSignal(() => Deno.removeSync(folder, { recursive: true }));
const random = numbers();
try {
  const samples = fill(`${folder}/with.db`);
  fill(`${folder}/without.db`);
  await using searched = await startScript("search_server.ts", ["with", `${folder}/with.db`]);
  await using plain = await startScript("search_server.ts", ["without", `${folder}/without.db`]);
  await compareSearches(searched.port, samples);
  for (const connections of [1, 16]) {
    await compareCreates({ searched: searched.port, plain: plain.port, connections });
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}

async function compareSearches(port: number, samples: readonly string[]): Promise<void> {
  const rates: number[] = [];
  for (let turn = -1; turn < turns; turn++) {
    const rate = await measure({
      ...{ port, connections: 16, durationMs: seconds * 1_000, status: 200 },
      request: (count) => {
        const query = `q=${samples[count % samples.length]}&filter=status==published`;
        return `GET /api/documents/search?${query} HTTP/1.1\r\nhost: bench\r\n\r\n`;
      },
    });
    // The first turn warms up.
    if (turn >= 0) rates.push(rate);
  }
  const rate = Math.round(median(rates));
  const verdict = rate >= targets.searches ? "yes" : "NO";
  console.log(`searches of two words: ${rate}/s (at least ${targets.searches}: ${verdict})`);
}

interface Sides {
  readonly searched: number;
  readonly plain: number;
  readonly connections: number;
}

async function compareCreates({ searched, plain, connections }: Sides): Promise<void> {
  const rates = { searched: [] as number[], plain: [] as number[] };
  for (let turn = -1; turn < turns; turn++) {
    const sides = [["searched", searched], ["plain", plain]] as const;
    for (const [side, port] of turn % 2 === 0 ? sides : sides.toReversed()) {
      const rate = await measure({
        ...{ port, connections, durationMs: seconds * 1_000, status: 201 },
        request: () => create(),
      });
      if (turn >= 0) rates[side].push(rate);
    }
  }
  const [own, other] = [median(rates.searched), median(rates.plain)];
  const ratio = own / other;
  const verdict = ratio >= targets.creates ? "yes" : "NO";
  console.log(
    `creates over ${connections}: ${Math.round(own)}/s with the index, ${
      Math.round(other)
    }/s without, ratio ` +
      `${ratio.toFixed(2)} (at least ${targets.creates}: ${verdict})`,
  );
}

function create(): string {
  const body = JSON.stringify({ ownerId: "owner-3", status: "published", ...texts() });
  return "POST /api/documents HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n" +
    `content-length: ${body.length}\r\n\r\n${body}`;
}

/** Fills a file. Returns pairs of words that occur together in some of its rows. */
function fill(path: string): readonly string[] {
  const db = new Database(path);
  db.exec(
    "CREATE TABLE documents (id INTEGER PRIMARY KEY, owner_id TEXT NOT NULL, " +
      "status TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL)",
  );
  const insert = db.prepare("INSERT INTO documents VALUES (?, ?, ?, ?, ?)");
  const samples: string[] = [];
  db.exec("BEGIN");
  for (let id = 1; id <= rows; id++) {
    const { title, body } = texts();
    const status = id % 3 === 0 ? "draft" : "published";
    insert.run(id, `owner-${id % 10}`, status, title, body);
    const rare = body.split(" ").filter((word) => !frequent.has(word));
    if (id % 10 === 3 && rare.length > 1) samples.push(rare.slice(0, 2).join("+"));
  }
  db.exec("COMMIT");
  db.close();
  return samples;
}

function texts(): { readonly title: string; readonly body: string } {
  return { title: words(4), body: words(24) };
}

/** Returns words for a document. Few words are frequent and many are rare, as in every language. */
function words(count: number): string {
  return Array.from({ length: count }, () => {
    const share = (random.next().value % 1_000_000) / 1_000_000;
    return wordOf(Math.floor(vocabulary * share ** 2));
  }).join(" ");
}

/** Returns the word of a rank. All words have one length, so that none is a prefix of another. */
function wordOf(rank: number): string {
  let word = "";
  // The factor has no common divisor with the modulus, so each rank has a different word.
  for (let rest = rank * 7_919 % 160_000, part = 0; part < 4; part++) {
    word += syllables[rest % 20];
    rest = Math.floor(rest / 20);
  }
  return word;
}

/** Yields the same pseudo-random numbers in every run. */
function* numbers(): Generator<number, never> {
  for (let state = 7;;) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    yield state >> 4;
  }
}
