import { exactText, parseExactDecimal } from "../exact_text.ts";
import type { Client, Interest } from "./client.ts";
import type { Instance } from "./instance.ts";
import { send } from "./api_writes.ts";

/** What a list gives at one moment, for all clients that need it then. */
export interface ListOracle {
  /** What is wrong with what a client holds; null where nothing is. */
  differenceOf(client: Client): Promise<string | null>;
}

/** Requests each list once. */
export function listOracle(instance: Instance): ListOracle {
  const known = new Map<string, Promise<ReadonlyMap<string, string>>>();
  return {
    async differenceOf({ interest, replica }) {
      const key = JSON.stringify(interest);
      const listed = known.get(key) ?? listAll(interest, instance);
      known.set(key, listed);
      return difference(replica.rows, await listed, interest);
    },
  };
}

function difference(
  rows: ReadonlyMap<string, string>,
  listed: ReadonlyMap<string, string>,
  { place }: Interest,
): string | null {
  const held = new Map<string, string>();
  for (const [id, text] of rows) {
    // The tag stands in events and in no list.
    const { _etag: tag, ...item } = parseExactDecimal(text) as Record<string, unknown>;
    held.set(id, exactText(item));
    if (place !== "things" || tag === `W/"${String(item["version"]).slice(1)}"`) continue;
    return `${id} has the tag ${tag}: ${text}`;
  }
  for (const [id, text] of listed) {
    const own = held.get(id);
    if (own === undefined) return `it misses ${text}`;
    if (own !== text) return `it holds\n${own} for\n${text}`;
  }
  for (const [id, text] of held) {
    if (!listed.has(id)) return `it still holds ${text}`;
  }
  return null;
}

/** All pages of the same rows, by id. */
async function listAll(
  { user, place, filter }: Interest,
  instance: Instance,
): Promise<ReadonlyMap<string, string>> {
  const items = new Map<string, string>();
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: "7" });
    if (filter !== "") query.set("filter", filter);
    if (cursor !== null) query.set("cursor", cursor);
    const path = `/api/${place}?${query.toString().replaceAll("+", "%20")}`;
    const { status, body } = await send(instance, user, "GET", path);
    if (status !== 200) throw new Error(`The list was answered ${status} ${body}`);
    // The answer of a list has these members.
    const page = parseExactDecimal(String(body)) as {
      readonly items: readonly Record<string, unknown>[];
      readonly nextCursor: string | null;
    };
    for (const item of page.items) {
      items.set(exactText(item[place === "things" ? "id" : "code"]), exactText(item));
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
  return items;
}
