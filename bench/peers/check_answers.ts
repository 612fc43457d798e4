import { readAnswer } from "../load.ts";
import { keyOf, type PeerRequest, type PeerRequests, rankOf } from "./peer.ts";

/**
 * Sends each request once. Throws if a response lacks the expected rows, because a peer with other
 * responses must not be compared.
 */
export async function checkAnswers(port: number, requests: PeerRequests): Promise<void> {
  const { get, list, create, readCreated, patch } = requests;
  expect("get", await answerTo(port, get, 1), [`Note number ${keyOf(1)}`]);
  expect("list", await answerTo(port, list, 1), titlesOver(rankOf(1), 20));
  const created = await answerTo(port, create, 1);
  const row = readCreated === undefined ? created : await answerTo(port, readCreated(created), 1);
  expect("create", row, ["A note, 1"]);
  if (patch !== undefined) expect("patch", await answerTo(port, patch, 1), ["A title, 1"]);
}

/** Returns the titles of the first published rows, two of three, in the order of rank and key. */
function titlesOver(rank: number, count: number): readonly string[] {
  const keys = Array.from({ length: 2 * count }, (_, index) => rank + 1 + index * 1_000);
  return keys.filter((key) => key % 3 !== 0).slice(0, count).map((key) => `Note number ${key}`);
}

function expect(name: string, answer: string, titles: readonly string[]): void {
  const found = answer.match(/(?<="title": ?")[^"]*/g) ?? [];
  if (found.join() !== titles.join()) {
    throw new Error(`${name}: expected ${titles.join()}, got ${found.join() || answer}`);
  }
}

async function answerTo(port: number, { status, text }: PeerRequest, turn: number) {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(text(turn)));
  const buffer = new Uint8Array(64 * 1024);
  await readAnswer(connection, buffer, status);
  return new TextDecoder().decode(buffer);
}
